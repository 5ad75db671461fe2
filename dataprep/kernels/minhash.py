"""MinHash signatures of texts: those of `datasketch.MinHash`, scheme `affine32`, seed 1, bit for bit.

The set of a text is its shingles (`kernels/shingles.py`), each hashed by `hash32`, which is what datasketch
takes as `hashfunc`: the low 32 bits of `xxhash.xxh3_64_intdigest`. Then as in datasketch 2: once the
finaliser of MurmurHash3, and per permutation the least a * h + b modulo 2^32. A shingle that comes twice
changes no minimum, so nothing has to be made unique. A short text has the signature of its one shingle, a
text without words that of an empty set (all bits set).

A signature of one single shingle says no more than 32 bits, which among a million such texts agree by chance
a hundred times. So these texts, short ones among them, also have the 64 bits of that hash, for
`decide/partitions.py` to keep apart those that differ.

Which signatures meet is decided in `dataprep/decide/bands.py`. Slow twin: datasketch itself, and
`tests/reference/shingles.py` for the shingles.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from dataprep.kernels.shingles import Hashes64, Shingling, flags_of, short_hashes, units_of
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import HIGH_BITS, load64, ones, pointer, read_only
from dataprep.kernels.xxh3 import hash64, xxh3

Signatures = npt.NDArray[np.uint32]

SEED = 1
LANES = 16
BLOCK = 1024
CHUNK_BYTES = 1 << 20
"""Text that is normalised before its signatures are made: little enough to stay in the cache."""

M1, M2 = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)
LOW_32, LOW_BITS = np.uint64(0xFFFFFFFF), np.uint64(0x7F7F7F7F7F7F7F7F)


def hash32(shingle: bytes) -> int:
    """The hash of one shingle, as `datasketch.MinHash(hashfunc=hash32)` wants it; slow."""
    return hash64(shingle) & 0xFFFFFFFF


@lru_cache(maxsize=8)
def permutations_of(count: int) -> npt.NDArray[np.uint32]:
    """uint32[2, count]: a and b of each permutation, as datasketch draws them."""
    generator = np.random.RandomState(SEED)
    a = generator.randint(0, 1 << 31, count, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return np.stack([a, generator.randint(0, 1 << 32, count, dtype=np.uint32)])


def signatures(
    data: Bytes, offsets: Offsets, shingling: Shingling, permutations: int
) -> tuple[Signatures, npt.NDArray[np.uint8], Hashes64]:
    """Of n texts (signatures uint32[n, permutations], flags uint8[n]: SHORT, WORDLESS or 0, sole uint64[n]:
    the hash of the only shingle, 0 where there are several or none)."""
    count = offsets.size - 1
    lanes = np.zeros((2, -(-permutations // LANES) * LANES), dtype=np.uint32)
    lanes[:, :permutations] = permutations_of(permutations)
    minima = np.full((count, lanes.shape[1]), 0xFFFFFFFF, dtype=np.uint32)
    flags, sole = np.empty(count, dtype=np.uint8), np.empty(count, dtype=np.uint64)
    block = np.empty(BLOCK, dtype=np.uint32)
    start = 0
    while start < count:
        stop = int(np.searchsorted(offsets, offsets[start] + CHUNK_BYTES, side="right")) - 1
        stop = min(max(stop, start + 1), count)
        mine = offsets[start : stop + 1]
        units = units_of(data, mine, shingling)
        short = short_hashes(data, mine, units.counts, shingling.ngram)
        flags[start:stop] = flags_of(units.counts, shingling.ngram)
        _minima(
            units.data,
            units.starts,
            units.unit_offsets,
            units.gap,
            shingling.ngram,
            short,
            lanes[0],
            lanes[1],
            block,
            minima[start:stop],
            sole[start:stop],
        )
        start = stop
    return minima[:, :permutations], flags, sole


def low_bytes(minima: Signatures) -> npt.NDArray[np.uint8]:
    """uint8[n, permutations]: the lowest byte of each value (b-bit MinHash, b = 8)."""
    return minima.astype(np.uint8)


def estimates_of_equal(permutations: int) -> npt.NDArray[np.int32]:
    """int32[permutations + 1]: the estimate for each count of equal bytes."""
    equal = np.arange(permutations + 1, dtype=np.int64)
    return np.maximum(0, (256 * equal - permutations) * 1_000_000 // (255 * permutations)).astype(np.int32)


def estimate_ppm(low: npt.NDArray[np.uint8], pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """int32[k]: estimated Jaccard similarity of the rows pairs[:, 0] and pairs[:, 1] of `low_bytes`, in
    millionths, rounded down.

    Different values have equal bytes one time in 256, so a share m of equal bytes says
    (m - 1/256) / (1 - 1/256), at least 0 (Li and Koenig 2010, for sets that are small beside 2^32).
    """
    permutations = low.shape[1]
    equal = _equal_bytes(read_only(np.ascontiguousarray(low)), read_only(pairs))
    return estimates_of_equal(permutations)[equal]


@njit(cache=True, nogil=True, forceinline=True)
def equal_bytes(rows, a, b, size):  # type: ignore[no-untyped-def]
    """How many of `size` bytes are equal at a and b."""
    place, different = 0, np.uint64(0)
    while place + 8 <= size:
        both = load64(rows, a + place) ^ load64(rows, b + place)
        different += ones(((both & LOW_BITS) + LOW_BITS | both) & HIGH_BITS)
        place += 8
    while place < size:
        different += rows[a + place] != rows[b + place]
        place += 1
    return size - np.int64(different)


@njit(cache=True, nogil=True)
def _equal_bytes(low, pairs):  # type: ignore[no-untyped-def]
    rows, size = pointer(low), low.shape[1]
    out = np.empty(pairs.shape[0], dtype=np.int64)
    for row in range(out.size):
        out[row] = equal_bytes(rows, pairs[row, 0] * size, pairs[row, 1] * size, size)
    return out


@njit(cache=True, nogil=True, forceinline=True)
def _mixed(hash64):  # type: ignore[no-untyped-def]
    """The finaliser of MurmurHash3_x86_32 of the low 32 bits."""
    h = hash64 & LOW_32
    h = (h ^ (h >> np.uint64(16))) * M1 & LOW_32
    h = (h ^ (h >> np.uint64(13))) * M2 & LOW_32
    return np.uint32(h ^ (h >> np.uint64(16)))


def _lower(typingctx, hashes, count, a, b, minima):  # type: ignore[no-untyped-def]
    """minima[k] = min(minima[k], a[k] * h + b[k]) for LANES values of k and every h of hashes[:count], modulo
    2^32.

    Written as vector code, so that the minima stay in registers over all hashes whatever the compiler finds:
    over permutations as the inner loop it stores them each time, over hashes it pays a horizontal minimum per
    permutation, which is most of the time of a text of 300 words.
    """

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        hash_pointer, size, *lanes = arguments
        int32, int64 = ir.IntType(32), ir.IntType(64)
        vector = ir.VectorType(int32, LANES)
        undefined = ir.Constant(vector, ir.Undefined)
        pointers = [builder.bitcast(lane, vector.as_pointer()) for lane in lanes]
        factors, terms, before = (builder.load(each, align=4) for each in pointers)
        entry = builder.block
        loop, after = builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_signed(">", size, int64(0)), loop, after)
        builder.position_at_end(loop)
        index, least = builder.phi(int64), builder.phi(vector)
        hash_ = builder.load(builder.gep(hash_pointer, [index]))
        hashes = builder.insert_element(undefined, hash_, int32(0))
        hashes = builder.shuffle_vector(hashes, undefined, ir.Constant(vector, [0] * LANES))
        values = builder.add(builder.mul(hashes, factors), terms)
        lower = builder.select(builder.icmp_unsigned("<", values, least), values, least)
        following = builder.add(index, int64(1))
        for phi, first, later in ((index, int64(0), following), (least, before, lower)):
            phi.add_incoming(first, entry)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_signed("<", following, size), loop, after)
        builder.position_at_end(after)
        result = builder.phi(vector)
        result.add_incoming(before, entry)
        result.add_incoming(lower, loop)
        builder.store(result, pointers[2], align=4)
        return context.get_dummy_value()

    return types.void(hashes, types.int64, a, b, minima), codegen


lower: Any = intrinsic(_lower)


def _at(typingctx, pointer, index):  # type: ignore[no-untyped-def]
    """The pointer to pointer[index]."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, types.int64), codegen


