"""Which n-grams of words stand in a fixed set of millions: the set as flat arrays, and the look-up.

The hash of an n-gram is a polynomial in the keys of its words, so the next one costs two multiplications; an
n-gram with a hole, where any word may stand, is the same without that word's term. A look-up asks one bit of
a coarse filter that stays in the processor's cache, then two bits of a Bloom filter (about one stranger in
fifty passes both), then an open-addressing table of 64-bit hashes. Two different n-grams count as one about
once in 2^64 pairs; nothing compares their words.

Slow twin: `tests/reference/contamination.py`. What is made of the hits: `kernels/overlaps.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.keytable import mixed
from dataprep.kernels.texts import Offsets
from dataprep.kernels.utf8 import read_only
from dataprep.kernels.word_keys import Keys

FACTOR = np.uint64(0x9E3779B97F4A7C15)
ONE, SIX, TWELVE, LOW_6 = np.uint64(1), np.uint64(6), np.uint64(12), np.uint64(63)
NO_GRAM = NO_HOLE = -1
HOLES = (2, 4, 6)
"""Places of the holes that are looked for, in n-grams of one word more."""

MOST_COARSE_BITS = 17


class GramTable(NamedTuple):
    """The n-grams of a set.

    keys    uint64 [g]: their hashes, ascending; the number of an n-gram is its place here
    slots   int32 [2^k]: open addressing with linear steps, at most half full; NO_GRAM where free
    filter  uint64 [2^j]: the Bloom filter, 16 bits or more an n-gram
    coarse  uint64 [2^i]: the coarse filter, at most a megabyte
    """

    keys: Keys
    slots: npt.NDArray[np.int32]
    filter: Keys
    coarse: Keys


def gram_hashes(
    keys: Keys, word_offsets: Offsets, size: int, hole: int = NO_HOLE
) -> tuple[Keys, npt.NDArray[np.bool_]]:
    """(hashes uint64[m], whole bool[m]) of the n-gram that begins at each word of each text; where it would
    reach past the text there is none, and 0.

    hole  place of a word in the n-gram that may be any; NO_HOLE for none
    """
    hashes = np.zeros(keys.size, dtype=np.uint64)
    whole = np.zeros(keys.size, dtype=np.bool_)
    _gram_hashes(read_only(keys), read_only(word_offsets), size, hole, hashes, whole)
    return hashes, whole


def gram_table(hashes: Keys) -> GramTable:
    """The table of distinct hashes, given in ascending order."""
    count = hashes.size
    slots = np.full(1 << max(4, (2 * count).bit_length()), NO_GRAM, dtype=np.int32)
    bits = np.zeros(1 << max(4, (count >> 2).bit_length()), dtype=np.uint64)
    coarse = np.zeros(1 << min(MOST_COARSE_BITS, max(4, (count >> 3).bit_length())), dtype=np.uint64)
    _fill(read_only(hashes), slots, bits, coarse)
    return GramTable(hashes, slots, bits, coarse)


@njit(inline="always")
def power(size):  # type: ignore[no-untyped-def]
    """What the key of the word that leaves an n-gram is multiplied with."""
    value = ONE
    for _ in range(size - 1):
        value *= FACTOR
    return value


@njit(inline="always")
def hole_power(size, hole):  # type: ignore[no-untyped-def]
    """What the key of the word in the hole is multiplied with; 0 without one."""
    return power(size - hole) if hole >= 0 else np.uint64(0)


@njit(inline="always")
def filter_bits(hashed):  # type: ignore[no-untyped-def]
    return (ONE << (hashed & LOW_6)) | (ONE << ((hashed >> SIX) & LOW_6))


@njit(inline="always")
def filter_place(hashed, filter_shift):  # type: ignore[no-untyped-def]
    return np.int64(hashed >> filter_shift)


@njit(inline="always")
def coarse_bit(hashed):  # type: ignore[no-untyped-def]
    return ONE << ((hashed >> TWELVE) & LOW_6)


@njit(inline="always")
def first_slot(hashed, mask):  # type: ignore[no-untyped-def]
    return np.int64(hashed >> TWELVE) & mask


@njit(cache=True, nogil=True)
def filter_shift(size):  # type: ignore[no-untyped-def]
    """How far to shift a hash for a filter of `size` words, a power of two."""
    bits = 0
    while (1 << bits) < size:
        bits += 1
    return np.uint64(64 - bits)


@njit(cache=True, nogil=True, forceinline=True)
def number_of(hashed, keys, slots, mask):  # type: ignore[no-untyped-def]
    """The number of the n-gram with that hash, or NO_GRAM."""
    slot = first_slot(hashed, mask)
    while slots[slot] != NO_GRAM:
        if keys[slots[slot]] == hashed:
            return np.int64(slots[slot])
        slot = (slot + 1) & mask
    return np.int64(NO_GRAM)


@njit(cache=True, nogil=True)
def _gram_hashes(keys, word_offsets, size, hole, hashes, whole):  # type: ignore[no-untyped-def]
    out_factor, hole_factor = power(size), hole_power(size, hole)
    for index in range(word_offsets.size - 1):
        rolling = np.uint64(0)
        for word in range(word_offsets[index], word_offsets[index + 1]):
            first = word - size + 1
            rolling = rolling * FACTOR + keys[word]
            if first >= word_offsets[index]:
                hashes[first] = mixed(rolling - keys[first + max(0, hole)] * hole_factor)
                whole[first] = True
                rolling -= keys[first] * out_factor


@njit(cache=True, nogil=True)
def _fill(hashes, slots, bits, coarse):  # type: ignore[no-untyped-def]
    mask, shift, coarse_shift = slots.size - 1, filter_shift(bits.size), filter_shift(coarse.size)
    for number in range(hashes.size):
        hashed = hashes[number]
        slot = first_slot(hashed, mask)
        while slots[slot] != NO_GRAM:
            slot = (slot + 1) & mask
        slots[slot] = number
        bits[filter_place(hashed, shift)] |= filter_bits(hashed)
        coarse[filter_place(hashed, coarse_shift)] |= coarse_bit(hashed)


@njit(cache=True, nogil=True)
def grams_of(keys, count, size, table, places, numbers):  # type: ignore[no-untyped-def]
    """Which n-grams of `count` words are in the table: `places` gets the first word, `numbers` the number of
    each, in order; how many. Both have room for `count`."""
    coarse, coarse_shift = table[5], table[6]
    out_factor = power(size)
    rolling, found = np.uint64(0), 0
    for word in range(min(count, size - 1)):
        rolling = rolling * FACTOR + keys[word]
    for word in range(size - 1, count):
        first = word - size + 1
        rolling = rolling * FACTOR + keys[word]
        hashed = mixed(rolling)
        rolling -= keys[first] * out_factor
        # Most are written over: a branch here would be foreseen wrongly, and no load is waited for.
        places[found], numbers[found] = first, np.int64(hashed)
        found += coarse[filter_place(hashed, coarse_shift)] & coarse_bit(hashed) != 0
    return _confirmed(found, table, places, numbers)


@njit(cache=True, nogil=True)
def holed_grams_of(keys, count, size, table, places, numbers):  # type: ignore[no-untyped-def]
    """The same for n-grams of `size` words with a hole: `places` gets the first word times four and the
    number of the hole in HOLES. Both have room for `count` times their number."""
    coarse, coarse_shift = table[5], table[6]
    out_factor = power(size)
    factor_0, factor_1, factor_2 = power(size - HOLES[0]), power(size - HOLES[1]), power(size - HOLES[2])
    rolling, found = np.uint64(0), 0
    for word in range(min(count, size - 1)):
        rolling = rolling * FACTOR + keys[word]
    for word in range(size - 1, count):
        first = word - size + 1
        rolling = rolling * FACTOR + keys[word]
        hash_0 = mixed(rolling - keys[first + HOLES[0]] * factor_0)
        hash_1 = mixed(rolling - keys[first + HOLES[1]] * factor_1)
        hash_2 = mixed(rolling - keys[first + HOLES[2]] * factor_2)
        rolling -= keys[first] * out_factor
        places[found], numbers[found] = 4 * first, np.int64(hash_0)
        found += coarse[filter_place(hash_0, coarse_shift)] & coarse_bit(hash_0) != 0
        places[found], numbers[found] = 4 * first + 1, np.int64(hash_1)
        found += coarse[filter_place(hash_1, coarse_shift)] & coarse_bit(hash_1) != 0
        places[found], numbers[found] = 4 * first + 2, np.int64(hash_2)
        found += coarse[filter_place(hash_2, coarse_shift)] & coarse_bit(hash_2) != 0
    return _confirmed(found, table, places, numbers)


@njit(cache=True, nogil=True)
def _confirmed(found, table, places, numbers):  # type: ignore[no-untyped-def]
    """Of `found` places, with hashes in `numbers`, those that are in the table, with their numbers."""
    keys, slots, mask, bits, shift, _, _ = table
    left = 0
    for index in range(found):
        hashed = np.uint64(numbers[index])
        wanted = filter_bits(hashed)
        places[left], numbers[left] = places[index], numbers[index]
        left += (bits[filter_place(hashed, shift)] & wanted) == wanted
    kept = 0
    for index in range(left):
        number = number_of(np.uint64(numbers[index]), keys, slots, mask)
        if number != NO_GRAM:
            places[kept], numbers[kept] = places[index], number
            kept += 1
    return kept
