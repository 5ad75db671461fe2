"""Keyed permutations of [0, size) that need no memory, with their exact inverse: the shuffle of blocks.

    permutation_key(seed, purpose, source, epoch)   which permutation
    Permutation(size, key)                          index -> shuffled index, and back
    block_order(size, key, extent)                  the same, but neighbours stay within large ranges

Up to SORT_LIMIT entries the order is an explicit sort by a keyed hash (a Feistel network on so few bits is
uneven); above it a Feistel network on the least number of bits that holds `size`, walked until it lands
inside (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002; fewer than two turns on average).
The round function is a full 64-bit mixer: weak ones (a multiply and an add) leave the low bits of the index
among themselves, and data with a period of 2^k then come out unshuffled.

Nothing here knows about sources, blocks or rows (`rows.py` does). Any change of a result needs a new
ORDER_VERSION, which golden rows pin, and must keep the old version readable.
"""

from __future__ import annotations

import hashlib
from typing import TypeVar

import numpy as np
import numpy.typing as npt

ORDER_VERSION = 1
"""Version of every order of this package: permutations, mixture, and the way they make rows."""

ROUNDS = 8
SORT_LIMIT = 1 << 16
SIZE_LIMIT = 1 << 62
GROUP_EXTENTS = 64
"""With extents: blocks are permuted within groups of this many extents."""

Index = TypeVar("Index", int, np.ndarray)
Words = npt.NDArray[np.uint64]


def permutation_key(seed: int, purpose: str, source: str, epoch: int) -> bytes:
    """32 bytes by BLAKE2b of the four fields, each framed by its length so that no two calls share a text."""
    state = hashlib.blake2b(digest_size=32, person=b"headrace-order")
    for field in (str(int(seed)), purpose, source, str(int(epoch))):
        data = field.encode("utf-8")
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.digest()


def derived_words(key: bytes, label: str, number: int) -> tuple[np.uint64, np.uint64]:
    """Two independent 64-bit words of a key, by BLAKE2b in keyed mode."""
    data = f"{label}:{number}".encode()
    digest = hashlib.blake2b(data, key=key, digest_size=16).digest()
    return np.uint64(int.from_bytes(digest[:8], "little")), np.uint64(int.from_bytes(digest[8:], "little"))


def mix(values: Words, first: np.uint64, second: np.uint64) -> Words:
    """A keyed bijection of 64-bit words in which every input bit reaches every output bit.

    Multiplications carry changes upwards, shifts carry them down; the constants are those of MurmurHash3's
    finaliser as improved by David Stafford (mix13). uint64 arithmetic wraps.
    """
    z = (values + first) * np.uint64(0x9E3779B97F4A7C15)
    z ^= z >> np.uint64(32)
    z += second
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def _check(index: np.ndarray, size: int) -> None:
    if len(index) and (int(index.min()) < 0 or int(index.max()) >= size):
        raise IndexError(f"index outside [0, {size})")


