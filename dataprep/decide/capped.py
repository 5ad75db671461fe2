"""`max_bytes`: which documents of a source fall outside its cap. A choice by hash, so it ignores listing
order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def capped(
    source: npt.NDArray[np.int32],
    raw_hash: npt.NDArray[np.uint64],
    text_bytes: npt.NDArray[np.int64],
    limits: Sequence[int | None],
) -> npt.NDArray[np.bool_]:
    """Return bool[n]: True for documents beyond the cap of their source.

    source      int32[n], index into `limits` (bytes; None is no cap)
    raw_hash    uint64[n, 2]; the documents of a source are taken in ascending order of it (then of row)
    text_bytes  int64[n]

    A source keeps the longest prefix of that order whose bytes do not exceed its limit. Documents with equal
    hashes have equal text and are interchangeable.
    """
    over = np.zeros(len(source), dtype=bool)
    for index, limit in enumerate(limits):
        if limit is None:
            continue
        rows = np.flatnonzero(source == index)
        rows = rows[np.lexsort((rows, raw_hash[rows, 1], raw_hash[rows, 0]))]
        over[rows[np.cumsum(text_bytes[rows]) > limit]] = True
    return over
