"""The counts behind Gopher's quality rules, from the words of `kernels/words.py` and one walk over the lines.

Counts only: thresholds and ratios are in `dataprep/steps/gopher_quality.py`. Slow twin:
`tests/reference/quality.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.masks import byte_set, bytes_of, followed_by, lowest, window
from dataprep.kernels.stop_words import (
    SHORT,
    short_word_bit,
    short_word_table,
    stop_word_bit,
    stop_word_tables,
)
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import load64, ones, pointer, read_only, trailing_zeros
from dataprep.kernels.words import ALPHABETIC, NON_SYMBOL, WIDE, Words, find_words, first_word_from

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
WORDS, NON_SYMBOL_WORDS, CHARACTERS, ALPHABETIC_WORDS, STOP_WORDS = range(5)
HASHES, ELLIPSES, LINES, BULLETS, ENDS = range(5, 10)

EIGHT_WIDE = np.uint64(0x0101010101010101 * WIDE)
line_breaks, hashes, full_stops = byte_set((0x0A, 0x0D), (0x1C, 0x1E)), bytes_of("#"), bytes_of(".")
leads = byte_set((0xC2, 0xC2), (0xE2, 0xE2))
"""First bytes of the line breaks beyond ASCII, U+0085, U+2028 and U+2029, and of U+2026."""


def quality_counts(
    data: Bytes, offsets: Offsets, stop_words: Sequence[str], words: Words | None = None
) -> npt.NDArray[np.int64]:
    """int64[n, 10], columns as in COUNTS. At most 64 different stop words (a bit each), none empty. `words`:
    what `find_words` returns of the same texts, if the caller has it."""
    words = words or find_words(data, offsets)
    data, offsets = read_only(data), read_only(offsets)
    found = tuple(map(read_only, (words.starts, words.sizes, words.traits, words.offsets)))
    out = np.zeros((offsets.size - 1, len(COUNTS)), dtype=np.int64)
    _count_words(data, offsets, found, stop_word_tables(stop_words), short_word_table(stop_words), out)
    _count_lines(data, offsets, found, np.empty(64, dtype=np.uint8), out)
    return out


@njit(cache=True, nogil=True)
def _count_words(data, offsets, words, stops, shorts, out):  # type: ignore[no-untyped-def]
    text = pointer(data)
    start_array, size_array, trait_array, word_offsets = words
    starts, sizes, traits = pointer(start_array), pointer(size_array), pointer(trait_array)
    stop_data, stop_offsets, stop_ranges = stops
    stop_text, stop_ends, ranges = pointer(stop_data), pointer(stop_offsets), pointer(stop_ranges)
    slot_array, hashing = shorts
    slots, factor, shift = pointer(slot_array), hashing[0], hashing[1]
    longest_stop = 0
    for index in range(stop_offsets.size - 1):
        longest_stop = max(longest_stop, stop_offsets[index + 1] - stop_offsets[index])
    for index in range(offsets.size - 1):
        begin, first, last = offsets[index], word_offsets[index], word_offsets[index + 1]
        # Plain sums in loops of their own, which run many words at a time.
        alphabetic, non_symbol, characters = 0, 0, 0
        for word in range(first, last):
            alphabetic += traits[word] & ALPHABETIC
        for word in range(first, last):
            non_symbol += (traits[word] & NON_SYMBOL) // NON_SYMBOL
        for word in range(first, last):
            characters += sizes[word] if traits[word] & NON_SYMBOL else 0
        word = first
        while word < last:
            if word + 8 <= last and load64(traits, word) & EIGHT_WIDE == 0:
                word += 8
                continue
            if traits[word] & (NON_SYMBOL | WIDE) == NON_SYMBOL | WIDE:
                for at in range(begin + starts[word], begin + starts[word] + sizes[word]):
                    characters -= text[at] & 0xC0 == 0x80
            word += 1
        found = np.uint64(0)
        in_table = offsets[index + 1] + SHORT <= data.size
        if in_table:
            for word in range(first, last):
                start, size = begin + starts[word], np.int64(sizes[word])
                found |= short_word_bit(text, start, size, slots, factor, shift)
        if not in_table or longest_stop > SHORT:
            for word in range(first, last):
                start = begin + starts[word]
                found |= stop_word_bit(text, start, start + sizes[word], stop_text, stop_ends, ranges)
        out[index, WORDS] = last - first
        out[index, NON_SYMBOL_WORDS] = non_symbol
        out[index, CHARACTERS] = characters
        out[index, ALPHABETIC_WORDS] = alphabetic
        out[index, STOP_WORDS] = ones(found)


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


@njit(inline="always")
def _is_cr_lf(text, at):  # type: ignore[no-untyped-def]
    return text[at] == 0x0D and text[at + 1] == 0x0A


@njit(cache=True, nogil=True)
def _count_lines(data, offsets, words, tail_array, out):  # type: ignore[no-untyped-def]
    start_array, size_array, _, word_offsets = words
    text, starts, sizes, tail = pointer(data), pointer(start_array), pointer(size_array), pointer(tail_array)
    for index in range(offsets.size - 1):
        begin, stop = offsets[index], offsets[index + 1]
        word, last_word = word_offsets[index], word_offsets[index + 1]
        num_hashes, ellipses, lines, bullets, ends = 0, 0, 0, 0, 0
        line_start, dots, after_dot = begin, 0, begin
        for at in range(begin, stop, 64):
            block, place = window(text, at, stop, data.size, tail)
            room = stop - at
            inside = ~np.uint64(0) if room >= 64 else (np.uint64(1) << np.uint64(room)) - np.uint64(1)
            num_hashes += np.int64(ones(hashes(block, place) & inside))
            stops = full_stops(block, place) & inside
            if stops & (followed_by(stops) | np.uint64(1)):
                while stops:
                    dot = at + trailing_zeros(stops)
                    dots = dots + 1 if dot == after_dot else 1
                    after_dot = dot + 1
                    if dots == 3:
                        ellipses += 1
                        dots = 0
                    stops ^= lowest(stops)
            elif stops >> np.uint64(63):
                dots, after_dot = 1, at + 64
            breaks = line_breaks(block, place) & inside
            wide = leads(block, place) & inside
            while wide:
                bit = lowest(wide)
                byte = at + trailing_zeros(wide)
                second, third = text[byte + 1], text[byte + 2] if byte + 2 < stop else 0
                if text[byte] == 0xC2:
                    breaks |= bit if second == 0x85 else np.uint64(0)
                elif second == 0x80:
                    ellipses += third == 0xA6
                    breaks |= bit if third == 0xA8 or third == 0xA9 else np.uint64(0)
                wide ^= bit
            # The end of the text is the end of a last line.
            while breaks or (at + 64 >= stop and line_start < stop):
                line_end, size = stop, 0
                if breaks:
                    line_end = at + trailing_zeros(breaks)
                    size = 1 if text[line_end] < 0x80 else 2 if text[line_end] == 0xC2 else 3
                    breaks ^= lowest(breaks)
                    if line_end == line_start > begin and _is_cr_lf(text, line_end - 1):
                        line_start += 1
                        continue
                lines += 1
                next_word = first_word_from(starts, word, last_word, line_end - begin)
                if next_word > word:
                    bullets += _begins_bullet(text, begin + starts[word], line_end)
                    end = begin + starts[next_word - 1] + sizes[next_word - 1]
                    ends += _ends_ellipsis(text, line_start, end)
                word = next_word
                line_start = line_end + size
                if size == 0:
                    break
        out[index, HASHES] = num_hashes
        out[index, ELLIPSES] = ellipses
        out[index, LINES] = lines
        out[index, BULLETS] = bullets
        out[index, ENDS] = ends
