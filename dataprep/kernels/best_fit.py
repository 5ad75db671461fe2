"""Best-fit decreasing: sizes into as few bins of one capacity as is quickly found.

Ding et al., "Fewer Truncations Improve Language Modeling" (arXiv 2404.10830), section 3: sizes are taken from
the greatest to the smallest, and each goes where it leaves the least room. A segment tree over rooms finds
that in O(log capacity). Where bins are so large that there can only be few, a sorted list of their rooms
does, so that memory does not grow with the capacity. What becomes of it is in `dataprep/fit.py`. Slow twin:
`tests/reference/best_fit.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.utf8 import read_only

Int64s = npt.NDArray[np.int64]

LARGEST_TREE = 1 << 20
"""Bins of more than this have no tree. Shards of 2^31 tokens have a few thousand of them."""


def best_fit(sizes: Int64s, capacity: int, largest_tree: int = LARGEST_TREE) -> Int64s:
    """int64[n]: the bin of each size, bins numbered as they were opened.

    sizes         int64[n], each from 1 to `capacity`
    largest_tree  the greatest capacity for which there is a tree; the bins do not depend on it

    Equal sizes are taken in the order given. Of bins with equal room, the one that came to it last is filled.
    Memory: 32 bytes a size, and 10 to 12 bytes a unit of capacity up to `largest_tree`. Raises ValueError.
    """
    sizes = np.ascontiguousarray(sizes, np.int64)
    if sizes.size and not 1 <= sizes.min() <= sizes.max() <= capacity:
        raise ValueError(f"sizes from {sizes.min()} to {sizes.max()} for bins of {capacity}")
    order = np.argsort(-sizes, kind="stable")
    bins = np.empty(sizes.size, dtype=np.int64)
    fill = _by_tree if capacity <= largest_tree else _by_list
    fill(read_only(sizes), read_only(order), capacity, bins)
    return bins


@njit(cache=True, nogil=True)
def _by_tree(sizes, order, capacity, bins):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def _by_list(sizes, order, capacity, bins):  # type: ignore[no-untyped-def]
    # Bins with room, from the least room to the most; of equal ones, the one that came to it last is first.
    rooms = np.empty(64, dtype=np.int64)
    numbers = np.empty(64, dtype=np.int64)
    listed = opened = 0
    for index in order:
        size = sizes[index]
        place = np.searchsorted(rooms[:listed], size)
        if place < listed:
            room, chosen = rooms[place], numbers[place]
        else:
            room, chosen = capacity, opened
            opened += 1
            if listed == rooms.size:
                rooms = np.concatenate((rooms, np.empty_like(rooms)))
                numbers = np.concatenate((numbers, np.empty_like(numbers)))
            listed += 1
        bins[index] = chosen
        room -= size
        if room == 0:
            listed -= 1
            for at in range(place, listed):
                rooms[at], numbers[at] = rooms[at + 1], numbers[at + 1]
            continue
        new_place = np.searchsorted(rooms[:place], room)
        for at in range(place, new_place, -1):
            rooms[at], numbers[at] = rooms[at - 1], numbers[at - 1]
        rooms[new_place], numbers[new_place] = room, chosen
    return opened
