"""Which documents of a range stay, once all better ones are decided; see `dataprep/decide/independent.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.utf8 import read_only

Int64s = npt.NDArray[np.int64]


def spread(rows: Int64s, column: int, firsts: Int64s) -> tuple[Int64s, Int64s]:
    """(rows in the order of ranges, each range in the order that they came; int64[k + 1] where each begins).

    firsts  int64[k], ascending: the first document of each range; a row belongs where its column says
    """
    out, offsets = np.empty_like(rows), np.zeros(firsts.size + 1, dtype=np.int64)
    _spread(read_only(rows), column, read_only(firsts), np.empty(len(rows), dtype=np.int32), offsets, out)
    return out, offsets


@njit(cache=True, nogil=True)
def _spread(rows, column, firsts, which, offsets, out):  # type: ignore[no-untyped-def]
    for index in range(rows.shape[0]):
        low, high = 0, firsts.size
        while high - low > 1:
            middle = (low + high) >> 1
            if firsts[middle] <= rows[index, column]:
                low = middle
            else:
                high = middle
        which[index] = low
        offsets[low + 1] += 1
    for each in range(1, offsets.size):
        offsets[each] += offsets[each - 1]
    places = offsets.copy()
    for index in range(rows.shape[0]):
        place = places[which[index]]
        out[place, 0], out[place, 1], out[place, 2] = rows[index, 0], rows[index, 1], rows[index, 2]
        places[which[index]] = place + 1


@njit(cache=True, nogil=True)
def sweep(edges, order, better, worse, messages, told, documents, match, match_similarity, passed):  # type: ignore[no-untyped-def]
    """Fill in `match` and `match_similarity`, and set `passed` for edges that a later range has to know of.

    edges             int64[m, 3]
    order             int64[m]: edges ascending by the better end
    better            int64[m]: place in `documents` of the better end of each edge
    worse             int64[m]: the same of the worse end, or -1 beyond the range
    messages          int64[l, 3]: edges from documents of earlier ranges that stay, the best first
    told              int64[l]: place in `documents` of the worse end of each
    documents         int64[k], ascending: those of the range that have edges, and maybe others
    match             int64[k], -1: best document that stays and is similar
    match_similarity  int64[k]
    passed            bool[m], false: the better end stays, the worse end lies beyond
    """
    for message in range(told.size):
        if match[told[message]] < 0:
            match[told[message]], match_similarity[told[message]] = messages[message, 0], messages[message, 2]
    for edge in order:
        if match[better[edge]] >= 0:
            continue  # the better end was removed, by an edge that came before
        other = worse[edge]
        if other < 0:
            passed[edge] = True
        elif match[other] < 0:
            match[other], match_similarity[other] = documents[better[edge]], edges[edge, 2]