class Permutation:
    """The permutation of [0, size) that `key` names. Immutable; safe to use from several threads.

    forward and inverse take an int or an array of int64 or uint64 and return the same kind.
    Raises IndexError for an index outside [0, size), ValueError for a size outside [1, 2^62].
    """

    def __init__(self, size: int, key: bytes) -> None:
        if not 1 <= size <= SIZE_LIMIT:
            raise ValueError(f"a permutation has 1 to 2^62 entries, not {size}")
        self.size = size
        self._table: npt.NDArray[np.uint16] | None = None
        self._back: npt.NDArray[np.uint16] | None = None
        if size <= SORT_LIMIT:
            words = derived_words(key, "sort", 0)
            # `mix` is a bijection, so no two indices tie.
            order = np.argsort(mix(np.arange(size, dtype=np.uint64), *words))
            self._table = order.astype(np.uint16)
            self._back = np.empty_like(self._table)
            self._back[order] = np.arange(size, dtype=np.uint16)
            return
        bits = (size - 1).bit_length()
        self._low_bits = np.uint64(bits - bits // 2)  # the low half is the wider one when bits are odd
        self._high_bits = np.uint64(bits // 2)
        self._low_mask = np.uint64((1 << int(self._low_bits)) - 1)
        self._rounds = tuple(derived_words(key, "round", number) for number in range(ROUNDS))

    def forward(self, index: Index) -> Index:
        return self._apply(index, self._table, False)

    def inverse(self, index: Index) -> Index:
        return self._apply(index, self._back, True)

    def _apply(self, index: Index, table: npt.NDArray[np.uint16] | None, backwards: bool) -> Index:
        if not isinstance(index, np.ndarray):
            return int(self._apply(np.array([index], np.int64), table, backwards)[0])
        _check(index, self.size)
        if table is not None:
            return table[index.astype(np.intp)].astype(index.dtype)
        values = self._network(index.astype(np.uint64), backwards)
        outside = np.flatnonzero(values >= np.uint64(self.size))
        while len(outside):
            values[outside] = self._network(values[outside], backwards)
            outside = outside[values[outside] >= np.uint64(self.size)]
        return values.astype(index.dtype)

    def _network(self, values: Words, backwards: bool) -> Words:
        """One turn: the halves take turns in changing each other, so that they may differ in width."""
        high, low = values >> self._low_bits, values & self._low_mask
        wide, narrow = np.uint64(64) - self._low_bits, np.uint64(64) - self._high_bits
        for number in reversed(range(ROUNDS)) if backwards else range(ROUNDS):
            if number % 2 == 0:
                low = low ^ (mix(high, *self._rounds[number]) >> wide)
            else:
                high = high ^ (mix(low, *self._rounds[number]) >> narrow)
        return (high << self._low_bits) | low


class ExtentPermutation:
    """Permutes extents of `extent` neighbours, then the entries within groups of GROUP_EXTENTS extents.

    For stores that are fast in large ranges only: GROUP_EXTENTS ranges are in use at any time. The last
    extent may be short; it is permuted like the others, so every size has a bijection. Used like Permutation.
    """

    def __init__(self, size: int, key: bytes, extent: int) -> None:
        if not 1 <= size <= SIZE_LIMIT or extent < 1:
            raise ValueError(f"size {size} and extent {extent} must be at least 1")
        self.size = size
        self._extent = extent
        self._key = key
        self._extents = Permutation(-(-size // extent), key)
        self._short = size - (self._extents.size - 1) * extent  # entries of the last extent, 1 to extent
        # Where the short extent comes in the new order: what follows it lies (extent - short) further left.
        self._short_start = self._extents.inverse(self._extents.size - 1) * extent

    def forward(self, index: Index) -> Index:
        if not isinstance(index, np.ndarray):
            return int(self.forward(np.array([index], np.int64))[0])
        _check(index, self.size)
        place = self._within_groups(index.astype(np.int64), backwards=False)
        missing = self._extent - self._short
        place = np.where(place < self._short_start + self._short, place, place + missing)
        slot, offset = np.divmod(place, self._extent)
        return (self._extents.forward(slot) * self._extent + offset).astype(index.dtype)

    def inverse(self, index: Index) -> Index:
        if not isinstance(index, np.ndarray):
            return int(self.inverse(np.array([index], np.int64))[0])
        _check(index, self.size)
        slot, offset = np.divmod(index.astype(np.int64), self._extent)
        place = self._extents.inverse(slot) * self._extent + offset
        missing = self._extent - self._short
        place = np.where(place < self._short_start + self._extent, place, place - missing)
        return self._within_groups(place, backwards=True).astype(index.dtype)

    def _within_groups(self, places: npt.NDArray[np.int64], backwards: bool) -> npt.NDArray[np.int64]:
        length = self._extent * GROUP_EXTENTS
        groups, offsets = np.divmod(places, length)
        moved = np.empty_like(places)
        for group in np.unique(groups):
            members = groups == group
            start = int(group) * length
            key = hashlib.blake2b(f"group:{group}".encode(), key=self._key, digest_size=32).digest()
            order = Permutation(min(length, self.size - start), key)
            inside = order.inverse(offsets[members]) if backwards else order.forward(offsets[members])
            moved[members] = start + inside
        return moved


def block_order(size: int, key: bytes, extent: int = 1) -> Permutation | ExtentPermutation:
    """The order in which an epoch visits `size` blocks. extent 1 is the plain permutation."""
    return Permutation(size, key) if extent == 1 else ExtentPermutation(size, key, extent)
