"""The buckets of a partition, in pieces that fit into memory, even if one bucket alone does not.

A partition of ordinary size is one piece. A larger one is read again for each piece, which takes an equal
share of the keys; and a key with very many records (a template with a hundred million copies), which no share
would make smaller, is left out of these and streamed: one more reading finds its leaders, and another gives
all its records, a piece at a time, together with the leaders. What buckets and leaders are is in `bands.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.decide.partitions import count_records, read_partition, read_slices
from dataprep.kernels.buckets import ordered_buckets
from dataprep.kernels.comparisons import Buckets, comparable
from dataprep.kernels.partitions import BAND, BAND_BITS, maybe_repeated
from dataprep.kernels.radix import order_of

Keys = npt.NDArray[np.uint64]

MOST_RECORDS = 1 << 23
SLOTS = 1 << 20
BITS = np.uint64(BAND_BITS)


class Piece(NamedTuple):
    """buckets; large: they count as large if they have more documents here; limited: how many of them have
    more different signatures than may lead."""

    buckets: Buckets
    large: int
    limited: int


def pieces(
    files: Sequence[Path], partition: int, limit: int, most_records: int = MOST_RECORDS
) -> Iterator[Piece]:
    """All buckets of a partition, of at most about `most_records` records at a time."""
    total = count_records(files, partition)
    if total <= most_records:
        yield piece_of(read_partition(files, partition), limit)
        return
    size = max(limit + 1, most_records // 4)
    heavy = _heavy_keys(files, partition, size)
    shares = -(-total // max(1, most_records // 2))
    for share in range(shares):
        taken = [
            records[_is_share(records, share, shares, heavy)] for records in read_slices(files, partition)
        ]
        yield piece_of(np.concatenate(taken), limit)
    for key in heavy:
        yield from _streamed(files, partition, key, limit, size)


def _is_share(records: Keys, share: int, shares: int, heavy: Keys) -> npt.NDArray[np.bool_]:
    mine = (records[:, 0] >> BITS) % np.uint64(shares) == np.uint64(share)
    return mine & ~np.isin(records[:, 0], heavy)


def piece_of(records: Keys, limit: int) -> Piece:
    """Of records uint64[m, 3] the buckets with something to compare."""
    records = records[maybe_repeated(records[:, 0])]
    records = records[order_of(records[:, 0])]
    records = records[comparable(records[:, 0], records[:, 2])]
    keys, whole = records[:, 0].copy(), records[:, 2].copy()
    documents = records[:, 1].astype(np.int64)
    leaders, ends, limited = ordered_buckets(keys, documents, whole, limit)
    return Piece(Buckets(keys, documents, whole, leaders, ends), limit, limited)


def _heavy_keys(files: Sequence[Path], partition: int, least: int) -> Keys:
    """Keys with at least so many records: first how many each of a million slots has, then how many each key
    of a slot with that many."""
    counts = np.zeros(SLOTS, dtype=np.int64)
    for records in read_slices(files, partition):
        counts += np.bincount(_slots(records), minlength=SLOTS)
    keys, sizes = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    for records in read_slices(files, partition):
        more, found = np.unique(records[counts[_slots(records)] >= least, 0], return_counts=True)
        keys, places = np.unique(np.concatenate([keys, more]), return_inverse=True)
        sizes = np.bincount(places, np.concatenate([sizes, found]), keys.size).astype(np.int64)
    return keys[sizes >= least]


def _slots(records: Keys) -> npt.NDArray[np.int64]:
    return (records[:, 0] >> BITS & np.uint64(SLOTS - 1)).astype(np.int64)


def _streamed(
    files: Sequence[Path], partition: int, key: np.uint64, limit: int, size: int
) -> Iterator[Piece]:
    """The bucket of one key, about `size` records at a time, each time with its leaders."""
    best = np.zeros((0, 3), dtype=np.uint64)  # of each signature the best record; one more than may lead
    for records in read_slices(files, partition):
        best = np.concatenate([best, records[records[:, 0] == key]])
        best = best[np.argsort(best[:, 1])]
        best = best[np.sort(np.unique(best[:, 2], return_index=True)[1])][: limit + 1]
    if len(best) == 1 and key & BAND != BAND:
        return
    leading, limited = best[:limit], int(len(best) > limit)
    held: list[Keys] = []
    for records in chain(read_slices(files, partition), [best[:0]]):
        held.append(records[records[:, 0] == key])
        if len(records) and sum(map(len, held)) < size:
            continue
        piece = np.concatenate([leading, *held])
        held.clear()
        piece = piece[order_of(piece[:, 1])]
        piece = piece[np.diff(piece[:, 1], prepend=~piece[:1, 1]) != 0]  # leaders came twice
        leaders = np.flatnonzero(np.isin(piece[:, 1], leading[:, 1]))
        ends = np.full(leaders.size, len(piece))
        keys, documents, whole = piece[:, 0].copy(), piece[:, 1].astype(np.int64), piece[:, 2].copy()
        yield Piece(Buckets(keys, documents, whole, leaders, ends), 0, limited)
        limited = 0
