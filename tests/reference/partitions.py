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


def candidates(
    signatures: Sequence[Sequence[int]], ranks: Sequence[int], shape: tuple[int, int], limit: int
) -> set[slow.Pair]:
    """All pairs (better, worse) of documents that meet in a band, by the definition: no partitions."""
    bands, depth = shape
    records = [
        (slow.band_key(0, row[band * depth : (band + 1) * depth], band), rank, slow.band_key(0, row, 0))
        for row, rank in zip(signatures, ranks, strict=True)
        for band in range(bands)
    ]
    return set(slow.candidates(records, limit)[0])
