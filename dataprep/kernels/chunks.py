"""The words of one chunk, walked by character: what `kernels/blocks.py` finds hard, and all beyond ASCII.

Two ways with the same result. `scan_chunk` and `simple_words` take a chunk in one pass and settle most;
`hard_words` applies the rules of `kernels/words.py` as they are written there, with the functions of
`kernels/cuts.py`. Slow twin of both: `tests/reference/words.py`.
"""

from __future__ import annotations

from numba import njit

from dataprep.kernels.characters import ALPHABETIC as ALPHABETIC_CELL
from dataprep.kernels.characters import (
    APOSTROPHE,
    CLASS,
    DIGIT,
    EQUALS,
    FULL_STOP,
    LOWER,
    MARK,
    OTHER,
    OUTER,
    PUNCTUATION,
    QUOTE,
    SPACE,
    SPACELESS,
    UPPER,
)
from dataprep.kernels.cuts import (
    back_word,
    class_at,
    contraction,
    cut,
    front_word,
    full_stops,
    is_address,
    start_before,
)
from dataprep.kernels.utf8 import ascii_letters, decode, lookup

ALPHABETIC, NON_SYMBOL, WIDE = 1, 2, 4
"""Traits of a word: it has a letter (`str.isalpha`), a character outside PUNCTUATION_RANGES, one beyond
ASCII."""


@njit(cache=True, nogil=True)
def chunk_bounds(text, start, stop, pages, cells):  # type: ignore[no-untyped-def]
    """(first byte of the middle, its end, whether it is an address) of the chunk text[start:stop]."""
    first, last = start, stop
    while first < last:
        size = front_word(text, first, last, pages, cells)
        if size == 0:
            break
        first += size
    while first < last:
        size = back_word(text, first, last, pages, cells)
        if size == 0:
            break
        last -= size
    return first, last, is_address(text, first, last, pages, cells)


@njit(cache=True, nogil=True)
def word_end(text, at, stop, bounds, pages, cells):  # type: ignore[no-untyped-def]
    """End of the word whose first byte is `at`, in a chunk that ends at `stop` and has those bounds."""
    first, last, address = bounds
    if at < first:
        return at + front_word(text, at, first, pages, cells)
    if at >= last:
        kind, size = class_at(text, at, stop, pages, cells)
        if kind == FULL_STOP:
            return at + full_stops(text, at, stop)
        if kind <= DIGIT:  # only n't begins with a letter here
            size += class_at(text, at + 1, stop, pages, cells)[1] + 1
        elif kind == APOSTROPHE and at + size < stop:
            letter = text[at + size] | 0x20
            if letter == 0x73 or letter == 0x64 or letter == 0x6D:  # s d m
                size += 1
            elif letter == 0x6C or letter == 0x72 or letter == 0x76:  # ll re ve
                size += 2
        return at + size
    if address:
        return last
    before = OTHER
    if at > first:
        before = class_at(text, start_before(text, at, first), at, pages, cells)[0]
    size = cut(text, at, last, before, pages, cells)
    if size:
        return at + size
    kind, size = class_at(text, at, last, pages, cells)
    spaceless = kind == SPACELESS
    at += size
    while at < last:
        run = 0 if spaceless else ascii_letters(text, at, last)
        if run:
            at += run
            kind = LOWER if text[at - 1] & 0x20 else UPPER
            continue
        before = kind
        kind, size = class_at(text, at, last, pages, cells)
        if kind == SPACELESS or (spaceless and kind != MARK):
            return at
        if kind >= EQUALS and cut(text, at, last, before, pages, cells):
            return at
        at += size
    return last


