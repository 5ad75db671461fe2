"""Buckets of documents with equal band keys, and the pairs of documents in them that are worth a comparison.

What a band is, and why not all pairs of a large bucket are compared, is in `dataprep/decide/bands.py`. Slow
twin: `tests/reference/bands.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.radix import sort
from dataprep.kernels.utf8 import pointer, read_only
from dataprep.kernels.xxh3 import xxh3

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]


def band_keys(signatures: npt.NDArray[np.uint32], bands: int, rows: int, group: Keys) -> Keys:
    """uint64[n, bands]: key of each band, XXH3 of the group, the number of the band (both of 64 bits) and its
    values, all little-endian.

    signatures  uint32[n, at least bands * rows]
    group       uint64[n]: documents of different groups have different keys
    """
    scratch = np.zeros(16 + 4 * rows, dtype=np.uint8)
    return _band_keys(read_only(np.ascontiguousarray(signatures)), bands, rows, read_only(group), scratch)


def ordered_buckets(keys: Keys, documents: Int64s, whole: Keys, limit: int) -> tuple[Int64s, Int64s, int]:
    """Put each run of equal keys into order, in place, and say which of its documents lead pairs.

    keys       uint64[m], ascending
    documents  int64[m], a better document has a lower number; ordered within runs
    whole      uint64[m], equal for equal signatures; ordered along
    limit      leaders of a bucket

    Returns (leaders int64[k]: places in `documents`, ends int64[k]: where their bucket ends, count of buckets
    with more different signatures than `limit`). A leader makes a pair with everything from it to the end.
    """
    count = keys.size
    leaders, ends = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    size, limited = _ordered_buckets(read_only(keys), documents, whole, limit, leaders, ends)
    return leaders[:size].copy(), ends[:size].copy(), limited


def expanded_pairs(
    documents: Int64s, leaders: Int64s, ends: Int64s, totals: Int64s, start: int, stop: int
) -> Int64s:
    """int64[stop - start, 2]: the pairs with these numbers; `totals` int64[k + 1] counts those of leaders."""
    out = np.empty((stop - start, 2), dtype=np.int64)
    if stop > start:
        first = int(np.searchsorted(totals, start, side="right")) - 1
        _expanded_pairs(documents, leaders, ends, totals, first, start, out)
    return out


@njit(cache=True, nogil=True)
def _band_keys(signatures, bands, rows, group, scratch):  # type: ignore[no-untyped-def]
    out = np.empty((signatures.shape[0], bands), dtype=np.uint64)
    head, values = scratch[:16].view(np.uint64), scratch[16:].view(np.uint32)
    text = pointer(scratch)
    for index in range(signatures.shape[0]):
        head[0] = group[index]
        for band in range(bands):
            head[1] = band
            for row in range(rows):
                values[row] = signatures[index, band * rows + row]
            out[index, band] = xxh3(text, 0, scratch.size)
    return out


@njit(cache=True, nogil=True)
def _order(documents, whole):  # type: ignore[no-untyped-def]
    """Sort a run by document; most runs are short, or sorted."""
    if documents.size > 32:
        if np.all(documents[1:] >= documents[:-1]):
            return
        if documents.size <= 256:
            order = np.argsort(documents)
        else:  # which that would take the square of the size for, if they come as a few ascending runs
            values, order = documents.view(np.uint64).copy(), np.arange(documents.size)
            more_order = np.empty_like(order)
            order = order if sort(values, order, np.empty_like(values), more_order) else more_order
        documents[:], whole[:] = documents[order], whole[order]
        return
    for place in range(1, documents.size):
        document, signature = documents[place], whole[place]
        hole = place
        while hole > 0 and documents[hole - 1] > document:
            documents[hole], whole[hole] = documents[hole - 1], whole[hole - 1]
            hole -= 1
        documents[hole], whole[hole] = document, signature


@njit(cache=True, nogil=True)
def _ordered_buckets(keys, documents, whole, limit, leaders, ends):  # type: ignore[no-untyped-def]
    size, limited, start = 0, 0, 0
    while start < keys.size:
        stop = start + 1
        while stop < keys.size and keys[stop] == keys[start]:
            stop += 1
        if stop - start > 1:
            _order(documents[start:stop], whole[start:stop])
        if stop - start <= limit:
            for place in range(start, stop - 1):
                leaders[size], ends[size] = place, stop
                size += 1
        else:
            first = size
            for place in range(start, stop):
                leader = first
                while leader < size and whole[leaders[leader]] != whole[place]:
                    leader += 1
                if leader < size:
                    continue
                if size - first == limit:
                    limited += 1
                    break
                leaders[size], ends[size] = place, stop
                size += 1
        start = stop
    return size, limited


@njit(cache=True, nogil=True)
def _expanded_pairs(documents, leaders, ends, totals, first, start, out):  # type: ignore[no-untyped-def]
    size, leader, skipped = 0, first, start - totals[first]
    while size < out.shape[0]:
        place = leaders[leader]
        for other in range(place + 1 + skipped, ends[leader]):
            if size == out.shape[0]:
                break
            out[size, 0], out[size, 1] = documents[place], documents[other]
            size += 1
        leader, skipped = leader + 1, 0
