"""Documents of buckets compared with their leaders, by the low bytes of their signatures.

What buckets and leaders are is in `dataprep/decide/bands.py` and `dataprep/kernels/buckets.py`; which
rows are needed is seen to in `dataprep/decide/pairs.py`. Slow twin: `tests/reference/bands.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.minhash import equal_bytes
from dataprep.kernels.partitions import BAND
from dataprep.kernels.utf8 import pointer, read_only

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

LEAST_DEPTH = 3
"""In shallower bands low bytes agree by chance too often to say that the values did."""


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Records ordered by key and, within a bucket, by document.

    keys       uint64[m]
    documents  int64[m]
    whole      uint64[m]: the key of the whole signature
    leaders    int64[k]: places of records, bucket by bucket
    ends       int64[k]: where the bucket of a leader ends
    """

    keys: Keys
    documents: Int64s
    whole: Keys
    leaders: Int64s
    ends: Int64s


def comparable(keys: Keys, whole: Keys) -> npt.NDArray[np.bool_]:
    """bool[m]: records of buckets in which there is something to compare; keys ascending. Documents with
    equal signatures are compared only where the key is that of a signature."""
    out = np.empty(keys.size, dtype=np.bool_)
    _comparable(read_only(keys), read_only(whole), out)
    return out


def similar_pairs(
    buckets: Buckets,
    low: npt.NDArray[np.uint8],
    depth: int,
    limit: int,
    first: int,
    start: int,
    stop: int,
    at: int,
    least: int,
    out: Int64s,
) -> tuple[int, int]:
    """Compare records with the leaders of their buckets that are better, and write down those alike.

    In buckets of more than `limit` documents a pair is left out that agrees in an earlier band too: it was
    compared there. (If the better one is no leader there, they are found in a small bucket, or not at all.)

    low    uint8[stop - start + l, permutations]: of the records from `start` to `stop`, then of the leaders
           from `first` on that come before `start`
    depth  values of a band
    limit  that of `ordered_buckets`
    first  the first leader whose bucket ends after `start`
    at     the record to begin with
    least  equal bytes of a pair that is written
    out    int64[k, 3], filled with (better, worse, equal bytes); k at least the leaders of a bucket

    Returns (rows written, the record to go on with, `stop` at the end).
    """
    return _similar_pairs(
        read_only(buckets.keys),
        read_only(buckets.documents),
        read_only(buckets.whole),
        read_only(buckets.leaders),
        read_only(buckets.ends),
        read_only(low),
        depth,
        limit if depth >= LEAST_DEPTH else np.iinfo(np.int64).max,
        first,
        start,
        stop,
        at,
        least,
        out,
    )


@njit(cache=True, nogil=True)
def _comparable(keys, whole, out):  # type: ignore[no-untyped-def]
    start = 0
    while start < keys.size:
        stop, alike = start + 1, True
        while stop < keys.size and keys[stop] == keys[start]:
            alike &= whole[stop] == whole[start]
            stop += 1
        out[start:stop] = stop - start > 1 and (not alike or keys[start] & BAND == BAND)
        start = stop


@njit(cache=True, nogil=True)
def _agrees_before(rows, a, b, depth, band):  # type: ignore[no-untyped-def]
    """Whether the rows at a and b agree in a band before this one."""
    for start in range(0, band * depth, depth):
        place = 0
        while place < depth and rows[a + start + place] == rows[b + start + place]:
            place += 1
        if place == depth:
            return True
    return False


@njit(cache=True, nogil=True)
def _similar_pairs(  # type: ignore[no-untyped-def]
    keys, documents, whole, leaders, ends, low, depth, limit, first, start, stop, at, least, out
):
    rows, width, lead, size = pointer(low), low.shape[1], first, 0
    for place in range(at, stop):
        while lead < leaders.size and ends[lead] <= place:
            lead += 1
        before, each, mine = size, lead, (place - start) * width
        band, large = keys[place] & BAND, lead < leaders.size and ends[lead] - leaders[lead] > limit
        while each < leaders.size and leaders[each] < place:
            better = leaders[each]
            each += 1
            if band != BAND and whole[better] == whole[place]:
                continue
            theirs = (better - start if better >= start else stop - start + each - 1 - first) * width
            equal = equal_bytes(rows, theirs, mine, width)
            if equal < least or (
                large and band != BAND and _agrees_before(rows, theirs, mine, depth, np.int64(band))
            ):
                continue
            if size == out.shape[0]:
                return before, place
            out[size, 0], out[size, 1], out[size, 2] = documents[better], documents[place], equal
            size += 1
    return size, stop
