"""The counts behind Gopher's repetition rules: equal lines and paragraphs, the most common n-grams, and
n-grams that come again. In the two ways in which the peers count them.

Counts only: thresholds and ratios are in `dataprep/steps/gopher_repetition.py`; every count is defined in
`docs/reference/statistics.md`. Time is linear in the text, also where everything repeats; memory is up to 29
bytes a word and 24 a different n-gram of the longest text. Slow twin: `tests/reference/repetition.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.keytable import FILTER_BYTES, table_arrays
from dataprep.kernels.ngrams import (
    all_duplicates,
    hash_words,
    longer,
    most_common,
    number_keys,
    repeated_pairs,
    scanned_duplicates,
)
from dataprep.kernels.pieces import BEYOND, characters, duplicate_pieces
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import copy_bytes, longest, pointer, read_only
from dataprep.kernels.words import Words

TOP, DUPLICATE = (2, 3, 4), (5, 6, 7, 8, 9, 10)
"""The n-grams of which the most common counts, and those of which duplicates do."""
LINES = ("lines", "duplicate_lines", "duplicate_line_characters")
PARAGRAPHS = ("paragraphs", "duplicate_paragraphs", "duplicate_paragraph_characters")
N_GRAMS = (
    *(f"top_{n}_gram_characters" for n in TOP),
    *(f"duplicate_{n}_gram_characters" for n in DUPLICATE),
)
COUNTS = ("characters", *LINES, *PARAGRAPHS, *N_GRAMS)
DOLMA_COUNTS = ("characters", *LINES, *N_GRAMS, *(f"all_{n}_gram_characters" for n in DUPLICATE))

SHORT_LINES = 66_000
"""More lines of up to two bytes cannot differ; longer ones take four bytes each with their line feed."""


def repetition_counts(data: Bytes, offsets: Offsets, words: Words) -> npt.NDArray[np.int64]:
    """int64[n, 16], columns as in COUNTS: as GopherRepetitionFilter of datatrove counts. `words`: those of
    the same texts, from `find_words`."""
    return _counted(data, offsets, words, False, len(COUNTS))


def dolma_repetition_counts(data: Bytes, offsets: Offsets, chunks: Words) -> npt.NDArray[np.int64]:
    """int64[n, 19], columns as in DOLMA_COUNTS: as Dolma's tagger `gopher_v1` counts. `chunks`: those of the
    same texts, from `find_chunks`."""
    return _counted(data, offsets, chunks, True, len(DOLMA_COUNTS))


def _counted(data: Bytes, offsets: Offsets, words: Words, dolma: bool, columns: int) -> npt.NDArray[np.int64]:
    out = np.zeros((offsets.size - 1, columns), dtype=np.int64)
    found = tuple(map(read_only, (words.starts, words.sizes, words.traits, words.offsets)))
    _count(read_only(data), read_only(offsets), found, dolma, _scratch(offsets, words), out)
    return out


def _scratch(offsets: Offsets, words: Words) -> tuple[npt.NDArray[Any], ...]:
    """Room for the longest text; memory that is not used is not touched."""
    most_words, most_bytes = longest(words.offsets), longest(offsets)
    return (
        *table_arrays(max(most_words, most_bytes // 4 + SHORT_LINES)),
        np.empty(FILTER_BYTES, dtype=np.uint8),
        np.empty(most_words + 1, dtype=np.uint64),
        np.empty(most_words + 1, dtype=np.int32),
        np.empty(most_words + 1, dtype=np.int32),
        np.empty(most_words + 1, dtype=np.int32),
        np.empty(most_bytes + BEYOND, dtype=np.uint8),
    )


@njit(cache=True, nogil=True)
def _count(data, offsets, words, dolma, scratch, out):  # type: ignore[no-untyped-def]
    text = pointer(data)
    start_array, size_array, trait_array, word_offsets = words
    found = pointer(start_array), pointer(size_array), pointer(trait_array)
    starts, sizes = found[0], found[1]
    slot_array, entry_array, seen_array, key_array, place_array, number_array, end_array, copy_array = scratch
    slots, entries, seen = pointer(slot_array), pointer(entry_array), pointer(seen_array)
    keys, places, numbers = pointer(key_array), pointer(place_array), pointer(number_array)
    ends, copy = pointer(end_array), pointer(copy_array)
    for index in range(offsets.size - 1):
        source, begin, size = text, offsets[index], offsets[index + 1] - offsets[index]
        if begin + size + BEYOND > data.size:
            copy_bytes(copy, 0, text, begin, size)
            source, begin = copy, np.int64(0)
        first, last = word_offsets[index], word_offsets[index + 1]
        num_words = last - first
        row = out[index]

        row[0] = characters(source, begin, begin + size)
        row[1], row[2], row[3] = duplicate_pieces(
            source, begin, begin + size, 0 if dolma else 1, dolma, slots, entries, seen
        )
        column = 4
        if not dolma:
            # Paragraphs are those of the stripped text: from its first word to its last.
            start = end = begin
            if num_words:
                start, end = begin + starts[first], begin + starts[last - 1] + sizes[last - 1]
            row[4], row[5], row[6] = duplicate_pieces(source, start, end, 2, False, slots, entries, seen)
            column = 7
        ends[0] = 0
        count = 0
        if num_words:
            shift = hash_words(source, begin, found, first, last, keys, ends, seen)
            count = repeated_pairs(keys, num_words, seen, shift, places)
        if dolma:
            row[0] = ends[num_words]
            for level in range(5, 11):
                for place in range(num_words - level + 1):
                    row[column + 4 + level] += ends[place + level] - ends[place]
        for level in range(2, min(num_words, 10) + 1):
            number_keys(keys, count, numbers, slots, entries)
            if level <= 4:
                most, place = most_common(places, numbers, count, entries)
                length = ends[place + level] - ends[place]
                row[column + level - 2] = most * (length if dolma else length + level - 1)
            elif count == 0:
                break
            elif dolma:
                row[column + level - 2] = all_duplicates(places, numbers, count, entries, level, ends)
            else:
                row[column + level - 2] = scanned_duplicates(places, numbers, count, entries, level, ends)
            count = longer(places, numbers, keys, count, entries)
