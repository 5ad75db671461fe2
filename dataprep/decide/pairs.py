"""The pairs of one partition, compared: which are similar, and which need the texts to say.

Takes the buckets of the partition (`pieces.py`), and compares the documents of each with its leaders
(`bands.py`) by the low bytes of their signatures, a chunk at a time. A pair is written once for each of the
first three bands in which its documents meet, whatever the partition; in large buckets only in the first, so
that a template with a million copies has 64 pairs a document and not 64 in each band. `independent.py` takes
a pair any number of times.

Signatures are looked up by rank in a file of one byte a value: 112 bytes a document, which says as much as
all four bytes of each value (the standard deviation of the estimate at similarity 0.75 is 0.0410 and not
0.0409), at a fourth of the reads. Memory: `HELD_BYTES` a record of the partition, at most `MOST_RECORDS` of
them, and about 400 MB for a chunk, however large the file of signatures is. Slow twin:
`tests/reference/partitions.py`.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.decide.partitions import depth_of
from dataprep.decide.pieces import MOST_RECORDS, Piece, pieces
from dataprep.decide.verify import MARGIN_PPM
from dataprep.kernels.comparisons import similar_pairs
from dataprep.kernels.minhash import estimates_of_equal
from dataprep.kernels.radix import order_of
from manifests.errors import UserError

Int64s = npt.NDArray[np.int64]
LowBytes = npt.NDArray[np.uint8]
Lookup = Callable[[Int64s], LowBytes]
"""Low bytes uint8[k, permutations] of the documents with these ranks, in any order."""

CHUNK = 1 << 21
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
    return Compared(distinct(edges), distinct(borderline), sum(chunk.limited for chunk in chunks))


def compared_chunks(
    files: Sequence[Path],
    partition: int,
    limit: int,
    signature_lookup: Lookup,
    threshold_ppm: int,
    margin_ppm: int = MARGIN_PPM,
    chunk: int = CHUNK,
    most_records: int = MOST_RECORDS,
) -> Iterator[Compared]:
    """The same, about `chunk` records or similar pairs at a time, in no order, a pair up to three times; with
    at most about `most_records` records in memory."""
    depth = depth_of(files)
    for piece in pieces(files, partition, limit, most_records):
        yield from compared(piece, depth, signature_lookup, threshold_ppm, margin_ppm, chunk)


def compared(
    piece: Piece,
    depth: int,
    signature_lookup: Lookup,
    threshold_ppm: int,
    margin_ppm: int = MARGIN_PPM,
    chunk: int = CHUNK,
) -> Iterator[Compared]:
    """The same of buckets in memory; depth: values of a band."""
    buckets, limited = piece.buckets, piece.limited
    counts = np.diff(np.flatnonzero(np.diff(buckets.ends, prepend=-1, append=-1)))  # leaders of each bucket
    edges = np.empty((max(chunk, int(counts.max(initial=0))), 3), dtype=np.int64)
    borderline = np.empty_like(edges)
    bounds = threshold_ppm - max(margin_ppm - 1, 0), threshold_ppm + margin_ppm
    for start in range(0, buckets.keys.size, chunk):
        stop = min(start + chunk, buckets.keys.size)
        first = int(np.searchsorted(buckets.ends, start, side="right"))
        before = buckets.leaders[first : np.searchsorted(buckets.leaders, start)]
        low = signature_lookup(np.concatenate([buckets.documents[start:stop], buckets.documents[before]]))
        estimates = estimates_of_equal(low.shape[1]).astype(np.int64)
        span, at = (first, start, stop), start
        while at < stop:
            size, near, at = similar_pairs(
                buckets, low, depth, piece.large, span, at, estimates, bounds, edges, borderline
            )
            yield Compared(edges[:size].copy(), borderline[:near].copy(), limited)
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
        order = order_of(ranks.view(np.uint64))
        width = found.shape[1]
        for start in range(0, ranks.size, STRETCH):
            places = order[start : start + STRETCH]
            found[places] = self._rows[ranks[places]]
            if self._map is not None:
                begin = int(ranks[places[0]]) * width // mmap.PAGESIZE * mmap.PAGESIZE
                end = (int(ranks[places[-1]]) + 1) * width
                self._map.madvise(mmap.MADV_DONTNEED, begin, end - begin)
        return found


def distinct(rows: Int64s) -> Int64s:
    """int64[k, 3]: each pair once, ascending."""
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    return rows[first]
