"""Slow twin of `dataprep/kernels/hashing.py`: MurmurHash3_x64_128 by its definition."""

from __future__ import annotations

MASK = 2**64 - 1
C1, C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def _rotated(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & MASK


def _finished(x: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ x >> 33) * factor & MASK
    return x ^ x >> 33


def murmur(data: bytes, seed: int = 0) -> tuple[int, int]:
    """(high, low) of the hash."""
    h1 = h2 = seed
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = int.from_bytes(data[at : at + 8], "little"), int.from_bytes(data[at + 8 : at + 16], "little")
        h1 ^= _rotated(k1 * C1 & MASK, 31) * C2 & MASK
        h1 = ((_rotated(h1, 27) + h2) * 5 + 0x52DCE729) & MASK
        h2 ^= _rotated(k2 * C2 & MASK, 33) * C1 & MASK
        h2 = ((_rotated(h2, 31) + h1) * 5 + 0x38495AB5) & MASK
    tail = data[whole:].ljust(16, b"\0")
    h1 ^= _rotated(int.from_bytes(tail[:8], "little") * C1 & MASK, 31) * C2 & MASK
    h2 ^= _rotated(int.from_bytes(tail[8:], "little") * C2 & MASK, 33) * C1 & MASK
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    h1, h2 = _finished(h1), _finished(h2)
    h1 = (h1 + h2) & MASK
    return h1, (h2 + h1) & MASK


def mix(high: int, low: int, key: bytes) -> tuple[int, int]:
    """Keyed hash of a hash: of its 16 bytes, exclusive-or the key."""
    plain = high.to_bytes(8, "little") + low.to_bytes(8, "little")
    return murmur(bytes(a ^ b for a, b in zip(plain, key, strict=True)))
