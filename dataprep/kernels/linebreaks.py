"""Where lines end: as `str.splitlines` cuts, or at "\\n" alone. Many bytes at a time, over pointers."""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.masks import byte_set, equal_bytes
from dataprep.kernels.utf8 import load64, trailing_zeros

HIGH = np.uint64(0x8080808080808080)
LOW = np.uint64(0x0101010101010101)
SPACES, C2, E2 = LOW * np.uint64(0x20), LOW * np.uint64(0xC2), LOW * np.uint64(0xE2)
NEWLINES = LOW * np.uint64(0x0A)
may_break = byte_set((0x0A, 0x0D), (0x1C, 0x1E), (0xC2, 0xC2), (0xE2, 0xE2))


@njit(inline="always")
def zero_bytes(word):  # type: ignore[no-untyped-def]
    """The high bit of each byte that is zero; those above the lowest one may be wrong."""
    return (word - LOW) & ~word & HIGH


@njit(cache=True, nogil=True, forceinline=True)
def find_byte(text, at, stop, byte):  # type: ignore[no-untyped-def]
    """The first place from `at` on with that byte, or `stop`."""
    pattern = LOW * np.uint64(byte)
    while at + 64 <= stop:
        same = equal_bytes(text, at, np.uint8(byte))
        if same:
            return at + trailing_zeros(same)
        at += 64
    while at + 8 <= stop:
        found = zero_bytes(load64(text, at) ^ pattern)
        if found:
            return at + (trailing_zeros(found) >> 3)
        at += 8
    while at < stop and text[at] != byte:
        at += 1
    return at


@njit(cache=True, nogil=True)
def same_bytes(one, at, other, place, size):  # type: ignore[no-untyped-def]
    """Whether one[at : at + size] and other[place : place + size] are equal."""
    stop = at + size
    while at + 8 <= stop:
        if load64(one, at) != load64(other, place):
            return False
        at += 8
        place += 8
    while at < stop:
        if one[at] != other[place]:
            return False
        at += 1
        place += 1
    return True


@njit(cache=True, nogil=True, forceinline=True)
def break_size(text, at, stop):  # type: ignore[no-untyped-def]
    """Bytes of the line break of `str.splitlines` at `at` < `stop`, 0 if there is none."""
    byte = text[at]
    if byte < 0x20:
        if byte == 0x0D:
            return 2 if at + 1 < stop and text[at + 1] == 0x0A else 1
        return 1 if 0x0A <= byte <= 0x0C or 0x1C <= byte <= 0x1E else 0
    if byte == 0xC2:
        return 2 if at + 1 < stop and text[at + 1] == 0x85 else 0
    if byte == 0xE2 and at + 2 < stop and text[at + 1] == 0x80:
        return 3 if text[at + 2] == 0xA8 or text[at + 2] == 0xA9 else 0
    return 0


@njit(cache=True, nogil=True)
def line_end(text, at, stop):  # type: ignore[no-untyped-def]
    """The first place from `at` on where `str.splitlines` cuts, or `stop`."""
    while at < stop:
        if at + 64 <= stop:
            places = may_break(text, at)
            if not places:
                at += 64
                continue
            at += trailing_zeros(places)
        elif at + 8 <= stop:
            word = load64(text, at)
            found = (word - SPACES) & ~word & HIGH  # a byte below 0x20; as exact as zero_bytes
            found |= zero_bytes(word ^ C2) | zero_bytes(word ^ E2)
            if not found:
                at += 8
                continue
            at += trailing_zeros(found) >> 3
        if break_size(text, at, stop):
            return at
        at += 1
    return stop
