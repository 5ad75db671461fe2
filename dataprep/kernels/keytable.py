"""64-bit keys numbered 1, 2, ... as they first come, with how often each came: an open-addressing table that
serves one text after another and costs in proportion to what is put into it.

Keys are hashes, so two different things may share one: among k different things of one text that happens with
probability k^2 / 2^65 (for 100,000 about 3 in 10^10). Functions over pointers; the arrays come from
`table_arrays`, are allocated once and touched only as far as they are used.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

FACTOR, MIX = np.uint64(0xD6E8FEB86659FD93), np.uint64(0xFF51AFD7ED558CCD)
FIRST_BITS, MOST_FIRST_BITS, GROWTH_BITS = 6, 20, 2
"""A table begins with four slots for each key, but with 2^6 to 2^20 of them, and grows fourfold when half
full."""


def table_arrays(most_keys: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
    """(slots, entries) for tables of up to that many different keys."""
    bits = max(MOST_FIRST_BITS, (2 * most_keys).bit_length() + GROWTH_BITS - 1)
    return np.empty(1 << bits, dtype=np.int32), np.empty(2 * (most_keys + 1), dtype=np.uint64)


@njit(inline="always")
def mixed(key):  # type: ignore[no-untyped-def]
    """A bijection of uint64 after which every bit depends on every bit."""
    key = (key ^ (key >> np.uint64(32))) * MIX
    return key ^ (key >> np.uint64(29))


@njit(cache=True, nogil=True)
def cleared(slots, keys):  # type: ignore[no-untyped-def]
    """Empties the table for about so many keys; the bits of its size."""
    bits = FIRST_BITS
    while bits < MOST_FIRST_BITS and (1 << bits) < 4 * keys:
        bits += 1
    for slot in range(1 << bits):
        slots[slot] = 0
    return bits


@njit(cache=True, nogil=True)
def _grown(slots, entries, bits, count):  # type: ignore[no-untyped-def]
    bits += GROWTH_BITS
    for slot in range(1 << bits):
        slots[slot] = 0
    for number in range(1, count + 1):
        slot = np.int64((entries[2 * number] * FACTOR) >> np.uint64(64 - bits))
        while slots[slot]:
            slot = (slot + 1) & ((1 << bits) - 1)
        slots[slot] = number
    return bits


@njit(cache=True, nogil=True, forceinline=True)
def put(slots, entries, bits, count, key):  # type: ignore[no-untyped-def]
    """(number of the key, bits, count) after the key came once more. `count`: different keys so far."""
    if 2 * count >= 1 << bits:
        bits = _grown(slots, entries, bits, count)
    slot = np.int64((key * FACTOR) >> np.uint64(64 - bits))
    while True:
        number = np.int64(slots[slot])
        if number == 0:
            count += 1
            slots[slot] = count
            entries[2 * count], entries[2 * count + 1] = key, np.uint64(1)
            return count, bits, count
        if entries[2 * number] == key:
            entries[2 * number + 1] += np.uint64(1)
            return number, bits, count
        slot = (slot + 1) & ((1 << bits) - 1)


@njit(inline="always")
def times(entries, number):  # type: ignore[no-untyped-def]
    """How often the key of that number came."""
    return np.int64(entries[2 * np.int64(number) + 1])


@njit(cache=True, nogil=True)
def filter_cleared(seen, places):  # type: ignore[no-untyped-def]
    """Empties the first bytes of `seen`, a power of two of about so many; how far to shift a hash for it.

    A cheap first look: `seen[hash >> shift]` is above 1 after `note` saw that hash twice, and seldom else, so
    that most of what comes once never reaches the table.
    """
    bits = 8
    while bits < MOST_FIRST_BITS and (1 << bits) < places:
        bits += 1
    for place in range(1 << bits):
        seen[place] = 0
    return np.uint64(64 - bits)


@njit(inline="always")
def note(seen, place):  # type: ignore[no-untyped-def]
    seen[place] = (seen[place] << 1) | 1


FILTER_BYTES = 1 << MOST_FIRST_BITS
