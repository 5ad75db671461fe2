"""The counts behind FineWeb's quality rules, in one walk over the lines of each text, and a second where some
may be equal. Lines end at "\\n" alone; words are those of `kernels/words.py`.

Counts only: thresholds and ratios are in `dataprep/steps/fineweb_quality.py`. Lines are equal if their hashes
of 64 bits are (`kernels/keytable.py`). Slow twin: `tests/reference/fineweb.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.cuts import start_before
from dataprep.kernels.keytable import FILTER_BYTES, cleared, filter_cleared, note, put, table_arrays, times
from dataprep.kernels.marks import member_table
from dataprep.kernels.pieces import BEYOND, characters, hash_of, next_cut, outline
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import copy_bytes, decode, longest, lookup, pointer, read_only
from dataprep.kernels.words import Words, find_words, first_word_from

COUNTS = (
    "lines",  # all, or those that are not blank
    "ended_lines",  # of these, whose last character is a stop character
    "short_lines",  # of these, of at most `short_line_length` characters
    "duplicate_characters",  # in lines, not blank, that equal an earlier one
    "characters",  # but "\n"
    "newlines",
    "words",
)
LINES, ENDED, SHORT, DUPLICATE, CHARACTERS, NEWLINES, WORDS = range(7)


def fineweb_counts(
    data: Bytes,
    offsets: Offsets,
    stop_characters: Iterable[str],
    short_line_length: int,
    blank_lines: bool,
    words: Words | None = None,
) -> npt.NDArray[np.int64]:
    """int64[n, 7], columns as in COUNTS. `blank_lines`: whether `lines` and what is counted of them include
    lines of white space alone. `words`: what `find_words` returns of the same texts, if the caller has it."""
    words = words or find_words(data, offsets)
    out = np.zeros((offsets.size - 1, len(COUNTS)), dtype=np.int64)
    _count(
        read_only(data),
        read_only(offsets),
        (read_only(words.starts), read_only(words.offsets)),
        short_line_length,
        blank_lines,
        member_table(frozenset(stop_characters)),
        (
            *table_arrays(longest(words.offsets)),
            np.empty(FILTER_BYTES, dtype=np.uint8),
            np.empty(longest(offsets) + BEYOND, dtype=np.uint8),
        ),
        out,
    )
    return out


@njit(cache=True, nogil=True)
def _duplicate_characters(text, begin, stop, starts, word, last_word, slots, entries, seen, shift):  # type: ignore[no-untyped-def]
    """Characters in lines of text[begin:stop] that have words and equal an earlier one."""
    bits, count, duplicate = cleared(slots, 32), 0, 0
    at = begin
    while at <= stop:
        end, after = next_cut(text, at, stop, 0)
        next_word = first_word_from(starts, word, last_word, end - begin)
        if next_word > word and seen[outline(text, at, end) >> shift] > 1:
            number, bits, count = put(slots, entries, bits, count, hash_of(text, at, end))
            if times(entries, number) > 1:
                duplicate += characters(text, at, end)
        word = next_word
        at = after
    return duplicate


@njit(cache=True, nogil=True)
def _count(data, offsets, words, short_length, blank_lines, end_table, scratch, out):  # type: ignore[no-untyped-def]
    start_array, word_offsets = words
    slot_array, entry_array, seen_array, copy_array = scratch
    starts, copy = pointer(start_array), pointer(copy_array)
    slots, entries, seen = pointer(slot_array), pointer(entry_array), pointer(seen_array)
    end_pages, end_cells = pointer(end_table[0]), pointer(end_table[1])
    for index in range(offsets.size - 1):
        begin, size = offsets[index], offsets[index + 1] - offsets[index]
        text = pointer(data)
        if begin + size + BEYOND > data.size:
            copy_bytes(copy, 0, text, begin, size)
            text, begin = copy, np.int64(0)
        stop = begin + size
        first_word, last_word = word_offsets[index], word_offsets[index + 1]
        lines, ended, short, newlines, alike = 0, 0, 0, -1, 0
        shift = filter_cleared(seen, size // 16)
        at, word = begin, first_word
        while at <= stop:
            end, after = next_cut(text, at, stop, 0)
            newlines += 1
            next_word = first_word_from(starts, word, last_word, end - begin)
            if next_word > word:
                place = outline(text, at, end) >> shift
                alike += seen[place]
                note(seen, place)
            if next_word > word or blank_lines:
                lines += 1
                if end - at <= short_length:
                    short += 1
                elif end - at <= 4 * short_length:
                    short += characters(text, at, end) <= short_length
                if end > at:
                    last = start_before(text, end, at)
                    ended += lookup(end_pages, end_cells, decode(text, last, end)[0])
            word = next_word
            at = after
        if alike:
            out[index, DUPLICATE] = _duplicate_characters(
                text, begin, stop, starts, first_word, last_word, slots, entries, seen, shift
            )
        out[index, LINES] = lines
        out[index, ENDED] = ended
        out[index, SHORT] = short
        out[index, CHARACTERS] = characters(text, begin, stop) - newlines
        out[index, NEWLINES] = newlines
        out[index, WORDS] = last_word - first_word
