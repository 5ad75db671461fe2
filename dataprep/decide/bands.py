"""Which documents may be near-duplicates: those whose MinHash signatures agree in all values of some band.

A signature of b * r values is cut into b bands of r values; documents at Jaccard similarity s meet in one
band or more with probability 1 - (1 - s^r)^b. `best_bands` chooses b and r as datasketch's `MinHashLSH` does.
Documents are named by their rank, 0 the best, so a pair is (better, worse).

A bucket (documents with equal keys of one band) of up to `limit` documents gives all its pairs. In a larger
one only its leaders, the best document of each different signature and at most `limit` of them, are paired
with all that are worse. Documents with equal signatures are alike in all that the estimate can say, so if
there are no more signatures than `limit`, nothing is lost: whoever stays is a leader, and every other
document is paired with it. Beyond, `limited` counts the buckets. A template with a million copies thus stays
linear.

Records of all bands may be cut into partitions by key; nothing here needs more than one of them. Whether a
pair is similar is settled afterwards, by `kernels.minhash.estimate_ppm` or `kernels.shingles.jaccard_ppm`;
who stays is decided in `independent.py`. Slow twin: `tests/reference/bands.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dataprep.kernels.buckets import band_keys, expanded_pairs, ordered_buckets

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

FALSE_NEGATIVE_WEIGHT = 0.8
BUCKET_LIMIT = 64
MOST_BANDS = 254
"""The number of a band has 8 bits of its keys (`kernels/partitions.py`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The pairs of one partition, numbered; written out a slice at a time, since there may be many.

    documents  int64[m]: of all records, bucket by bucket
    leaders    int64[k]: places in `documents`
    ends       int64[k]: where their buckets end
    totals     int64[k + 1]: pairs of all leaders before
    limited    buckets with more different signatures than the limit
    """

    documents: Int64s
    leaders: Int64s
    ends: Int64s
    totals: Int64s
    limited: int

    def __len__(self) -> int:
        return int(self.totals[-1])

    def pairs(self, start: int, stop: int) -> Int64s:
        """int64[stop - start, 2]: (better, worse); a pair comes once for each band in which it meets."""
        return expanded_pairs(self.documents, self.leaders, self.ends, self.totals, start, stop)

    def chunks(self, size: int) -> Iterator[Int64s]:
        """All pairs, at most `size` at a time."""
        for start in range(0, len(self), size):
            yield self.pairs(start, min(start + size, len(self)))


@lru_cache(maxsize=64)
def best_bands(
    threshold: float, permutations: int, false_negative_weight: float = FALSE_NEGATIVE_WEIGHT
) -> tuple[int, int]:
    """(bands, rows) with the least weighted sum of the areas of false positives and false negatives: of the
    chance to meet below the threshold, and of that not to meet above it."""
    best, least = (1, 1), np.inf
    for bands in range(1, min(permutations, MOST_BANDS) + 1):
        for rows in range(1, permutations // bands + 1):
            below = _area_of_missing(0.0, threshold, bands, rows)
            above = _area_of_missing(threshold, 1.0, bands, rows)
            error = (threshold - below) * (1 - false_negative_weight) + above * false_negative_weight
            if error < least:
                best, least = (bands, rows), error
    return best


def _area_of_missing(low: float, high: float, bands: int, rows: int) -> float:
    """Integral of (1 - s^rows)^bands from low to high: a polynomial, so Gauss' rule is exact."""
    nodes, weights = _gauss(bands * rows // 2 + 1)
    similarity = (high - low) / 2 * nodes + (high + low) / 2
    return float((high - low) / 2 * weights @ (1 - similarity**rows) ** bands)


@lru_cache(maxsize=256)
def _gauss(count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def keys_of_bands(
    signatures: npt.NDArray[np.uint32], bands: int, rows: int, group: Keys | None = None
) -> Keys:
    """uint64[n, bands]: see `kernels.buckets.band_keys`; `group` uint64[n] is what `within` keeps apart."""
    if bands * rows > signatures.shape[1]:
        raise ValueError(f"{bands} bands of {rows} rows need more than {signatures.shape[1]} permutations")
    return band_keys(
        signatures, bands, rows, np.zeros(len(signatures), np.uint64) if group is None else group
    )


def keys_of_signatures(signatures: npt.NDArray[np.uint32]) -> Keys:
    """uint64[n]: a key of each whole signature, for `candidates`."""
    return keys_of_bands(signatures, 1, signatures.shape[1])[:, 0]


def candidates(keys: Keys, documents: Int64s, whole: Keys, limit: int = BUCKET_LIMIT) -> Candidates:
    """The pairs of all buckets of one partition.

    keys       uint64[m]: band keys, in any order; a document has one record per band
    documents  int64[m]: ranks
    whole      uint64[m]: `keys_of_signatures` of these documents
    """
    order = np.argsort(keys)
    documents, whole = documents[order], whole[order]
    leaders, ends, limited = ordered_buckets(keys[order], documents, whole, limit)
    totals = np.zeros(leaders.size + 1, dtype=np.int64)
    np.cumsum(ends - leaders - 1, out=totals[1:])
    return Candidates(documents, leaders, ends, totals, limited)


def distinct_pairs(pairs: Int64s) -> Int64s:
    """int64[k, 2]: each pair once, ascending."""
    if not pairs.size:
        return pairs
    if pairs.max() < 1 << 31:
        packed = np.unique(pairs[:, 0] << 32 | pairs[:, 1])
        return np.stack([packed >> 32, packed & 0xFFFFFFFF], axis=1)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    first = np.ones(len(pairs), dtype=bool)
    first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[first]
