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
from dataprep.kernels.utf8 import pointer, read_only

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]


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
    equal signatures are compared only where the key is that of the signature."""
    out = np.empty(keys.size, dtype=np.bool_)
    _comparable(read_only(keys), read_only(whole), out)
    return out


def similar_pairs(
    buckets: Buckets,
    low: npt.NDArray[np.uint8],
    first: int,
    start: int,
    stop: int,
    at: int,
    least: int,
    out: Int64s,
) -> tuple[int, int]:
    """Compare records with the leaders of their buckets that are better, and write down those alike.

    low    uint8[stop - start + l, permutations]: of the records from `start` to `stop`, then of the leaders
           from `first` on that come before `start`
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
        out[start:stop] = stop - start > 1 and (not alike or keys[start] == whole[start])
        start = stop


@njit(cache=True, nogil=True)
def _similar_pairs(  # type: ignore[no-untyped-def]
    keys, documents, whole, leaders, ends, low, first, start, stop, at, least, out
):
    rows, width, lead, size = pointer(low), low.shape[1], first, 0
    for place in range(at, stop):
        while lead < leaders.size and ends[lead] <= place:
            lead += 1
        before, each = size, lead
        while each < leaders.size and leaders[each] < place:
            better = leaders[each]
            if whole[better] != whole[place] or keys[place] == whole[place]:
                row = better - start if better >= start else stop - start + each - first
                equal = equal_bytes(rows, row * width, (place - start) * width, width)
                if equal >= least:
                    if size == out.shape[0]:
                        return before, place
                    out[size, 0], out[size, 1], out[size, 2] = documents[better], documents[place], equal
                    size += 1
            each += 1
    return size, stop
