"""Best-fit decreasing: sizes into as few bins of one capacity as is quickly found.

Ding et al., "Fewer Truncations Improve Language Modeling" (arXiv 2404.10830), section 3: sizes are taken from
the greatest to the smallest, and each goes where it leaves the least room. A segment tree over rooms finds
that in O(log capacity). What becomes of it is in `dataprep/fit.py`. Slow twin: `tests/reference/best_fit.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.utf8 import read_only

Int64s = npt.NDArray[np.int64]


def best_fit(sizes: Int64s, capacity: int) -> Int64s:
    """int64[n]: the bin of each size, bins numbered as they were opened.

    sizes  int64[n], each from 1 to `capacity`

    Equal sizes are taken in the order given. Of bins with equal room, the one that came to it last is filled.
    Memory: 25 bytes a size, and 10 to 12 bytes a unit of capacity. Raises ValueError.
    """
    sizes = np.ascontiguousarray(sizes, np.int64)
    if sizes.size and not 1 <= sizes.min() <= sizes.max() <= capacity:
        raise ValueError(f"sizes from {sizes.min()} to {sizes.max()} for bins of {capacity}")
    order = np.argsort(-sizes, kind="stable")
    bins = np.empty(sizes.size, dtype=np.int64)
    _best_fit(read_only(sizes), read_only(order), capacity, bins)
    return bins


@njit(cache=True, nogil=True)
def _best_fit(sizes, order, capacity, bins):  # type: ignore[no-untyped-def]
    leaves = 1
    while leaves <= capacity:
        leaves *= 2
    # A node says whether any bin has a room among the leaves below it; leaf `leaves + room` is that room.
    tree = np.zeros(2 * leaves, dtype=np.uint8)
    # Bins of equal room are a stack: the top of each, and under each bin the next.
    top = np.full(capacity + 1, -1, dtype=np.int64)
    under = np.empty(sizes.size, dtype=np.int64)
    opened = 0
    for index in order:
        size = sizes[index]
        node = leaves + size
        if tree[node] == 0:
            # Up until there is something to the right, then down along the left.
            while node > 1 and (node & 1 == 1 or tree[node + 1] == 0):
                node >>= 1
            if node > 1:
                node += 1
                while node < leaves:
                    node <<= 1
                    if tree[node] == 0:
                        node += 1
        if node > 1:
            room = node - leaves
            chosen = top[room]
            top[room] = under[chosen]
            if top[room] < 0:
                tree[node] = 0
                while node > 1 and tree[node ^ 1] == 0:
                    node >>= 1
                    tree[node] = 0
        else:
            room, chosen = capacity, opened
            opened += 1
        bins[index] = chosen
        room -= size
        if room > 0:
            under[chosen] = top[room]
            top[room] = chosen
            node = leaves + room
            while node >= 1 and tree[node] == 0:
                tree[node] = 1
                node >>= 1
    return opened
