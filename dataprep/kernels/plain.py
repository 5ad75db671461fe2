"""The `plain` normalisation: the words of a text in lower case, joined by single spaces.

Lower case is that of each code point by itself (`str.lower` of one character), so a capital sigma is a small
one also at the end of a word. Words are then what the regular expression \\w+ finds, but a letter of a script
that is written without spaces (Han, kana, Bopomofo, Thai, Lao, Khmer, Myanmar; see `characters.py`) is a word
by itself if the caller says so. Marks are not \\w, so they end words. The Unicode form is the caller's.

Slow twin: `tests/reference/shingles.py`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.characters import CLASS, SPACELESS, character_table
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.unicode import Table, populated, spread
from dataprep.kernels.utf8 import (
    BEYOND_Z,
    FROM_A,
    HIGH_BITS,
    SPACES,
    decode,
    load64,
    lookup,
    pointer,
    read_only,
    store64,
    trailing_zeros,
)

NO_WORD, ALONE, DOTTED, SAME = 0, 1, 2, 3
"""Cells of `word_table`: no part of a word; a word by itself; I with a dot, whose lower case is an i and a
mark that ends the word; its own lower case. Cells beyond are lower-cased by `deltas`, at the same index."""

PADDING = 16
"""Bytes after the normalised text that kernels may read or overwrite."""

EACH = np.uint64(0x0101010101010101)
FROM_0, BEYOND_9 = EACH * np.uint64(0x80 - 0x30), EACH * np.uint64(0x80 - 0x3A)
LOW_BITS, UNDERSCORES, SPACE = EACH * np.uint64(0x7F), EACH * np.uint64(0x5F), np.uint8(0x20)


@lru_cache(maxsize=1)
def word_table() -> tuple[Table, npt.NDArray[np.int64]]:
    """(cells by code point, deltas int64[k]: what to add to a code point for its lower case, by cell)."""
    characters = populated()
    pages, cells = character_table()
    values = np.zeros(len(characters), dtype=np.uint8)
    numbers = {0: SAME}  # of each difference between lower case and itself
    for index, character in enumerate(characters):
        if not (character.isalnum() or character == "_"):
            continue
        code, lower = ord(character), character.lower()
        if len(lower) > 1:
            values[index] = DOTTED
            continue
        if cells[int(pages[code >> 8]) * 256 + (code & 255)] & CLASS == SPACELESS:
            values[index] = ALONE
            continue
        delta = ord(lower) - code
        values[index] = numbers.setdefault(delta, len(numbers) + SAME)
    return spread(values, default=NO_WORD), np.array([0] * SAME + list(numbers), dtype=np.int64)


def plain_words(data: Bytes, offsets: Offsets, split: bool) -> tuple[Bytes, Offsets, Offsets]:
    """(normalised uint8, starts int64[m + n], unit_offsets int64[n + 1]); see `shingles.Units`.

    split  whether letters of scripts without spaces are words by themselves
    """
    num_bytes, count = int(offsets[-1] - offsets[0]), offsets.size - 1
    (pages, cells), deltas = word_table()
    # A letter of two bytes may have a lower case of three, and after each word comes a space.
    out = np.empty(2 * num_bytes + PADDING, dtype=np.uint8)
    starts = np.empty(num_bytes // 2 + 2 * count, dtype=np.int64)
    unit_offsets = np.zeros(count + 1, dtype=np.int64)
    size = _plain_words(
        read_only(data), read_only(offsets), split, pages, cells, deltas, out, starts, unit_offsets
    )
    return out[: size + PADDING], starts[: unit_offsets[-1]], unit_offsets


@njit(inline="always")
def put_utf8(code, out, at):  # type: ignore[no-untyped-def]
    """Write a code point of two bytes or more at out[at]; its bytes."""
    if code < 0x800:
        out[at], out[at + 1] = 0xC0 | code >> 6, 0x80 | code & 0x3F
        return 2
    if code < 0x10000:
        out[at], out[at + 1], out[at + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
        return 3
    out[at], out[at + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 0x3F
    out[at + 2], out[at + 3] = 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
    return 4


@njit(cache=True, nogil=True)
def _plain_words(  # type: ignore[no-untyped-def]
    data, offsets, split, page_array, cell_array, delta_array, out_array, start_array, unit_offsets
):
    text, out, starts = pointer(data), pointer(out_array), pointer(start_array)
    pages, cells, deltas = pointer(page_array), pointer(cell_array), pointer(delta_array)
    size, count = 0, 0
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        inside = False  # a word
        while at < stop:
            if at + 8 <= stop:
                # Eight bytes at once, where they are ASCII: a mask of the bytes of words, in the high bits.
                eight = load64(text, at)
                low = eight & LOW_BITS
                letters = (low | SPACES) + FROM_A
                letters &= ~((low | SPACES) + BEYOND_Z)
                digits = (low + FROM_0) & ~(low + BEYOND_9)
                words = (letters | digits | ~((low ^ UNDERSCORES) + LOW_BITS)) & ~eight & HIGH_BITS
                beyond = eight & HIGH_BITS
                if words & np.uint64(0x80):
                    if not inside:
                        starts[count] = size
                        count += 1
                    store64(out, size, eight | (letters & words) >> np.uint64(2))
                    run = trailing_zeros(words ^ HIGH_BITS) >> 3
                    at += run
                    size += run
                    inside = True
                    if run == 8 or beyond >> np.uint64(8 * run) & np.uint64(0x80):
                        continue
                    inside = False
                    out[size] = SPACE
                    size += 1
                    at += min(trailing_zeros((words | beyond) >> np.uint64(8 * run)) >> 3, 8 - run)
                    continue
                if not beyond & np.uint64(0x80):
                    if inside:
                        inside = False
                        out[size] = SPACE
                        size += 1
                    at += trailing_zeros(words | beyond) >> 3
                    continue
            code, width = decode(text, at, stop)
            value = lookup(pages, cells, code)
            if value == ALONE and not split:
                value = SAME
            if inside and value <= ALONE:
                inside = False
                out[size] = SPACE
                size += 1
            if value != NO_WORD and not inside:
                inside = True
                starts[count] = size
                count += 1
            if value == DOTTED:
                code = 0x69
            elif value > SAME:
                code += deltas[value]
            if value != NO_WORD:
                if code < 0x80:
                    out[size] = code
                    size += 1
                else:
                    size += put_utf8(code, out, size)
            if value in (ALONE, DOTTED):
                inside = False
                out[size] = SPACE
                size += 1
            at += width
        if inside:
            out[size] = SPACE
            size += 1
        starts[count] = size
        count += 1
        unit_offsets[index + 1] = count
    return size
