"""Near-duplicates in memory, all of it in one function: signatures, candidates, comparison, who stays.

For corpora that fit, and for tests: the stages do the same from files, a partition and a range at a time,
with the same parts (`partitions.py`, `pairs.py`, `verify.py`, `independent.py`). Memory: about 2 kB a
document with 112 permutations, and 100 bytes a similar pair; with `exact`, 8 bytes a shingle besides.

Slow twin: `tests/reference/near_duplicates.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dataprep.decide.bands import BUCKET_LIMIT, best_bands
from dataprep.decide.independent import Removed, independent
from dataprep.decide.pairs import NO_ROWS, compared, distinct
from dataprep.decide.partitions import band_records
from dataprep.decide.pieces import piece_of
from dataprep.decide.verify import MARGIN_PPM, edges_of, least_estimate, sole_apart
from dataprep.kernels.minhash import low_bytes, signatures
from dataprep.kernels.partitions import scattered
from dataprep.kernels.shingles import Shingling, jaccard_ppm, shingle_hashes
from dataprep.kernels.texts import Texts

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Similarity = Callable[[Int64s], npt.NDArray[np.int32]]
"""Similarity int32[k] in millionths of pairs int64[k, 2] of ranks."""


@dataclass(frozen=True, slots=True, eq=False)
class NearDuplicates:
    """Of n texts.

    kept            bool[n]
    match           int64[n]: the text that stays in its stead, -1 for one that stays
    similarity_ppm  int64[n]: to the match
    limited         buckets with more different signatures than the limit
    """

    kept: npt.NDArray[np.bool_]
    match: Int64s
    similarity_ppm: Int64s
    limited: int


def near_duplicates(
    texts: Texts,
    ranks: Int64s,
    threshold_ppm: int,
    shingling: Shingling | None = None,
    permutations: int = 112,
    bands: tuple[int, int] | None = None,
    verify: str = "exact",
    margin_ppm: int = MARGIN_PPM,
) -> NearDuplicates:
    """Which texts stay.

    ranks       int64[n]: 0 to n - 1, each once, 0 the best
    bands       (bands, values of a band); by default `bands.best_bands`
    verify      "exact" or "estimate"
    margin_ppm  estimates nearer to the threshold are not believed, if `verify` is "exact"
    """
    shingling = shingling or Shingling()
    rows = np.argsort(ranks)  # of each rank

    def similarity(pairs: Int64s) -> npt.NDArray[np.int32]:
        hashes, offsets = shingle_hashes(texts.data, texts.offsets, shingling)
        return jaccard_ppm(hashes, offsets, rows[pairs])

    found, _, sole = signatures(texts.data, texts.offsets, shingling, permutations)
    removed, limited = removed_of(
        found,
        ranks,
        None,
        sole if sole_apart(threshold_ppm) else None,
        bands or best_bands(threshold_ppm / 10**6, permutations),
        threshold_ppm,
        similarity if verify == "exact" else None,
        margin_ppm,
    )
    match, ppm = np.full(len(texts), -1, dtype=np.int64), np.zeros(len(texts), dtype=np.int64)
    match[rows[removed.documents]] = rows[removed.matches]
    ppm[rows[removed.documents]] = removed.similarity_ppm
    return NearDuplicates(match < 0, match, ppm, limited)


def removed_of(
    found: npt.NDArray[np.uint32],
    ranks: Int64s,
    group: Keys | None,
    sole: Keys | None,
    bands: tuple[int, int],
    threshold_ppm: int,
    similarity: Similarity | None,
    margin_ppm: int = MARGIN_PPM,
    limit: int = BUCKET_LIMIT,
) -> tuple[Removed, int]:
    """(documents that go, by rank; limited buckets), from signatures; see `partitions.band_records`.

    ranks       int64[n]: 0 to n - 1, each once
    similarity  settles what the estimate does not; None trusts the estimate (`verify.least_estimate`)
    """
    records = band_records(found, ranks, group, *bands, sole)
    low = np.empty(found.shape, dtype=np.uint8)
    low[ranks] = low_bytes(found)
    table, _ = scattered(records.keys, records.ranks, records.keys[:, -1].copy(), 1)
    piece = piece_of(table, limit)
    least, margin = (threshold_ppm, margin_ppm) if similarity else (least_estimate(threshold_ppm), 0)
    chunks = list(compared(piece, records.depth, low.__getitem__, least, margin))
    edges = distinct(np.concatenate([NO_ROWS, *(chunk.edges for chunk in chunks)]))
    near = distinct(np.concatenate([NO_ROWS, *(chunk.borderline for chunk in chunks)]))[:, :2]
    if similarity and len(near):
        edges = np.concatenate([edges, edges_of(near, similarity(near), threshold_ppm)])
    return independent(edges), piece.limited
