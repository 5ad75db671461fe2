"""What decisions removed, in the files that their last stage leaves.

`removed.npy`: int64[k, 3], row, row of the document that stays in its stead, similarity in millionths;
ascending by row. Beside it `keepers.npy`: int64[k, 2], row, how many documents it stands for beside itself;
ascending by row. A decision may leave several of both, one a partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import mapped, save_array
from dataprep.cache import Cache

REMOVED, KEEPERS = "removed.npy", "keepers.npy"
EQUAL_PPM = 1_000_000
LARGEST = 5
"""Sizes of clusters that a receipt holds."""

Int64s = npt.NDArray[np.int64]
Removals = Sequence[Sequence[str]]
"""Kind of stage and key of each entry that holds removed documents."""


def removed_between(removals: Removals, cache: Cache, start: int, stop: int) -> Int64s:
    """int64[k, 3]: what some entries removed of the rows from start to stop, ascending."""
    return _between(REMOVED, removals, cache, start, stop, width=3)


def keepers_between(removals: Removals, cache: Cache, start: int, stop: int) -> Int64s:
    """int64[k, 2]: the rows from start to stop that stand for others, ascending; a row may come twice."""
    return _between(KEEPERS, removals, cache, start, stop, width=2)


def _between(name: str, removals: Removals, cache: Cache, start: int, stop: int, width: int) -> Int64s:
    parts = [np.zeros((0, width), dtype=np.int64)]
    for kind, key in removals:
        found = mapped(cache.get(kind, key).file(name))
        first, last = np.searchsorted(found[:, 0], (start, stop))
        parts.append(np.asarray(found[first:last]))
    together = np.concatenate(parts)
    return together[np.argsort(together[:, 0], kind="stable")]


def found_in(name: str, removals: Removals, cache: Cache, rows: Int64s, column: int) -> Int64s:
    """int64[n]: a column of `removed.npy` or `keepers.npy` for some rows, summed over the entries; 0 where a
    row is in none."""
    values = np.zeros(len(rows), dtype=np.int64)
    for kind, key in removals:
        found = mapped(cache.get(kind, key).file(name))
        if len(found):
            places = np.minimum(np.searchsorted(found[:, 0], rows), len(found) - 1)
            values += np.where(found[places, 0] == rows, found[places, column], 0)
    return values


def weights_of(removals: Removals, cache: Cache, rows: Int64s) -> Int64s:
    """int64[n]: how many documents each of some rows stands for with itself, after earlier decisions."""
    return 1 + found_in(KEEPERS, removals, cache, rows, column=1)


def write_removed(folder: Path, removed: Int64s) -> None:
    """Write `removed.npy`."""
    save_array(folder / REMOVED, removed[np.argsort(removed[:, 0])])


def write_keepers(folder: Path, removed: Int64s, weights: Int64s) -> dict[str, Any]:
    """Write `keepers.npy`; `weights`: how many documents each of the removed ones stood for.

    Returns the facts `clusters`, how many documents stay in the stead of others, and `largest`, the sizes of
    the largest clusters: each with the one that stays, of the documents that this decision looked at.
    """
    keepers, places = np.unique(removed[:, 1], return_inverse=True)
    counts = np.bincount(places, weights, minlength=len(keepers)).astype(np.int64)
    save_array(folder / KEEPERS, np.column_stack([keepers, counts]))
    sizes = np.sort(1 + np.bincount(places, minlength=len(keepers)))[::-1]
    return {"clusters": len(keepers), "largest": sizes[:LARGEST].tolist()}
