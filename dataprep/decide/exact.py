"""Which of several equal documents stays: the best by rank.

Works on the hashes of one partition; no text, no files. Memory: about 100 bytes a record. Slow twin:
`tests/reference/exact.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Int64s = npt.NDArray[np.int64]


def copies(hashes: Hashes, ranks: Int64s) -> Int64s:
    """int64[k, 2]: rank of each document that goes, and of the best document with the same hash, which
    stays; ascending.

    hashes  uint64[n, 2], what must be equal
    ranks   int64[n], each different
    """
    rows = repeated(hashes[:, 0])
    rows = rows[np.lexsort([ranks[rows], hashes[rows, 1], hashes[rows, 0]])]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (hashes[rows[1:]] != hashes[rows[:-1]]).any(axis=1)
    keeper = rows[np.flatnonzero(first)][np.cumsum(first) - 1]
    found = np.column_stack([ranks[rows[~first]], ranks[keeper[~first]]])
    return found[np.argsort(found[:, 0])]


def repeated(values: npt.NDArray[np.uint64]) -> Int64s:
    """Rows whose value occurs more than once, in the order of values. Of documents these are nearly none, so
    that the sort by many columns is small."""
    order = np.argsort(values)
    same = values[order[1:]] == values[order[:-1]]
    repeated = np.zeros(len(values), dtype=bool)
    repeated[1:] |= same
    repeated[:-1] |= same
    return order[repeated]
