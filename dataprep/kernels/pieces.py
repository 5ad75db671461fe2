"""Equal lines and paragraphs of a text: pieces between line feeds, equal byte by byte.

Two walks: the first notes each piece by its size, first and last bytes; the second hashes only pieces that
another may equal. Pointers must be readable for BEYOND bytes beyond the text. Slow twin:
`tests/reference/repetition.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.keytable import FACTOR, MIX, cleared, filter_cleared, mixed, note, put, times
from dataprep.kernels.masks import EVERY, bytes_of, first_bits
from dataprep.kernels.utf8 import load64, trailing_zeros

ONE, SIZES = np.uint64(1), np.uint64(0xC2B2AE3D27D4EB4F)
BEYOND = 64
"""Bytes that kernels may read beyond a text."""
line_feeds = bytes_of("\n")


@njit(cache=True, nogil=True)
def characters(text, at, stop):  # type: ignore[no-untyped-def]
    """Code points of text[at:stop]."""
    count = 0
    for place in range(at, stop):
        count += text[place] & 0xC0 != 0x80
    return count


@njit(cache=True, nogil=True)
def hash_of(text, at, stop):  # type: ignore[no-untyped-def]
    """64-bit hash of text[at:stop] for a table in memory only; may read 7 bytes beyond."""
    state = np.uint64(stop - at) * SIZES
    if stop - at >= 32:  # four at a time, which do not wait for each other
        second, third, fourth = state + FACTOR, state + MIX, ~state
        while at + 32 <= stop:
            state = (state ^ load64(text, at)) * FACTOR
            second = (second ^ load64(text, at + 8)) * FACTOR
            third = (third ^ load64(text, at + 16)) * FACTOR
            fourth = (fourth ^ load64(text, at + 24)) * FACTOR
            state ^= state >> np.uint64(32)
            second ^= second >> np.uint64(32)
            third ^= third >> np.uint64(32)
            fourth ^= fourth >> np.uint64(32)
            at += 32
        state = mixed(mixed(mixed(state + second) + third) + fourth)
    while at < stop:
        here = load64(text, at)
        if at + 8 > stop:
            here &= EVERY >> np.uint64(64 - 8 * (stop - at))
        state = (state ^ here) * FACTOR
        state ^= state >> np.uint64(32)
        at += 8
    return mixed(state)


@njit(cache=True, nogil=True, forceinline=True)
def outline(text, at, stop):  # type: ignore[no-untyped-def]
    """A hash of the size, the first and the last eight bytes."""
    size = stop - at
    first = load64(text, at)
    if size >= 8:
        first ^= load64(text, stop - 8) * MIX
    else:
        first &= first_bits(8 * size)
    return ((first * FACTOR) ^ np.uint64(size)) * SIZES


@njit(cache=True, nogil=True)
def next_cut(text, at, stop, least):  # type: ignore[no-untyped-def]
    """(end of the piece at `at`, where the next one begins): the next `least` or more line feeds in a row, or
    for 0 the next one alone; (stop, stop + 1) if there is none."""
    while at < stop:
        found = line_feeds(text, at) & first_bits(stop - at)
        if found == 0:
            at += 64
            continue
        at += trailing_zeros(found)
        end = at + 1
        while least and end < stop and text[end] == 0x0A:
            end += 1
        if end - at >= least:
            return at, end
        at = end
    return stop, stop + 1


@njit(cache=True, nogil=True)
def duplicate_pieces(text, start, stop, least, all_of_them, slots, entries, seen):  # type: ignore[no-untyped-def]
    """(pieces, duplicates, characters in them) of text[start:stop] cut at `least` or more line feeds in a row
    (0: at each one). Duplicates are the pieces that equal an earlier one, and the earlier one too if
    `all_of_them`."""
    shift = filter_cleared(seen, (stop - start) // 16)
    pieces, alike, at = 0, 0, start
    while at <= stop:
        end, after = next_cut(text, at, stop, least)
        place = outline(text, at, end) >> shift
        alike += seen[place]
        note(seen, place)
        pieces += 1
        at = after
    if alike == 0:
        return pieces, 0, 0
    bits, count, duplicates, in_them = cleared(slots, 32), 0, 0, 0
    at = start
    while at <= stop:
        end, after = next_cut(text, at, stop, least)
        if seen[outline(text, at, end) >> shift] > 1:
            number, bits, count = put(slots, entries, bits, count, hash_of(text, at, end))
            come = times(entries, number)
            if come > 1:
                new = 2 if all_of_them and come == 2 else 1
                duplicates += new
                in_them += new * characters(text, at, end)
        at = after
    return pieces, duplicates, in_them
