"""`max_bytes`: which documents of a source fall outside its cap. A choice by hash, so it ignores listing
order.

The documents of a source are taken in ascending order of raw hash, then of their number within the source,
for as long as their bytes do not exceed the limit. So a cap is one place in that order, the cut, and whether
a document lies beyond it is known without the others. Documents with equal hashes have equal text and are
interchangeable.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Cut = list[int]
"""High and low half of the raw hash, and number, of the first document beyond the cap."""


def cut_of(raw_hash: Hashes, text_bytes: npt.NDArray[np.int64], limit: int) -> Cut | None:
    """Where the cap of a source falls; None if nothing is beyond it.

    raw_hash    uint64[n, 2] of all documents of the source, in the order of their numbers
    text_bytes  int64[n]
    """
    order = np.lexsort((raw_hash[:, 1], raw_hash[:, 0]))  # stable, so equal hashes stay in order
    kept = int(np.searchsorted(np.cumsum(text_bytes[order]), limit, side="right"))
    if kept == len(order):
        return None
    first = int(order[kept])
    return [int(raw_hash[first, 0]), int(raw_hash[first, 1]), first]


def beyond(raw_hash: Hashes, before: int, cut: Cut) -> npt.NDArray[np.bool_]:
    """bool[n]: whether documents are at the cut or beyond it; `before`: documents of the source before
    them."""
    high, low = np.uint64(cut[0]), np.uint64(cut[1])
    number = np.arange(before, before + len(raw_hash))
    same = raw_hash[:, 0] == high
    above = raw_hash[:, 0] > high
    above |= same & (raw_hash[:, 1] > low)
    return above | (same & (raw_hash[:, 1] == low) & (number >= cut[2]))
