"""XXH3 by Yann Collet (xxHash 0.8), 64 bits, seed 0, default secret: the hash of many short pieces of text.

The same values as `xxhash.xxh3_64_intdigest`, which is the slow twin. From 17 to 128 bytes, where nearly all
n-grams of words are, it takes less than half the time of the Murmur hash of `hashing.py`, which stays the
identity of documents. Reads no byte outside of its piece.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from dataprep.kernels.utf8 import load64, pointer

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
KEYS = np.array([int.from_bytes(SECRET[at : at + 8], "little") for at in range(185)], dtype=np.uint64)
"""Eight bytes of the secret from each place on."""

P32_1, P32_2, P32_3 = np.uint64(0x9E3779B1), np.uint64(0x85EBCA77), np.uint64(0xC2B2AE3D)
P64_1, P64_2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
P64_3, P64_4 = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
P64_5 = np.uint64(0x27D4EB2F165667C5)
MX1, MX2 = np.uint64(0x165667919E3779F9), np.uint64(0x9FB21C651E98DF25)
START = np.array([P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1], dtype=np.uint64)
LOW_32, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def hash64(piece: bytes) -> int:
    """The hash of one piece; `xxhash.xxh3_64_intdigest` is the same."""
    return int(_hash_one(np.frombuffer(piece, dtype=np.uint8)))


@njit(cache=True, nogil=True)
def _hash_one(data):  # type: ignore[no-untyped-def]
    return xxh3(pointer(data), 0, data.size)


def _folded(typingctx, a, b):  # type: ignore[no-untyped-def]
    """The two halves of the 128-bit product, exclusive-or."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        wide, narrow = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(each, wide) for each in arguments))
        high = builder.trunc(builder.lshr(product, wide(64)), narrow)
        return builder.xor(builder.trunc(product, narrow), high)

    return types.uint64(types.uint64, types.uint64), codegen


folded: Any = intrinsic(_folded)


def _swapped(typingctx, word):  # type: ignore[no-untyped-def]
    """The bytes of a uint64 in the other order."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), codegen


swapped: Any = intrinsic(_swapped)


@njit(inline="always")
def _avalanche(x):  # type: ignore[no-untyped-def]
    x = (x ^ (x >> np.uint64(37))) * MX1
    return x ^ (x >> HALF)


@njit(inline="always")
def _mixed(text, at, key):  # type: ignore[no-untyped-def]
    return folded(load64(text, at) ^ KEYS[key], load64(text, at + 8) ^ KEYS[key + 8])


@njit(cache=True, nogil=True, forceinline=True)
def xxh3(text, start, stop):  # type: ignore[no-untyped-def]
    """The hash of text[start:stop]."""
    size = stop - start
    if size <= 16 or size > 128:
        return _tiny(text, start, stop) if size <= 16 else _long(text, start, stop)
    total = np.uint64(size) * P64_1 + _mixed(text, start, 0) + _mixed(text, stop - 16, 16)
    if size > 32:
        total += _mixed(text, start + 16, 32) + _mixed(text, stop - 32, 48)
        if size > 64:
            total += _mixed(text, start + 32, 64) + _mixed(text, stop - 48, 80)
            if size > 96:
                total += _mixed(text, start + 48, 96) + _mixed(text, stop - 64, 112)
    return _avalanche(total)


@njit(inline="always")
def _load32(text, at):  # type: ignore[no-untyped-def]
    low = np.uint64(text[at]) | np.uint64(text[at + 1]) << np.uint64(8)
    return low | np.uint64(text[at + 2]) << np.uint64(16) | np.uint64(text[at + 3]) << np.uint64(24)


@njit(cache=True, nogil=True)
def _tiny(text, start, stop):  # type: ignore[no-untyped-def]
    size = stop - start
    if size > 8:
        low, high = load64(text, start) ^ KEYS[24] ^ KEYS[32], load64(text, stop - 8) ^ KEYS[40] ^ KEYS[48]
        return _avalanche(np.uint64(size) + swapped(low) + high + folded(low, high))
    if size > 3:
        x = (_load32(text, stop - 4) + (_load32(text, start) << HALF)) ^ KEYS[8] ^ KEYS[16]
        x ^= (x << np.uint64(49) | x >> np.uint64(15)) ^ (x << np.uint64(24) | x >> np.uint64(40))
        x *= MX2
        x ^= (x >> np.uint64(35)) + np.uint64(size)
        x *= MX2
        return x ^ (x >> np.uint64(28))
    if size > 0:
        x = np.uint64(text[start]) << np.uint64(16) | np.uint64(text[start + (size >> 1)]) << np.uint64(24)
        x |= np.uint64(text[stop - 1]) | np.uint64(size) << np.uint64(8)
        x ^= (KEYS[0] ^ KEYS[4]) & LOW_32
    else:
        x = KEYS[56] ^ KEYS[64]
    x = (x ^ (x >> np.uint64(33))) * P64_2
    x = (x ^ (x >> np.uint64(29))) * P64_3
    return x ^ (x >> HALF)


@njit(cache=True, nogil=True)
def _stripe(text, at, key, sums):  # type: ignore[no-untyped-def]
    for lane in range(8):
        value = load64(text, at + 8 * lane)
        keyed = value ^ KEYS[key + 8 * lane]
        sums[lane ^ 1] += value
        sums[lane] += (keyed & LOW_32) * (keyed >> HALF)


@njit(cache=True, nogil=True)
def _long(text, start, stop):  # type: ignore[no-untyped-def]
    size = stop - start
    total = np.uint64(size) * P64_1
    if size <= 240:
        for place in range(8):
            total += _mixed(text, start + 16 * place, 16 * place)
        total = _avalanche(total)
        for place in range(8, size // 16):
            total += _mixed(text, start + 16 * place, 16 * (place - 8) + 3)
        return _avalanche(total + _mixed(text, stop - 16, 119))
    sums = START.copy()
    last = start + (size - 1 >> 6 << 6)  # the last stripe may overlap the one before
    for at in range(start, last, 64):
        place = at - start >> 6 & 15
        _stripe(text, at, 8 * place, sums)
        if place == 15:
            for lane in range(8):
                sums[lane] = (sums[lane] ^ (sums[lane] >> np.uint64(47)) ^ KEYS[128 + 8 * lane]) * P32_1
    _stripe(text, stop - 64, 121, sums)
    for lane in range(0, 8, 2):
        total += folded(sums[lane] ^ KEYS[11 + 8 * lane], sums[lane + 1] ^ KEYS[19 + 8 * lane])
    return _avalanche(total)
