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
FEWEST_SLOTS = 64
SHIFT, ONE, ZERO = np.uint64(32), np.uint64(1), np.uint64(0)


def fineweb_counts(
    data: Bytes, offsets: Offsets, stop_characters: Iterable[str], short_line_length: int, blank_lines: bool
) -> npt.NDArray[np.int64]:
    """int64[n, 7], columns as in COUNTS. `blank_lines`: whether `lines` and what is counted of them include
    lines of white space alone."""
    return _counts(
        read_only(data),
        read_only(offsets),
        short_line_length,
        blank_lines,
        *member_table(frozenset(stop_characters)),
        *character_table(),
        ascii_kinds(),
    )


@njit(cache=True, nogil=True)
def _hash(text, start, stop):  # type: ignore[no-untyped-def]
    """A hash of text[start:stop], never 0, for a table in memory only."""
    size = stop - start
    state, other = np.uint64(size) * M1, M2
    at = start
    while at + 16 <= stop:  # two at a time, since each waits for its product
        state = (state ^ load64(text, at)) * M2
        other = (other ^ load64(text, at + 8)) * M1
        state ^= state >> SHIFT
        other ^= other >> SHIFT
        at += 16
    state ^= other * M2
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
def _slot_of(text, start, stop, value, hashes, lines, mask):  # type: ignore[no-untyped-def]
    """The slot of a line in the table: where an equal one is, or an empty one."""
    slot = np.int64(value >> SHIFT) & mask
    while hashes[slot]:
        first, last = lines[slot, 0], lines[slot, 1]
        same = hashes[slot] == value and last - first == stop - start
        if same and same_bytes(text, first, text, start, stop - start):
            break
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _grown(hashes, lines, slots):  # type: ignore[no-untyped-def]
    """The table, which has so many slots in use, with twice as many."""
    new_hashes = np.zeros(2 * slots, dtype=np.uint64)
    new_lines = np.empty((2 * slots, 2), dtype=np.int64)
    for old in range(slots):
        if hashes[old]:
            slot = np.int64(hashes[old] >> SHIFT) & (2 * slots - 1)
            while new_hashes[slot]:
                slot = (slot + 1) & (2 * slots - 1)
            new_hashes[slot] = hashes[old]
            new_lines[slot, 0], new_lines[slot, 1] = lines[old, 0], lines[old, 1]
    return new_hashes, new_lines


@njit(cache=True, nogil=True)
def _counts(  # type: ignore[no-untyped-def]
    data,
    offsets,
    short_length,
    blank_lines,
    end_page_array,
    end_cell_array,
    page_array,
    cell_array,
    kind_array,
):
    text, kinds = pointer(data), pointer(kind_array)
    pages, cells = pointer(page_array), pointer(cell_array)
    end_pages, end_cells = pointer(end_page_array), pointer(end_cell_array)
    counts = np.zeros((offsets.size - 1, 7), dtype=np.int64)
    # Lines seen so far, by hash, with linear probing; 0 is an empty slot. At most half full.
    hashes = np.zeros(FEWEST_SLOTS, dtype=np.uint64)
    seen = np.empty((FEWEST_SLOTS, 2), dtype=np.int64)
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        lines, ended, short, duplicate, newlines, words = 0, 0, 0, 0, 0, 0
        counts[index, CHARACTERS] = _characters(text, at, stop)
        slots, used = FEWEST_SLOTS, 0
        hashes[:slots] = ZERO
        more = True
        while more:
            end = find_byte(text, at, stop, 0x0A)
            more = end < stop
            newlines += more
            here = count_words(text, at, end, kinds, pages, cells)
            words += here
            if here or blank_lines:
                lines += 1
                size = end - at
                if size <= short_length:
                    short += 1
                elif size <= 4 * short_length:
                    short += _characters(text, at, end) <= short_length
                if size:
                    last = start_before(text, end, at)
                    ended += lookup(end_pages, end_cells, decode(text, last, end)[0])
            if here:
                value = _hash(text, at, end)
                slot = _slot_of(text, at, end, value, hashes, seen, slots - 1)
                if hashes[slot]:
                    duplicate += _characters(text, at, end)
                else:
                    hashes[slot] = value
                    seen[slot, 0], seen[slot, 1] = at, end
                    used += 1
                    if 2 * used > slots:
                        hashes, seen = _grown(hashes, seen, slots)
                        slots *= 2
            at = end + 1
        counts[index, LINES] = lines
        counts[index, ENDED] = ended
        counts[index, SHORT] = short
        counts[index, DUPLICATE] = duplicate
        counts[index, CHARACTERS] -= newlines
        counts[index, NEWLINES] = newlines
        counts[index, WORDS] = words
    return counts
