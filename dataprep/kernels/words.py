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

The classes are those of `kernels/characters.py`. Nearly all words are found by `kernels/blocks.py`, 64 bytes
at a time; the other chunks are walked by `kernels/chunks.py`. Slow twin: `tests/reference/words.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.blocks import block_words
from dataprep.kernels.characters import character_table
from dataprep.kernels.chunks import ALPHABETIC, NON_SYMBOL, WIDE, hard_words, scan_chunk, simple_words
from dataprep.kernels.cuts import class_at
from dataprep.kernels.masks import lowest, window
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import longest, ones, pointer, read_only, trailing_zeros

__all__ = ["ALPHABETIC", "NON_SYMBOL", "WIDE", "Words", "find_words", "first_word_from", "word_spans"]

MAX_TEXT_BYTES = 2**31 - 1
BLOCK_ROOM = 68
"""Words that a block may put: one a byte, and three that do not count."""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of n texts: those of text i are `offsets[i]` to `offsets[i + 1]`. 9 bytes a word.

    starts   int32 [m]: first byte, counted from where the word's text begins
    sizes    int32 [m]: bytes
    traits   uint8 [m]: ALPHABETIC | NON_SYMBOL | WIDE
    offsets  int64 [n + 1]
    """

    starts: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int32]
    traits: npt.NDArray[np.uint8]
    offsets: Offsets


def find_words(data: Bytes, offsets: Offsets) -> Words:
    """The words of each text (for `Batch.derived`). A text of 2 GiB or more is a ValueError."""
    if longest(offsets) > MAX_TEXT_BYTES:
        raise ValueError(f"words are found in texts of up to {MAX_TEXT_BYTES} bytes")
    pages, cells = character_table()
    tail = np.empty(64, dtype=np.uint8)
    return Words(*_find_words(read_only(data), read_only(offsets), pages, cells, tail))


def word_spans(data: Bytes, offsets: Offsets) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(spans int64[m, 2]: first byte and end of each word in `data`, word_offsets int64[n + 1]: of each
    text)."""
    words = find_words(data, offsets)
    starts = words.starts + np.repeat(offsets[:-1], np.diff(words.offsets))
    return np.stack((starts, starts + words.sizes), axis=1), words.offsets


@njit(cache=True, nogil=True)
def first_word_from(starts, word, last, place):  # type: ignore[no-untyped-def]
    """The first of the words `word` to `last` that begins at `place` or later; looks near `word` first."""
    step = 1
    while word + step <= last and starts[word + step - 1] < place:
        word += step
        step *= 2
    low, high = word, min(word + step, last)
    while low < high:
        middle = (low + high) // 2
        if starts[middle] < place:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _grown(array, count, room):  # type: ignore[no-untyped-def]
    larger = np.empty(room, dtype=array.dtype)
    larger[:count] = array[:count]
    return larger


@njit(cache=True, nogil=True, forceinline=True)
def _put_block(out, count, shift, firsts, lasts, letters, solids):  # type: ignore[no-untyped-def]
    """Puts the words of a block, then up to three of nothing; the count of words then."""
    starts, sizes, traits = out
    num_words = np.int64(ones(firsts))
    for word in range(count, count + num_words, 4):  # four at a time: the end is harder to foresee than words
        for slot in range(word, word + 4):
            first, last = lowest(firsts), lowest(lasts)
            bits = last | (last - first)
            place = trailing_zeros(firsts)
            starts[slot] = shift + place
            sizes[slot] = trailing_zeros(lasts) - place + 1
            traits[slot] = (ALPHABETIC if letters & bits else 0) | (NON_SYMBOL if solids & bits else 0)
            firsts ^= first
            lasts ^= last
    return count + num_words


@njit(cache=True, nogil=True)
def _find_words(data, offsets, page_array, cell_array, tail_array):  # type: ignore[no-untyped-def]
    text, pages, cells, tail = pointer(data), pointer(page_array), pointer(cell_array), pointer(tail_array)
    room, wanted = (offsets[-1] - offsets[0]) // 4 + 1024, BLOCK_ROOM
    starts, sizes = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    traits = np.empty(room, dtype=np.uint8)
    out = pointer(starts), pointer(sizes), pointer(traits)
    word_offsets = np.zeros(offsets.size, dtype=np.int64)
    count = 0
    for index in range(offsets.size - 1):
        begin, stop = offsets[index], offsets[index + 1]
        at, wide = begin, False
        while at < stop:
            if count + wanted > room:
                room, wanted = 2 * (count + wanted), BLOCK_ROOM
                starts, sizes = _grown(starts, count, room), _grown(sizes, count, room)
                traits = _grown(traits, count, room)
                out = pointer(starts), pointer(sizes), pointer(traits)
            if not (wide and text[at] >= 0x80):  # after a chunk beyond ASCII another such one is likely
                block, place = window(text, at, stop, data.size, tail)
                firsts, lasts, letters, solids, covered, hard = block_words(block, place, stop - at)
                count = _put_block(out, count, at - begin, firsts, lasts, letters, solids)
                at += covered
                if at >= stop or (covered and not hard):
                    continue
            wide = True
            end, first, last, trait, joints, simple = scan_chunk(text, at, stop, pages, cells)
            if end == at:
                at += class_at(text, at, stop, pages, cells)[1]
                continue
            if count + end - at > room:
                wanted = end - at + BLOCK_ROOM  # a word a byte at most; make room, then come here again
                continue
            put = -1
            if simple:
                middle = first, last, trait, joints
                put = simple_words(text, begin, at, end, middle, pages, cells, out, count)
            count = put if put >= 0 else hard_words(text, begin, at, end, pages, cells, out, count)
            at = end + 1 if end < stop and text[end] == 0x20 else end
        word_offsets[index + 1] = count
    return starts[:count], sizes[:count], traits[:count], word_offsets
