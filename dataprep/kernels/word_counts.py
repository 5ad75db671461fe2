"""How many words a chunk holds: those of `kernels/words.py`, without finding where each one is.

Slow twin: `tests/reference/words.py`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.characters import CLASS, OUTER, SPACE, character_table
from dataprep.kernels.chunks import chunk_bounds, word_end
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import ascii_letters, decode, lookup, pointer, read_only

BEYOND = 255
"""Kind of the bytes beyond ASCII, which have no class of their own."""
LETTER_S, LETTER_D, LETTER_M, LETTER_T, LETTER_N = 0x73, 0x64, 0x6D, 0x74, 0x6E


def word_counts(data: Bytes, offsets: Offsets) -> npt.NDArray[np.int64]:
    """int64[n]: words of each text."""
    return _word_counts(read_only(data), read_only(offsets), ascii_kinds(), *character_table())


@lru_cache(maxsize=1)
def ascii_kinds() -> Bytes:
    """uint8[256]: the class of each ASCII character, BEYOND for other bytes."""
    pages, cells = character_table()
    kinds = np.full(256, BEYOND, dtype=np.uint8)
    kinds[:128] = cells[int(pages[0]) * 256 : int(pages[0]) * 256 + 128] & CLASS
    return read_only(kinds)


@njit(inline="always")
def _is_letter(byte):  # type: ignore[no-untyped-def]
    return 0x61 <= byte | 0x20 <= 0x7A


@njit(inline="always")
def _is_digit(byte):  # type: ignore[no-untyped-def]
    return 0x30 <= byte <= 0x39


@njit(cache=True, nogil=True)
def _simple_chunk(text, at, stop, kinds):  # type: ignore[no-untyped-def]
    """(end, words) of the chunk at `at` if it is marks, then letters and digits with hyphens or one
    apostrophe, then marks, all ASCII, so that no rule has to look far; else (at, 0).

    Marks are those that cut themselves off at either end, and at the back a full stop after a small letter,
    a digit or a mark. What is no such chunk falls through somewhere.
    """
    words, place = 1, at
    while place < stop and OUTER <= kinds[text[place]] < BEYOND:
        words += 1
        place += 1
    start = place
    while place < stop and (_is_letter(text[place]) or _is_digit(text[place])):
        place += 1
    if place == start:
        return at, 0
    while place + 1 < stop and text[place] == 0x2D:  # hyphens
        after = text[place + 1]
        if _is_letter(after) or (_is_digit(after) and _is_digit(text[place - 1])):
            words += 2
        elif not _is_digit(after):
            return at, 0
        place += 1
        while place < stop and (_is_letter(text[place]) or _is_digit(text[place])):
            place += 1
    if place + 1 < stop and text[place] == 0x27 and _is_letter(text[place + 1]):
        size = 2
        while place + size < stop and _is_letter(text[place + size]):
            size += 1
        last, before = text[place + size - 1] | 0x20, text[place + size - 2] | 0x20
        if size == 2:
            if last in (LETTER_S, LETTER_D, LETTER_M):
                words += 1
            elif last == LETTER_T and text[place - 1] | 0x20 == LETTER_N:
                if place - 1 == start or not _is_letter(text[place - 2]):
                    return at, 0
                words += 1
        elif size == 3:
            if last == 0x6C:  # ll
                words += before == 0x6C
            elif last == 0x65:  # re ve
                words += before == 0x72 or before == 0x76
        place += size
    while place < stop:
        kind = kinds[text[place]]
        if kind == SPACE:
            break
        if text[place] == 0x2E:
            if 0x41 <= text[place - 1] <= 0x5A or text[place - 1] == 0x2E:
                return at, 0
            if place + 1 < stop and text[place + 1] == 0x2E:
                return at, 0
        elif kind < OUTER or kind == BEYOND:
            return at, 0
        words += 1
        place += 1
    return place, words


@njit(cache=True, nogil=True)
def _chunk(text, start, stop, kinds, pages, cells):  # type: ignore[no-untyped-def]
    """(end, words) of any chunk at `start`."""
    at = start
    while at < stop:
        kind, size = kinds[text[at]], 1
        if kind == BEYOND:
            code, size = decode(text, at, stop)
            kind = lookup(pages, cells, code) & CLASS
        if kind == SPACE:
            break
        at += size
    bounds = chunk_bounds(text, start, at, pages, cells)
    words, place = 0, start
    while place < at:
        place = word_end(text, place, at, bounds, pages, cells)
        words += 1
    return at, words


@njit(cache=True, nogil=True, forceinline=True)
def count_words(text, at, stop, kinds, pages, cells):  # type: ignore[no-untyped-def]
    """Words of text[at:stop]. `kinds`: `ascii_kinds`, by pointer."""
    words = 0
    while at < stop:
        # Most chunks are ASCII letters alone, then letters and one mark; one space follows.
        start = at
        at += ascii_letters(text, at, stop)
        if at == stop:
            return words + (at > start)
        kind = kinds[text[at]]
        if kind == SPACE:
            words += at > start
            at += 1
            continue
        if at > start and kind < BEYOND and (at + 1 == stop or kinds[text[at + 1]] == SPACE):
            if kind >= OUTER or (text[at - 1] & 0x20 and text[at] == 0x2E):
                words += 2
                at += 2
                continue
        elif at == start and kind == BEYOND:
            code, size = decode(text, at, stop)
            if lookup(pages, cells, code) & CLASS == SPACE:
                at += size
                continue
        end, more = _simple_chunk(text, start, stop, kinds)
        if more == 0:
            end, more = _chunk(text, start, stop, kinds, pages, cells)
        words += more
        at = end
    return words


@njit(cache=True, nogil=True)
def _word_counts(data, offsets, kind_array, page_array, cell_array):  # type: ignore[no-untyped-def]
    text, kinds = pointer(data), pointer(kind_array)
    pages, cells = pointer(page_array), pointer(cell_array)
    out = np.empty(offsets.size - 1, dtype=np.int64)
    for index in range(offsets.size - 1):
        out[index] = count_words(text, offsets[index], offsets[index + 1], kinds, pages, cells)
    return out
