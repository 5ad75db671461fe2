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
