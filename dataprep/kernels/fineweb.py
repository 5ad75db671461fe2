"""The counts behind FineWeb's quality rules, in one walk over each text. Lines end at "\\n" alone; words are
those of `kernels/words.py`.

Counts only: thresholds and ratios are in `dataprep/steps/fineweb_quality.py`. Equal lines are found by a hash
and compared byte by byte. Slow twin: `tests/reference/fineweb.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.characters import character_table
from dataprep.kernels.cuts import start_before
from dataprep.kernels.linebreaks import find_byte, same_bytes
from dataprep.kernels.marks import member_table
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import decode, load64, lookup, pointer, read_only
from dataprep.kernels.word_counts import ascii_kinds, count_words

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

M1, M2 = np.uint64(0x9FB21C651E98DF25), np.uint64(0xC2B2AE3D27D4EB4F)
SHIFT, ONE, ZERO = np.uint64(32), np.uint64(1), np.uint64(0)


def fineweb_counts(
    data: Bytes, offsets: Offsets, stop_characters: Iterable[str], short_line_length: int, blank_lines: bool
) -> npt.NDArray[np.int64]:
    """int64[n, 7], columns as in COUNTS. `blank_lines`: whether `lines` and what is counted of them include
    lines of white space alone."""
    data, offsets = read_only(data), read_only(offsets)
    counts, most_lines = _sizes(data, offsets)
    slots = _slots(most_lines)
    _count(
        data,
        offsets,
        short_line_length,
        blank_lines,
        *member_table(frozenset(stop_characters)),
        *character_table(),
        ascii_kinds(),
        np.empty(slots, dtype=np.uint64),
        np.empty(slots, dtype=np.int64),
        np.empty(slots, dtype=np.int64),
        counts,
    )
    return counts


@njit(cache=True, nogil=True)
def _slots(lines):  # type: ignore[no-untyped-def]
    """Room for so many lines in a table that is at most half full: a power of two."""
    slots = 1
    while slots < 2 * lines:
        slots *= 2
    return slots


@njit(cache=True, nogil=True)
def _sizes(data, offsets):  # type: ignore[no-untyped-def]
    """(counts with NEWLINES and CHARACTERS filled in, lines of the text that has most)."""
    text = pointer(data)
    counts = np.zeros((offsets.size - 1, 7), dtype=np.int64)
    most = 0
    for index in range(offsets.size - 1):
        newlines, at, stop = 0, offsets[index], offsets[index + 1]
        for place in range(at, stop):
            newlines += text[place] == 0x0A
        counts[index, NEWLINES] = newlines
        counts[index, CHARACTERS] = _characters(text, at, stop) - newlines
        most = max(most, newlines + 1)
    return counts, most


@njit(cache=True, nogil=True)
def _hash(text, start, stop):  # type: ignore[no-untyped-def]
    """A hash of text[start:stop], never 0, for a table in memory only."""
    size = stop - start
    state = np.uint64(size) * M1
    at = start
    while at + 8 <= stop:
        state = (state ^ load64(text, at)) * M2
        state ^= state >> SHIFT
        at += 8
    tail = ZERO
    if at < stop:
        if size >= 8:
            tail = load64(text, stop - 8)
        else:
            for place in range(at, stop):
                tail |= np.uint64(text[place]) << np.uint64(8 * (place - at))
    state = (state ^ tail) * M1
    state ^= state >> SHIFT
    return (state * M2) | ONE


@njit(cache=True, nogil=True)
def _characters(text, start, stop):  # type: ignore[no-untyped-def]
    count = 0
    for at in range(start, stop):
        count += text[at] & 0xC0 != 0x80
    return count


@njit(cache=True, nogil=True)
def _seen_before(text, start, stop, hashes, starts, stops, mask):  # type: ignore[no-untyped-def]
    """Whether an equal line is in the table; adds the line if not."""
    value = _hash(text, start, stop)
    slot = np.int64(value >> SHIFT) & mask
    while hashes[slot]:
        same = hashes[slot] == value and stops[slot] - starts[slot] == stop - start
        if same and same_bytes(text, starts[slot], text, start, stop - start):
            return True
        slot = (slot + 1) & mask
    hashes[slot], starts[slot], stops[slot] = value, start, stop
    return False


@njit(cache=True, nogil=True)
def _count(  # type: ignore[no-untyped-def]
    data,
    offsets,
    short_length,
    blank_lines,
    end_page_array,
    end_cell_array,
    page_array,
    cell_array,
    kind_array,
    hash_array,
    start_array,
    stop_array,
    counts,
):
    text, kinds = pointer(data), pointer(kind_array)
    pages, cells = pointer(page_array), pointer(cell_array)
    end_pages, end_cells = pointer(end_page_array), pointer(end_cell_array)
    hashes, starts, stops = pointer(hash_array), pointer(start_array), pointer(stop_array)
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        lines, ended, short, duplicate, words = 0, 0, 0, 0, 0
        slots = _slots(counts[index, NEWLINES] + 1)
        for slot in range(slots):
            hashes[slot] = ZERO
        line_start = at
        more = True
        while more:
            line_stop = find_byte(text, at, stop, 0x0A)
            more = line_stop < stop
            here = count_words(text, at, line_stop, kinds, pages, cells)
            words += here
            if here or blank_lines:
                lines += 1
                size = line_stop - line_start
                if size <= short_length:
                    short += 1
                elif size <= 4 * short_length:
                    short += _characters(text, line_start, line_stop) <= short_length
                if size:
                    last = start_before(text, line_stop, line_start)
                    ended += lookup(end_pages, end_cells, decode(text, last, line_stop)[0])
                if here and _seen_before(text, line_start, line_stop, hashes, starts, stops, slots - 1):
                    duplicate += _characters(text, line_start, line_stop)
            at = line_start = line_stop + 1
        counts[index, LINES] = lines
        counts[index, ENDED] = ended
        counts[index, SHORT] = short
        counts[index, DUPLICATE] = duplicate
        counts[index, WORDS] = words
