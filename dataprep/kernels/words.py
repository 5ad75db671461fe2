"""Where the words of a text are. Written for English, defined for all of Unicode, and near what datatrove's
English tokenizer (spaCy's) finds, so that thresholds tuned on that mean the same here.

A chunk is a run of characters without white space (as `str.isspace` has it). A chunk is cut in this order:

1. Front. While the chunk begins with a mark of the classes OUTER, QUOTE, APOSTROPHE, COMMA, COLON, ANGLE,
   STAR, DASH, ICON, ELLIPSIS, CURRENCY, EQUALS, PERCENT, with a PLUS not followed by a digit, or with two
   or more full stops, that mark (the run of full stops) is a word.
2. Back. While what is left ends with OUTER, QUOTE, APOSTROPHE, COMMA, COLON, ANGLE, STAR, DASH, ICON,
   ELLIPSIS, two or more full stops, a PLUS, CURRENCY or PERCENT after a digit, or one full stop after two
   capitals or after anything but a capital, an EQUALS, a SLASH, a CARET, an OTHER or a CURRENCY (so "J."
   stays whole), that mark is a word; so is a contraction ending ('s 'd 'm 'll 're 've n't, either
   apostrophe, either case) that is not all of it.
3. Middle. What is left is one word if it is an address (`cuts.is_address`: scheme, host with a lower-case top
   level, port, path, as in a URL or an e-mail address). Else it is cut before and after: ICON, ELLIPSIS,
   two or more full stops; a full stop between a small letter or quote and a capital or quote; a COMMA
   between letters; one to three equal HYPHEN or DASH between a letter or digit and a letter; COLON, ANGLE,
   EQUALS or SLASH between a letter or digit and a letter; HYPHEN, PLUS, STAR or CARET between a digit and a
   digit or hyphen. Letters of scripts that are written without spaces are words of one letter with the
   marks that follow.

The classes are those of `kernels/characters.py`. Slow twin: `tests/reference/words.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.characters import (
    APOSTROPHE,
    DIGIT,
    EQUALS,
    FULL_STOP,
    LOWER,
    MARK,
    OTHER,
    SPACE,
    SPACELESS,
    UPPER,
    character_table,
)
from dataprep.kernels.cuts import back_word, class_at, cut, front_word, full_stops, is_address, start_before
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import ascii_letters, pointer, read_only


def word_spans(data: Bytes, offsets: Offsets) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(spans int64[m, 2]: first byte and end of each word, word_offsets int64[n + 1]: of each text)."""
    pages, cells = character_table()
    return _word_spans(read_only(data), read_only(offsets), pages, cells)


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


@njit(cache=True, nogil=True)
def _word_spans(data, offsets, page_array, cell_array):  # type: ignore[no-untyped-def]
    text, pages, cells = pointer(data), pointer(page_array), pointer(cell_array)
    spans = np.empty((1024, 2), dtype=np.int64)
    word_offsets = np.zeros(offsets.size, dtype=np.int64)
    count = 0
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        while at < stop:
            kind, size = class_at(text, at, stop, pages, cells)
            if kind == SPACE:
                at += size
                continue
            start = at
            while size and kind != SPACE:
                at += size
                kind, size = class_at(text, at, stop, pages, cells)
            bounds = chunk_bounds(text, start, at, pages, cells)
            place = start
            while place < at:
                end = word_end(text, place, at, bounds, pages, cells)
                if count == spans.shape[0]:
                    larger = np.empty((2 * count, 2), dtype=np.int64)
                    larger[:count] = spans
                    spans = larger
                spans[count, 0], spans[count, 1] = place, end
                count += 1
                place = end
        word_offsets[index + 1] = count
    return spans[:count], word_offsets
