"""The counts behind Gopher's quality rules, in one walk over each text. Words are those of
`kernels/words.py`.

Counts only: thresholds and ratios are in `dataprep/steps/gopher_quality.py`. Slow twin:
`tests/reference/quality.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.characters import ALPHABETIC, CLASS, LINE_BREAK, PUNCTUATION, SPACE, character_table
from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.utf8 import ascii_letters, decode, lookup, pointer, read_only
from dataprep.kernels.words import chunk_bounds, word_end

COUNTS = (
    "words",
    "non_symbol_words",  # words with a character outside PUNCTUATION_RANGES
    "non_symbol_characters",  # code points in these
    "alphabetic_words",  # words with a letter (`str.isalpha`)
    "stop_words",  # different stop words that occur
    "hashes",  # of "#"
    "ellipses",  # of "..." (not overlapping) and U+2026
    "lines",  # as `str.splitlines` counts them
    "bullet_lines",  # whose first character but white space is "-" or U+2022
    "ellipsis_lines",  # that end, but for white space, with "..." or U+2026
)
WORDS, NON_SYMBOL, CHARACTERS, ALPHABETIC_WORDS, STOP_WORDS, HASHES, ELLIPSES, LINES, BULLETS, ENDS = range(
    10
)
MAX_STOP_WORDS = 64


def quality_counts(data: Bytes, offsets: Offsets, stop_words: Sequence[str]) -> npt.NDArray[np.int64]:
    """int64[n, 10], columns as in COUNTS. At most 64 different stop words (a bit each), none empty."""
    return _counts(read_only(data), read_only(offsets), *stop_word_tables(stop_words), *character_table())


def stop_word_tables(stop_words: Sequence[str]) -> tuple[Bytes, Offsets, npt.NDArray[np.int64]]:
    """What `stop_word_bit` looks in: data and offsets of the sorted words; by first byte where they are."""
    stops = Texts.from_strings(sorted(set(stop_words)))
    firsts = np.array([word[0] for word in stops], dtype=np.int64)
    return read_only(stops.data), read_only(stops.offsets), np.searchsorted(firsts, np.arange(257))


@njit(cache=True, nogil=True, forceinline=True)
def stop_word_bit(text, start, end, stop_text, stop_ends, ranges):  # type: ignore[no-untyped-def]
    """The bit of the stop word text[start:end], or 0. `ranges`: by first byte, where such stop words are."""
    byte = np.int64(text[start])
    for index in range(ranges[byte], ranges[byte + 1]):
        first = stop_ends[index]
        if stop_ends[index + 1] - first == end - start:
            same = True
            for place in range(1, end - start):
                same = same and text[start + place] == stop_text[first + place]
            if same:
                return np.uint64(1) << np.uint64(index)
    return np.uint64(0)


@njit(inline="always")
def _begins_bullet(text, at, stop):  # type: ignore[no-untyped-def]
    if text[at] == 0x2D:
        return True
    return at + 3 <= stop and text[at] == 0xE2 and text[at + 1] == 0x80 and text[at + 2] == 0xA2


@njit(inline="always")
def _ends_ellipsis(text, start, end):  # type: ignore[no-untyped-def]
    if end - start < 3:
        return False
    if text[end - 1] == 0x2E:
        return text[end - 2] == 0x2E and text[end - 3] == 0x2E
    return text[end - 1] == 0xA6 and text[end - 2] == 0x80 and text[end - 3] == 0xE2


@njit(cache=True, nogil=True)
def _counts(  # type: ignore[no-untyped-def]
    data, offsets, stop_data, stop_offsets, stop_ranges, page_array, cell_array
):
    text, pages, cells = pointer(data), pointer(page_array), pointer(cell_array)
    stop_text, stop_ends, ranges = pointer(stop_data), pointer(stop_offsets), pointer(stop_ranges)
    out = np.zeros((offsets.size - 1, 10), dtype=np.int64)
    ascii_cells = np.empty(256, dtype=np.uint8)
    for byte in range(256):  # bytes beyond ASCII have no cell of their own: 0 is neither letter nor mark
        ascii_cells[byte] = lookup(pages, cells, byte) if byte < 0x80 else 0
    for index in range(offsets.size - 1):
        words, non_symbol, characters, alphabetic = 0, 0, 0, 0
        hashes, ellipses, lines, bullets, ends = 0, 0, 0, 0, 0
        found = np.uint64(0)
        at, stop = offsets[index], offsets[index + 1]
        line_start, line_empty, last_end = at, True, at  # last_end: of the last chunk so far
        while at < stop:
            # White space up to the next chunk, and the lines that end in it.
            cell = ascii_cells[text[at]]
            size = 1
            if text[at] >= 0x80:
                code, size = decode(text, at, stop)
                cell = lookup(pages, cells, code)
            if cell & CLASS == SPACE:
                if cell & LINE_BREAK:
                    ends += _ends_ellipsis(text, line_start, last_end)
                    if text[at] == 0x0D and at + 1 < stop and text[at + 1] == 0x0A:
                        size = 2
                    lines += 1
                    line_start, line_empty, last_end = at + size, True, at + size
                at += size
                continue
            if line_empty:
                line_empty = False
                bullets += _begins_bullet(text, at, stop)
            # A chunk; most are ASCII letters alone.
            start = at
            at += ascii_letters(text, at, stop)
            if at > start and (at == stop or (text[at] < 0x80 and ascii_cells[text[at]] & CLASS == SPACE)):
                words += 1
                non_symbol += 1
                alphabetic += 1
                characters += at - start
                found |= stop_word_bit(text, start, at, stop_text, stop_ends, ranges)
                last_end = at
                continue
            dots = 0
            while at < stop:
                byte = text[at]
                size = 1
                if byte < 0x80:
                    cell = ascii_cells[byte]
                    hashes += byte == 0x23
                    dots = dots + 1 if byte == 0x2E else 0
                    if dots == 3:
                        ellipses += 1
                        dots = 0
                else:
                    dots = 0
                    code, size = decode(text, at, stop)
                    cell = lookup(pages, cells, code)
                    ellipses += code == 0x2026
                if cell & CLASS == SPACE:
                    break
                at += size
            last_end = at
            bounds = chunk_bounds(text, start, at, pages, cells)
            place = start
            while place < at:
                end = word_end(text, place, at, bounds, pages, cells)
                length, has_letter, has_other = 0, False, False
                found |= stop_word_bit(text, place, end, stop_text, stop_ends, ranges)
                while place < end:
                    cell = ascii_cells[text[place]]
                    size = 1
                    if text[place] >= 0x80:
                        code, size = decode(text, place, end)
                        cell = lookup(pages, cells, code)
                    length += 1
                    has_letter |= (cell & ALPHABETIC) != 0
                    has_other |= (cell & PUNCTUATION) == 0
                    place += size
                words += 1
                alphabetic += has_letter
                if has_other:
                    non_symbol += 1
                    characters += length
        if stop > line_start:
            lines += 1
            ends += _ends_ellipsis(text, line_start, last_end)
        while found:
            found &= found - np.uint64(1)
            out[index, STOP_WORDS] += 1
        out[index, WORDS] = words
        out[index, NON_SYMBOL] = non_symbol
        out[index, CHARACTERS] = characters
        out[index, ALPHABETIC_WORDS] = alphabetic
        out[index, HASHES] = hashes
        out[index, ELLIPSES] = ellipses
        out[index, LINES] = lines
        out[index, BULLETS] = bullets
        out[index, ENDS] = ends
    return out
