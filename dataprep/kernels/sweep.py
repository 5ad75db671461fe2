"""Which documents of a range stay, once all better ones are decided; see `dataprep/decide/independent.py`."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def sweep(better, worse, similarity, documents, match, match_similarity, passed):  # type: ignore[no-untyped-def]
    """Fill in `match` and `match_similarity`, and set `passed` for edges that a later range has to know of.

    better            int64[m], ascending: place in `documents` of the better end of each edge
    worse             int64[m]: the same of the worse end, or -1 beyond the range
    similarity        int64[m]
    documents         int64[k], ascending: those of the range that have edges
    match             int64[k]: best document that stays and is similar, -1 as long as there is none; comes
                      with what earlier ranges say
    match_similarity  int64[k]
    passed            bool[m], false: the better end stays, the worse end lies beyond
    """
    for edge in range(better.size):
        if match[better[edge]] >= 0:
            continue  # the better end was removed, by an edge that came before
        other = worse[edge]
        if other < 0:
            passed[edge] = True
        elif match[other] < 0:
            match[other], match_similarity[other] = documents[better[edge]], similarity[edge]
