"""The pairs of one partition, compared: which are similar, and which need the texts to say.

Reads the partition's slice of every file (`partitions.py`), leaves out keys that come once, and compares the
documents of each bucket that may be similar (`bands.py`) by the low bytes of their signatures, a chunk of
pairs at a time. A pair whose documents meet in bands of several partitions is found in each; `independent.py`
takes it any number of times.

Signatures are looked up by rank, ascending, in a file of one byte a value: 112 bytes a document, which says
as much as all four bytes of each value (the standard deviation of the estimate at similarity 0.75 is 0.0410
and not 0.0409), at a fourth of the reads. Memory: `HELD_BYTES` a record and about 500 MB for a chunk, however
large the file of signatures is. Slow twin: `tests/reference/near_duplicates.py`.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.decide.bands import distinct_pairs
from dataprep.decide.partitions import read_partition
from dataprep.decide.verify import MARGIN_PPM, unsettled
from dataprep.kernels.buckets import ordered_buckets
from dataprep.kernels.minhash import estimate_ppm
from dataprep.kernels.partitions import maybe_repeated, pairs_of_buckets
from manifests.errors import UserError

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
LowBytes = npt.NDArray[np.uint8]
Lookup = Callable[[Int64s], LowBytes]
"""Low bytes uint8[k, permutations] of the documents with these ranks, ascending, each once."""

CHUNK_PAIRS = 1 << 20
STRETCH = 4096
NO_ROWS: Int64s = np.zeros((0, 3), dtype=np.int64)


class Compared(NamedTuple):
    """edges, borderline: int64[k, 3] of (better, worse, estimate in millionths), ascending; limited: buckets
    with more different signatures than the limit."""

    edges: Int64s
    borderline: Int64s
    limited: int


def pairs_of_partition(
    files: Sequence[Path],
    partition: int,
    limit: int,
    signature_lookup: Lookup,
    threshold_ppm: int,
    margin_ppm: int = MARGIN_PPM,
) -> Compared:
    """All of a partition, each pair once. Holds 24 bytes for each that is similar, and there may be `limit`
    of them for a document: `compared_chunks` gives them in pieces.

    margin_ppm  pairs whose estimate is nearer to the threshold are borderline; 0 believes every estimate
    """
    chunks = list(compared_chunks(files, partition, limit, signature_lookup, threshold_ppm, margin_ppm))
    edges = np.concatenate([NO_ROWS, *(chunk.edges for chunk in chunks)])
    borderline = np.concatenate([NO_ROWS, *(chunk.borderline for chunk in chunks)])
    return Compared(_distinct(edges), _distinct(borderline), sum(chunk.limited for chunk in chunks))


def compared_chunks(
    files: Sequence[Path],
    partition: int,
    limit: int,
    signature_lookup: Lookup,
    threshold_ppm: int,
    margin_ppm: int = MARGIN_PPM,
    chunk_pairs: int = CHUNK_PAIRS,
) -> Iterator[Compared]:
    """The same, a chunk of candidates at a time; a pair comes once in each chunk."""
    buckets = _buckets(read_partition(files, partition), limit)
    limited = buckets.limited
    for start in range(0, len(buckets), chunk_pairs):
        pairs = distinct_pairs(buckets.pairs(start, min(start + chunk_pairs, len(buckets))))
        ranks, places = np.unique(pairs, return_inverse=True)
        estimates = estimate_ppm(signature_lookup(ranks), places.reshape(-1, 2))
        near = unsettled(estimates, threshold_ppm, margin_ppm)
        rows = np.column_stack([pairs, estimates.astype(np.int64)])
        yield Compared(rows[~near & (estimates >= threshold_ppm)], rows[near], limited)
        limited = 0


class SignatureFile:
    """Low bytes on disk, uint8[n, permutations] by rank, as a `Lookup`; mapped, and let go of every few rows,
    since pages of a mapped file count as memory of the process."""

    def __init__(self, path: Path, permutations: int) -> None:
        size_bytes = path.stat().st_size
        if size_bytes % permutations:
            raise UserError(f"{size_bytes} bytes are no rows of {permutations} bytes", where=str(path))
        self._map: mmap.mmap | None = None
        self._rows = np.zeros((0, permutations), dtype=np.uint8)
        if size_bytes:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._rows = np.frombuffer(self._map, dtype=np.uint8).reshape(-1, permutations)

    def __call__(self, ranks: Int64s) -> LowBytes:
        found = np.empty((ranks.size, self._rows.shape[1]), dtype=np.uint8)
        for start in range(0, ranks.size, STRETCH):
            found[start : start + STRETCH] = self._rows[ranks[start : start + STRETCH]]
            if self._map is not None:
                self._map.madvise(mmap.MADV_DONTNEED)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Buckets:
    """Records of repeated keys, bucket by bucket, and the places of their leaders (`bands.Candidates`)."""

    keys: Keys
    documents: Int64s
    whole: Keys
    leaders: Int64s
    ends: Int64s
    totals: Int64s
    limited: int

    def __len__(self) -> int:
        return int(self.totals[-1])

    def pairs(self, start: int, stop: int) -> Int64s:
        columns = (self.keys, self.documents, self.whole, self.leaders, self.ends, self.totals)
        return pairs_of_buckets(*columns, start, stop)


def _buckets(records: Keys, limit: int) -> _Buckets:
    records = records[maybe_repeated(records[:, 0])]
    order = np.argsort(records[:, 0])
    keys, whole = records[order, 0], records[order, 2]
    documents = records[order, 1].view(np.int64)
    leaders, ends, limited = ordered_buckets(keys, documents, whole, limit)
    totals = np.zeros(leaders.size + 1, dtype=np.int64)
    np.cumsum(ends - leaders - 1, out=totals[1:])
    return _Buckets(keys, documents, whole, leaders, ends, totals, limited)


def _distinct(rows: Int64s) -> Int64s:
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    return rows[first]
