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
from dataprep.kernels.utf8 import load64, pointer, read_only

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

WHOLE = int(BAND)
OFTEN = 3
LEAST_DEPTH = 4
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
    large: int,
    span: tuple[int, int, int],
    at: int,
    estimates: npt.NDArray[np.int64],
    bounds: tuple[int, int],
    edges: Int64s,
    borderline: Int64s,
) -> tuple[int, int, int]:
    """Compare records with the leaders of their buckets that are better, and write down those alike.

    A pair is written in the first `OFTEN` bands in which its signatures agree, in large buckets
    only in the first. (It was compared in the bands before, if its better document leads
    there; so one that is alike is lost only if its first buckets are all so large that it does not.)

    low         uint8[stop - start + l, permutations]: of the records from `start` to `stop`, then of the
                leaders from `first` on that come before `start`
    depth       values of a band
    large       a bucket of more documents is large
    span        (first, start, stop): `first` is the first leader whose bucket ends after `start`
    at          the record to begin with
    estimates   int64[permutations + 1]: in millionths, for each count of equal bytes
    bounds      (least, sure): estimates from `least` on are borderline, from `sure` on edges
    edges       int64[k, 3], filled with (better, worse, estimate); k at least the leaders of a bucket
    borderline  int64[k, 3]

    Returns (edges written, borderline pairs written, the record to go on with, `stop` at the end).
    """
    return _similar_pairs(
        read_only(buckets.keys),
        read_only(buckets.documents),
        read_only(buckets.whole),
        read_only(buckets.leaders),
        read_only(buckets.ends),
        read_only(low),
        depth,
        large,
        *span,
        at,
        read_only(estimates),
        *bounds,
        edges,
        borderline,
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


@njit(cache=True, nogil=True, forceinline=True)
def _bands_before(rows, a, b, depth, band):  # type: ignore[no-untyped-def]
    """Bands before this one in which the rows at a and b agree; reads no further than this band, since the
    depth is four or more."""
    count = 0
    for start in range(0, band * depth, depth):
        different = np.uint64(0)
        for place in range(start, start + depth, 8):
            beyond = np.uint64(8 * max(0, place + 8 - start - depth))
            different |= (load64(rows, a + place) ^ load64(rows, b + place)) << beyond
        count += different == 0
    return count


@njit(cache=True, nogil=True)
def _similar_pairs(  # type: ignore[no-untyped-def]
    keys,
    documents,
    whole,
    leaders,
    ends,
    low,
    depth,
    large,
    first,
    start,
    stop,
    at,
    estimates,
    least,
    sure,
    edges,
    borderline,
):
    rows, width, lead, size, near = pointer(low), low.shape[1], first, 0, 0
    for place in range(at, stop):
        while lead < leaders.size and ends[lead] <= place:
            lead += 1
        each, mine, band = lead, (place - start) * width, np.int64(keys[place] & BAND)
        before = size, near
        often = 1 if lead < leaders.size and ends[lead] - leaders[lead] > large else OFTEN
        while each < leaders.size and leaders[each] < place:
            better = leaders[each]
            each += 1
            if band != WHOLE and whole[better] == whole[place]:
                continue
            theirs = (better - start if better >= start else stop - start + each - 1 - first) * width
            estimate = estimates[equal_bytes(rows, theirs, mine, width)]
            if estimate < least:
                continue
            if (
                WHOLE > band >= often
                and depth >= LEAST_DEPTH
                and _bands_before(rows, theirs, mine, depth, band) >= often
            ):
                continue
            if size == edges.shape[0] or near == borderline.shape[0]:
                return before[0], before[1], place
            if estimate >= sure:
                edges[size, 0], edges[size, 1], edges[size, 2] = documents[better], documents[place], estimate
                size += 1
            else:
                borderline[near, 0], borderline[near, 1] = documents[better], documents[place]
                borderline[near, 2] = estimate
                near += 1
    return size, near, stop
