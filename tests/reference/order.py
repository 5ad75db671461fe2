"""The slow twin of trainer/data/order.py: the same permutations in plain integers, one index at a time."""

from __future__ import annotations

import hashlib

MASK = (1 << 64) - 1


def words(key: bytes, label: str, number: int) -> tuple[int, int]:
    digest = hashlib.blake2b(f"{label}:{number}".encode(), key=key, digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def mix(value: int, first: int, second: int) -> int:
    z = (value + first) * 0x9E3779B97F4A7C15 & MASK
    z ^= z >> 32
    z = (z + second) * 0xBF58476D1CE4E5B9 & MASK
    z ^= z >> 27
    z = z * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def sorted_order(size: int, key: bytes) -> list[int]:
    """Sizes up to 2^16: the indices in the order of their hashes."""
    first, second = words(key, "sort", 0)
    return sorted(range(size), key=lambda index: mix(index, first, second))


def feistel(index: int, size: int, key: bytes, rounds: int = 8) -> int:
    """Larger sizes: where the network leads, walked until it lands below `size`."""
    bits = (size - 1).bit_length()
    high_bits, low_bits = bits // 2, bits - bits // 2
    while True:
        high, low = index >> low_bits, index & ((1 << low_bits) - 1)
        for number in range(rounds):
            if number % 2 == 0:
                low ^= mix(high, *words(key, "round", number)) >> (64 - low_bits)
            else:
                high ^= mix(low, *words(key, "round", number)) >> (64 - high_bits)
        index = high << low_bits | low
        if index < size:
            return index


def extents(size: int, key: bytes, extent: int, group_extents: int = 64) -> list[int]:
    """The order with extents: lay the extents out in their order, then permute groups of what lies there."""
    laid: list[int] = []
    for number in sorted_order(-(-size // extent), key):
        laid.extend(range(number * extent, min((number + 1) * extent, size)))
    order: list[int] = []
    for group, start in enumerate(range(0, size, extent * group_extents)):
        members = laid[start : start + extent * group_extents]
        group_key = hashlib.blake2b(f"group:{group}".encode(), key=key, digest_size=32).digest()
        order.extend(members[place] for place in sorted_order(len(members), group_key))
    return order
