"""128-bit hashes of texts: identity, exact duplicates, held-out choice, shuffle key.

The hash is MurmurHash3_x64_128 by Austin Appleby (public domain), so that anyone can check a value with
another implementation: `hash128` of a text is the pair that `mmh3.hash64(text, seed, signed=False)`
returns. It is fast and well mixed, but not cryptographic: whoever can choose texts can make collisions.
Kernels only; which copy of a text stays is decided in `dataprep/decide/exact.py`. Slow twin:
`tests/reference/hashing.py`.

A hash is a row (high, low) of uint64[n, 2]; rows compare as 128-bit numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import load64, longest, pointer, read_only

Hashes = npt.NDArray[np.uint64]

C1 = np.uint64(0x87C37B91114253D5)
C2 = np.uint64(0x4CF5AD432745937F)
F1 = np.uint64(0xFF51AFD7ED558CCD)
F2 = np.uint64(0xC4CEB9FE1A85EC53)
SPACE_KIND = np.zeros(256, dtype=np.int64)
"""By byte: 0 is no white space, 1 is white space, 2 may begin a white space of two or three bytes."""
SPACE_KIND[[9, 10, 11, 12, 13, 32]] = 1
SPACE_KIND[[0xC2, 0xE1, 0xE2, 0xE3]] = 2
FIVE, ADD_1, ADD_2 = np.uint64(5), np.uint64(0x52DCE729), np.uint64(0x38495AB5)


def hash128(data: Bytes, offsets: Offsets, seed: int = 0) -> Hashes:
    """uint64[n, 2]: hash of each text. `seed` is 32 bits, as in the original; another one is a ValueError."""
    return _hash128(read_only(data), read_only(offsets), _checked(seed))


def hash_normalized(data: Bytes, offsets: Offsets, seed: int = 0) -> Hashes:
    """uint64[n, 2]: `hash128` of each text with its white space normalised.

    Every run of White_Space (the Unicode property, 25 code points, unchanged since Unicode 6.3, so no table
    version enters a key) becomes one space, and the ends are stripped. Nothing else is folded.
    """
    scratch = np.empty(longest(offsets) + 1, dtype=np.uint8)
    return _hash_normalized(read_only(data), read_only(offsets), _checked(seed), scratch)


def mix128(hashes: Hashes, key: bytes) -> Hashes:
    """uint64[n, 2]: keyed hash of hashes, for orders and choices that must not depend on one another.

    MurmurHash3_x64_128, seed 0, of the 16 bytes (high, low, both little-endian) exclusive-or `key` (16
    bytes). For one key it is a bijection of 128-bit values: different hashes never meet.
    """
    if len(key) != 16:
        raise ValueError(f"the key of a keyed hash has 16 bytes, not {len(key)}")
    high, low = np.frombuffer(key, dtype="<u8")
    return _mix128(read_only(np.ascontiguousarray(hashes)), np.uint64(high), np.uint64(low))


def _checked(seed: int) -> np.uint64:
    if not 0 <= seed < 1 << 32:
        raise ValueError(f"the seed of a hash is 0 to 2^32 - 1, not {seed}")
    return np.uint64(seed)


@njit(inline="always")
def _rotated(x, bits):  # type: ignore[no-untyped-def]
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@njit(inline="always")
def _finished(x):  # type: ignore[no-untyped-def]
    x = (x ^ (x >> np.uint64(33))) * F1
    x = (x ^ (x >> np.uint64(33))) * F2
    return x ^ (x >> np.uint64(33))


@njit(cache=True, nogil=True)
def murmur(text, start, stop, seed):  # type: ignore[no-untyped-def]
    """MurmurHash3_x64_128 of text[start:stop] as (high, low)."""
    h1, h2 = seed, seed
    size = stop - start
    tail = start + (size & ~15)
    for at in range(start, tail, 16):
        k1, k2 = load64(text, at), load64(text, at + 8)
        h1 ^= _rotated(k1 * C1, 31) * C2
        h1 = (_rotated(h1, 27) + h2) * FIVE + ADD_1
        h2 ^= _rotated(k2 * C2, 33) * C1
        h2 = (_rotated(h2, 31) + h1) * FIVE + ADD_2
    k1, k2 = np.uint64(0), np.uint64(0)
    for at in range(tail, stop):
        byte, place = np.uint64(text[at]), at - tail
        if place < 8:
            k1 |= byte << np.uint64(8 * place)
        else:
            k2 |= byte << np.uint64(8 * (place - 8))
    h1 ^= _rotated(k1 * C1, 31) * C2  # a tail of zero bytes changes nothing, as in the original
    h2 ^= _rotated(k2 * C2, 33) * C1
    h1 ^= np.uint64(size)
    h2 ^= np.uint64(size)
    h1 += h2
    h2 += h1
    h1, h2 = _finished(h1), _finished(h2)
    h1 += h2
    h2 += h1
    return h1, h2


@njit(cache=True, nogil=True)
def _hash128(data, offsets, seed):  # type: ignore[no-untyped-def]
    out = np.empty((offsets.size - 1, 2), dtype=np.uint64)
    text = pointer(data)
    for index in range(offsets.size - 1):
        out[index, 0], out[index, 1] = murmur(text, offsets[index], offsets[index + 1], seed)
    return out


@njit(inline="always")
def _space_bytes(text, at, stop):  # type: ignore[no-untyped-def]
    """Bytes of the White_Space code point at `at`, 0 if there is none."""
    byte = text[at]
    if byte == 0x20 or 9 <= byte <= 13:
        return 1
    if byte < 0xC2 or byte > 0xE3:
        return 0
    if byte == 0xC2:
        return 2 if at + 1 < stop and (text[at + 1] == 0x85 or text[at + 1] == 0xA0) else 0
    if byte < 0xE1 or at + 2 >= stop:
        return 0
    second, third = text[at + 1], text[at + 2]
    if byte == 0xE1:  # U+1680
        return 3 if second == 0x9A and third == 0x80 else 0
    if byte == 0xE2:  # U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F
        if second == 0x80:
            return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
        return 3 if second == 0x81 and third == 0x9F else 0
    return 3 if byte == 0xE3 and second == 0x80 and third == 0x80 else 0  # U+3000


@njit(cache=True, nogil=True, forceinline=True)
def collapse_spaces(text, at, stop, normal):  # type: ignore[no-untyped-def]
    """Write text[at:stop] to `normal`, which has one byte more, with its white space normalised; the size."""
    size, after_space = 0, 1
    while at < stop:
        byte = text[at]
        kind = SPACE_KIND[byte]
        step = 1
        if kind == 2:
            step = _space_bytes(text, at, stop)
            kind = 1 if step else 0
            step = max(step, 1)
        # One space more only after something else; without a branch, as words are short.
        normal[size] = 0x20 if kind else byte
        size += 1 - (kind & after_space)
        after_space = kind
        at += step
    return size - (after_space if size else 0)


@njit(cache=True, nogil=True)
def _hash_normalized(data, offsets, seed, scratch):  # type: ignore[no-untyped-def]
    out = np.empty((offsets.size - 1, 2), dtype=np.uint64)
    text, normal = pointer(data), pointer(scratch)
    for index in range(offsets.size - 1):
        size = collapse_spaces(text, offsets[index], offsets[index + 1], normal)
        out[index, 0], out[index, 1] = murmur(normal, 0, size, seed)
    return out


@njit(cache=True, nogil=True)
def _mix128(hashes, key_1, key_2):  # type: ignore[no-untyped-def]
    out = np.empty(hashes.shape, dtype=np.uint64)
    for index in range(hashes.shape[0]):
        h1 = _rotated((hashes[index, 0] ^ key_1) * C1, 31) * C2
        h1 = _rotated(h1, 27) * FIVE + ADD_1
        h2 = _rotated((hashes[index, 1] ^ key_2) * C2, 33) * C1
        h2 = (_rotated(h2, 31) + h1) * FIVE + ADD_2
        h1 ^= np.uint64(16)
        h2 ^= np.uint64(16)
        h1 += h2
        h2 += h1
        h1, h2 = _finished(h1), _finished(h2)
        h1 += h2
        out[index, 0], out[index, 1] = h1, h2 + h1
    return out