@njit(cache=True, nogil=True, forceinline=True)
def _cell_at(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """(cell of `character_table`, bytes) of the character at `at` < `stop`."""
    if text[at] < 0x80:
        return cells[text[at]], 1  # the first page is stored first
    code, size = decode(text, at, stop)
    return lookup(pages, cells, code), size


@njit(cache=True, nogil=True, forceinline=True)
def _trait(cell, size):  # type: ignore[no-untyped-def]
    alphabetic = ALPHABETIC if cell & ALPHABETIC_CELL else 0
    non_symbol = 0 if cell & PUNCTUATION else NON_SYMBOL
    return alphabetic | non_symbol | (WIDE if size > 1 else 0)


@njit(cache=True, nogil=True)
def _traits(text, at, end, pages, cells):  # type: ignore[no-untyped-def]
    traits = 0
    while at < end:
        cell, size = _cell_at(text, at, end, pages, cells)
        traits |= _trait(cell, size)
        at += size
    return traits


@njit(cache=True, nogil=True)
def scan_chunk(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """(end, first, last, traits, joints, simple) of the chunk at `at`; end is `at` where white space stands.

    A simple chunk is marks, then text[first:last], letters and digits with `joints` single marks that join
    them, then marks; each mark outside is a word. first is -1 if there are only marks.
    """
    first, last, traits = -1, -1, 0
    row, joins, joint, joints = 0, False, 0, 0  # marks in a row since `last`; whether one of them joins
    simple, before = True, SPACE
    while at < stop:
        size = ascii_letters(text, at, stop)
        solid = size > 0
        if solid:
            kind = LOWER if text[at + size - 1] & 0x20 else UPPER
            trait = ALPHABETIC | NON_SYMBOL
        else:
            cell, size = _cell_at(text, at, stop, pages, cells)
            kind, trait = cell & CLASS, _trait(cell, size)
            if kind == SPACE:
                break
            solid = kind <= DIGIT and kind != SPACELESS
        if solid:
            if first < 0:
                first = at
            if row:
                simple = simple and joins and row == 1
                traits |= joint
                joints += 1
                row = 0
            last = at + size
            traits |= trait
        elif kind >= OUTER:
            if first >= 0:
                row += 1
                joins = kind in (OUTER, QUOTE, APOSTROPHE)
                joint = trait
        elif kind == FULL_STOP and first >= 0 and before != UPPER and before != FULL_STOP:
            row += 1
            joins = False
        else:
            simple = False
        before = kind
        at += size
    return at, first, last, traits, joints, simple


@njit(cache=True, nogil=True, forceinline=True)
def _put(starts, sizes, traits, count, start, size, trait):  # type: ignore[no-untyped-def]
    starts[count], sizes[count], traits[count] = start, size, trait
    return count + 1


@njit(cache=True, nogil=True)
def simple_words(text, begin, at, end, middle, pages, cells, out, count):  # type: ignore[no-untyped-def]
    """Puts the words of a simple chunk; the count of words then, or -1 if it isn't simple after all."""
    first, last, trait, joints = middle
    starts, sizes, traits = out
    split = last
    if joints:
        split -= contraction(text, first, last, pages, cells)
        if split < last and joints > 1:
            return -1  # something before the contraction may now stand at the back
    while at < end:
        if at != first:
            cell, size = _cell_at(text, at, end, pages, cells)
            count = _put(starts, sizes, traits, count, at - begin, size, _trait(cell, size))
            at += size
            continue
        if split < last:
            trait = _traits(text, first, split, pages, cells)
            back = _traits(text, split, last, pages, cells)
            count = _put(starts, sizes, traits, count, first - begin, split - first, trait)
            count = _put(starts, sizes, traits, count, split - begin, last - split, back)
        else:
            count = _put(starts, sizes, traits, count, first - begin, last - first, trait)
        at = last
    return count


@njit(cache=True, nogil=True)
def hard_words(text, begin, at, end, pages, cells, out, count):  # type: ignore[no-untyped-def]
    """Puts the words of any chunk, by the rules as they stand; the count of words then."""
    starts, sizes, traits = out
    bounds = chunk_bounds(text, at, end, pages, cells)
    first, last, address = bounds
    while at < end:
        if text[at] >= 0xE0 and first <= at < last and not address:
            # Letters of a script without spaces, while another follows: a word each.
            cell, size = _cell_at(text, at, last, pages, cells)
            while cell & CLASS == SPACELESS and at + size < last:
                after, after_size = _cell_at(text, at + size, last, pages, cells)
                if after & CLASS != SPACELESS:
                    break
                count = _put(starts, sizes, traits, count, at - begin, size, _trait(cell, size))
                at += size
                cell, size = after, after_size
        word = word_end(text, at, end, bounds, pages, cells)
        trait = _traits(text, at, word, pages, cells)
        count = _put(starts, sizes, traits, count, at - begin, word - at, trait)
        at = word
    return count
