"""Band records cut into partitions by key, and the few of a partition whose key may come twice.

What a record is and how partitions are used is in `dataprep/decide/partitions.py`. Slow twin:
`tests/reference/partitions.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.utf8 import read_only

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

HALF = np.uint64(32)
BAND_BITS = 8
BAND = np.uint64((1 << BAND_BITS) - 1)
"""Bits of a key that name its band; all of them set in the key of a whole signature."""

SLOTS_OF_A_KEY = 8
DIGIT_BITS = 11


def scattered(keys: Keys, ranks: Int64s, whole: Keys, num_partitions: int) -> tuple[Keys, Int64s]:
    """(records uint64[n * k, 3]: key, rank, whole; offsets int64[num_partitions + 1]), by partition.

    keys  uint64[n, k]; partition p holds the p-th of equal ranges of the high 32 bits of the key
    """
    records = np.empty((keys.size, 3), dtype=np.uint64)
    offsets = np.zeros(num_partitions + 1, dtype=np.int64)
    flat = np.ascontiguousarray(keys)
    _scatter(read_only(flat), read_only(ranks), read_only(whole), np.uint64(num_partitions), offsets, records)
    return records, offsets


def maybe_repeated(keys: Keys) -> npt.NDArray[np.bool_]:
    """bool[m]: every key that comes more than once, and about one in nine of the others.

    Most keys come once, and to sort those is most of the work that there would be. A slot for each eight of a
    key's values; whoever finds its slot taken, and whoever took it, may be repeated.
    """
    bits = max(6, int(keys.size * SLOTS_OF_A_KEY).bit_length())
    once, again = np.zeros((2, 1 << (bits - 6)), dtype=np.uint64)
    repeated = np.empty(keys.size, dtype=np.bool_)
    _repeated(read_only(keys), np.uint64((1 << bits) - 1), once, again, repeated)
    return repeated


def order_of(values: Keys) -> Int64s:
    """int64[m]: the stable order that sorts the values, by radix: a third of the time of a sort by
    comparison."""
    first, second = np.arange(values.size), np.empty(values.size, dtype=np.int64)
    return first if _sort(values.copy(), first, np.empty_like(values), second) else second


@njit(cache=True, nogil=True)
def _scatter(keys, ranks, whole, num_partitions, offsets, records):  # type: ignore[no-untyped-def]
    for index in range(keys.shape[0]):
        for band in range(keys.shape[1]):
            offsets[np.int64((keys[index, band] >> HALF) * num_partitions >> HALF) + 1] += 1
    for partition in range(1, offsets.size):
        offsets[partition] += offsets[partition - 1]
    places = offsets.copy()
    for index in range(keys.shape[0]):
        for band in range(keys.shape[1]):
            partition = np.int64((keys[index, band] >> HALF) * num_partitions >> HALF)
            place = places[partition]
            records[place, 0] = keys[index, band]
            records[place, 1] = np.uint64(ranks[index])
            records[place, 2] = whole[index]
            places[partition] = place + 1


@njit(cache=True, nogil=True)
def _repeated(keys, mask, once, again, repeated):  # type: ignore[no-untyped-def]
    for index in range(keys.size):
        slot = keys[index] >> np.uint64(BAND_BITS) & mask
        word, bit = np.int64(slot >> np.uint64(6)), np.uint64(1) << (slot & np.uint64(63))
        again[word] |= once[word] & bit
        once[word] |= bit
    for index in range(keys.size):
        slot = keys[index] >> np.uint64(BAND_BITS) & mask
        repeated[index] = again[slot >> np.uint64(6)] >> (slot & np.uint64(63)) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def _sort(values, order, more_values, more_order):  # type: ignore[no-untyped-def]
    """Sort both by the values; whether the result is in the first two arrays."""
    digits, in_first = -(-64 // DIGIT_BITS), True
    mask = np.uint64((1 << DIGIT_BITS) - 1)
    counts = np.zeros((digits, 1 << DIGIT_BITS), dtype=np.int64)
    for index in range(values.size):
        for digit in range(digits):
            counts[digit, values[index] >> np.uint64(digit * DIGIT_BITS) & mask] += 1
    for digit in range(digits):
        shift, total = np.uint64(digit * DIGIT_BITS), 0
        if counts[digit].max() == values.size:
            continue  # all alike
        for each in range(counts.shape[1]):
            total, counts[digit, each] = total + counts[digit, each], total
        for index in range(values.size):
            value = values[index]
            place = counts[digit, value >> shift & mask]
            counts[digit, value >> shift & mask] = place + 1
            more_values[place], more_order[place] = value, order[index]
        values, more_values = more_values, values
        order, more_order = more_order, order
        in_first = not in_first
    return in_first
