"""Which of several equal documents stays: the best by the recipe's ranks, whatever the order of the rows.

Works on hashes of all documents; no text, no files. Memory: about 16 bytes a document, and 100 a duplicate.
Slow twin: `tests/reference/exact.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]


def resolve(
    hashes: Hashes,
    group: npt.NDArray[np.int32],
    ranks: Sequence[npt.NDArray[np.int64]],
    raw_hash: Hashes,
    tie: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Keep one document of each (group, hash): the lowest by ranks in order, then raw hash, then `tie`.

    hashes    uint64[n, 2], what must be equal
    group     int32[n], documents of different groups are never duplicates (0 everywhere, or the source)
    ranks     each int64[n], lower is better; the first counts most
    raw_hash  uint64[n, 2], identity of the document
    tie       int64[n], place of last resort, different for documents that are equal in all else

    Returns (keep bool[n], match int64[n]): match is the row of the document
    kept in its stead, -1 for a row that is kept.
    """
    keep = np.ones(len(hashes), dtype=bool)
    match = np.full(len(hashes), -1, dtype=np.int64)
    rows = repeated(hashes[:, 0])
    columns = [tie[rows], raw_hash[rows, 1], raw_hash[rows, 0]]
    columns += [rank[rows] for rank in reversed(ranks)]
    columns += [group[rows], hashes[rows, 1], hashes[rows, 0]]
    rows = rows[np.lexsort(columns)]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (hashes[rows[1:]] != hashes[rows[:-1]]).any(axis=1) | (group[rows[1:]] != group[rows[:-1]])
    keeper = rows[np.flatnonzero(first)][np.cumsum(first) - 1]
    keep[rows] = first
    match[rows[~first]] = keeper[~first]
    return keep, match


def repeated(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Rows whose value occurs more than once, in the order of values. Of documents these are nearly none, so
    that the sort by many columns is small."""
    order = np.argsort(values)
    same = values[order[1:]] == values[order[:-1]]
    repeated = np.zeros(len(values), dtype=bool)
    repeated[1:] |= same
    repeated[:-1] |= same
    return order[repeated]
