"""Which lines, paragraphs or sentence spans go: all but the best copy of each that several documents have.

Documents are named by rank, 0 the best, and their units are numbered in the order of the text. Of equal
units the first of the best document that has one stays; the others go, also later ones of that document. So
whatever goes still stands in a better document, or earlier in the same: of spans that overlap, each sentence
does, if not the whole span in one place. Rows may come in any order, and the result does not depend on it.

Records may be cut into partitions by hash; nothing here needs more than one of them. What a unit is, and its
hash, comes from `kernels/units.py`. Slow twin: `tests/reference/lines.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dataprep.decide.exact import repeated
from dataprep.kernels.hashing import Hashes, mix128

Int64s = npt.NDArray[np.int64]

GROUP_KEY = b"headrace: groups"


def resolve_units(
    hashes: Hashes, rank: Int64s, unit: Int64s, min_documents: int = 2
) -> npt.NDArray[np.bool_]:
    """bool[k]: which units go, of records (hash, document, number of the unit in it).

    hashes         uint64[k, 2]: what is equal
    rank           int64[k]: rank of the document
    unit           int64[k]: different for the units of one document, ascending in its text
    min_documents  nothing goes of what fewer documents have; at 1, repeats inside a single one do

    Memory: 24 bytes a record, and 80 for each whose hash occurs more than once.
    """
    rows = repeated(hashes[:, 0])
    rows = rows[np.lexsort((unit[rows], rank[rows], hashes[rows, 1], hashes[rows, 0]))]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (hashes[rows[1:]] != hashes[rows[:-1]]).any(axis=1)
    is_document = is_first.copy()
    is_document[1:] |= rank[rows[1:]] != rank[rows[:-1]]
    groups = np.cumsum(is_first) - 1
    documents = np.bincount(groups[is_document])
    removed = np.zeros(len(hashes), dtype=bool)
    removed[rows] = ~is_first & (documents[groups] >= min_documents)
    return removed


def in_groups(hashes: Hashes, groups: npt.NDArray[np.uint64]) -> Hashes:
    """uint64[k, 2]: hashes that are equal only where the group (uint64[k]) is equal too, but for one chance
    in 2^128. So units of different groups (sources, or values of a field) never meet."""
    padded = np.stack([groups, np.zeros_like(groups)], axis=1)
    return hashes ^ mix128(padded, GROUP_KEY)