moved: Any = intrinsic(_at)


@njit(cache=True, nogil=True)
def _minima(  # type: ignore[no-untyped-def]
    data, starts, unit_offsets, gap, ngram, short, factor_array, term_array, block_array, minima_array, sole
):
    text, block = pointer(data), pointer(block_array)
    factors, terms, minima = pointer(factor_array), pointer(term_array), pointer(minima_array)
    lanes = factor_array.size
    for index in range(short.size):
        first, last = unit_offsets[index], unit_offsets[index + 1] - 1
        row = moved(minima, index * lanes)
        if last - first < ngram:
            sole[index] = short[index]
            block[0] = _mixed(short[index])
            for lane in range(0, lanes if last > first else 0, LANES):
                lower(block, 1, moved(factors, lane), moved(terms, lane), moved(row, lane))
            continue
        only, others = xxh3(text, starts[first], starts[first + ngram] - gap), np.uint64(0)
        for start in range(first, last - ngram + 1, BLOCK):
            size = min(BLOCK, last - ngram + 1 - start)
            for place in range(size):
                unit = start + place
                hash_ = xxh3(text, starts[unit], starts[unit + ngram] - gap)
                others |= hash_ ^ only
                block[place] = _mixed(hash_)
            for lane in range(0, lanes, LANES):
                lower(block, size, moved(factors, lane), moved(terms, lane), moved(row, lane))
        sole[index] = np.uint64(0) if others else only  # not 0: that makes a float of both
