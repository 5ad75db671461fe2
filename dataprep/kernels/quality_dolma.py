"""The counts behind Gopher's quality rules as Dolma's tagger `gopher_v1` has them, in one walk over a text.

Words are what `str.split` gives; lines end at "\\n" alone and are not stripped. Counts only: thresholds and
ratios are in `dataprep/steps/gopher_quality.py`. Slow twin: `tests/reference/quality_dolma.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.characters import ALPHABETIC, CLASS, SPACE, character_table
from dataprep.kernels.stop_words import stop_word_bit, stop_word_tables
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import ascii_letters, decode, lookup, pointer, read_only

COUNTS = (
    "words",
    "twice_median_length",  # of words in characters, 0 without words
    "symbol_words",  # words with "#" or U+2026 in them
    "alphabetic_words",  # words with a letter (`str.isalpha`)
    "stop_words",  # words that are stop words, every time they occur
    "lines",
    "bullet_lines",  # whose first character is "*" or "-"
    "ellipsis_lines",  # whose last character is U+2026
)
WORDS, MEDIAN, SYMBOLS, ALPHABETIC_WORDS, STOP_WORDS, LINES, BULLETS, ENDS = range(8)
LONGEST = 4096
"""Longer words count as this long for the median."""


def dolma_quality_counts(data: Bytes, offsets: Offsets, stop_words: Sequence[str]) -> npt.NDArray[np.int64]:
    """int64[n, 8], columns as in COUNTS. At most 64 different stop words, none empty."""
    return _counts(read_only(data), read_only(offsets), *stop_word_tables(stop_words), *character_table())


@njit(cache=True, nogil=True)
def _twice_median(lengths, longest, words):  # type: ignore[no-untyped-def]
    """From the number of words of each length; words > 0. Sets the numbers back to 0."""
    low, high = (words - 1) // 2, words // 2
    passed, twice = 0, 0
    for length in range(longest + 1):
        here = lengths[length]
        twice += length * ((passed <= low < passed + here) + (passed <= high < passed + here))
        passed += here
        lengths[length] = 0
    return twice


@njit(cache=True, nogil=True)
def _counts(  # type: ignore[no-untyped-def]
    data, offsets, stop_data, stop_offsets, stop_ranges, page_array, cell_array
):
    text, pages, cells = pointer(data), pointer(page_array), pointer(cell_array)
    stop_text, stop_ends, ranges = pointer(stop_data), pointer(stop_offsets), pointer(stop_ranges)
    out = np.zeros((offsets.size - 1, 8), dtype=np.int64)
    lengths = np.zeros(LONGEST + 1, dtype=np.int64)
    ascii_cells = np.empty(256, dtype=np.uint8)
    for byte in range(256):
        ascii_cells[byte] = lookup(pages, cells, byte) if byte < 0x80 else 0x1F
    for index in range(offsets.size - 1):
        words, symbols, alphabetic, stops = 0, 0, 0, 0
        lines, bullets, ends, longest = 1, 0, 0, 0
        at, stop = offsets[index], offsets[index + 1]
        line_start, after_ellipsis = True, False  # of what stands before `at`
        while at < stop:
            byte = text[at]
            cell, size = ascii_cells[byte], 1
            if byte >= 0x80:
                code, size = decode(text, at, stop)
                cell = lookup(pages, cells, code)
            if cell & CLASS == SPACE:
                if byte == 0x0A:
                    lines += 1
                    ends += after_ellipsis
                    line_start = True
                else:
                    line_start = False
                after_ellipsis = False
                at += size
                continue
            bullets += line_start and (byte == 0x2A or byte == 0x2D)
            line_start = False
            start = at
            at += ascii_letters(text, at, stop)
            length, has_letter, symbol, after_ellipsis = at - start, at > start, False, False
            while at < stop:
                byte = text[at]
                cell, size = ascii_cells[byte], 1
                ellipsis = False
                if byte >= 0x80:
                    code, size = decode(text, at, stop)
                    cell = lookup(pages, cells, code)
                    ellipsis = code == 0x2026
                if cell & CLASS == SPACE:
                    break
                after_ellipsis = ellipsis
                symbol |= ellipsis or byte == 0x23
                has_letter |= cell & ALPHABETIC != 0
                length += 1
                at += size
            words += 1
            symbols += symbol
            alphabetic += has_letter
            stops += stop_word_bit(text, start, at, stop_text, stop_ends, ranges) != 0
            length = min(length, LONGEST)
            longest = max(longest, length)
            lengths[length] += 1
        ends += after_ellipsis
        out[index, WORDS] = words
        if words:
            out[index, MEDIAN] = _twice_median(lengths, longest, words)
        out[index, SYMBOLS] = symbols
        out[index, ALPHABETIC_WORDS] = alphabetic
        out[index, STOP_WORDS] = stops
        out[index, LINES] = lines
        out[index, BULLETS] = bullets
        out[index, ENDS] = ends
    return out
