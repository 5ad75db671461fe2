"""Slow twin of `dataprep/decide/{partitions,pairs}.py` and `dataprep/kernels/partitions.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.reference import bands as slow

Record = tuple[int, int, int]


def partition_of(key: int, num_partitions: int) -> int:
    return (key >> 32) * num_partitions >> 32


def scattered(keys: Sequence[Sequence[int]], ranks: Sequence[int], num_partitions: int) -> list[list[Record]]:
    """Of each partition its records, in the order of documents; the last key of each is that of the whole."""
    parts: list[list[Record]] = [[] for _ in range(num_partitions)]
    for row, rank in zip(keys, ranks, strict=True):
        for key in row:
            parts[partition_of(key, num_partitions)].append((key, rank, row[-1]))
    return parts


def repeated(keys: Sequence[int]) -> list[bool]:
    counts = Counter(keys)
    return [counts[key] > 1 for key in keys]


def band_keys(row: Sequence[int], shape: tuple[int, int], group: int = 0) -> list[int]:
    """The keys of a document: those of its bands, and that of its whole signature."""
    bands, depth = shape
    keys = [slow.band_key(group, row[band * depth : (band + 1) * depth], band) for band in range(bands)]
    return [key & ~255 | band for key, band in zip(keys, range(bands), strict=True)] + [
        slow.band_key(group, row, 0) | 255
    ]


def candidates(
    signatures: Sequence[Sequence[int]], ranks: Sequence[int], shape: tuple[int, int], limit: int
) -> set[slow.Pair]:
    """All pairs (better, worse) of documents that meet in a band, by the definition: no partitions. Those
    that meet in three bands before have been seen, in a bucket of more than `limit` those that meet in one.
    """
    bands, depth = shape
    found: set[slow.Pair] = set()
    row_of = dict(zip(ranks, signatures, strict=True))
    wholes = {rank: slow.band_key(0, row, 0) for rank, row in row_of.items()}

    def part(rank: int, band: int) -> tuple[int, ...]:
        return tuple(row_of[rank][band * depth : (band + 1) * depth])

    for band in range(bands):
        keys = {rank: hash(part(rank, band)) for rank in row_of}
        sizes = Counter(keys.values())
        for a, b in slow.candidates([(keys[rank], rank, wholes[rank]) for rank in row_of], limit)[0]:
            before = sum(part(a, each) == part(b, each) for each in range(band))
            seen = depth > 3 and before >= (1 if sizes[keys[a]] > limit else 3)
            if wholes[a] != wholes[b] and not seen:
                found.add((a, b))
    return found | set(slow.candidates([(whole, rank, whole) for rank, whole in wholes.items()], limit)[0])
