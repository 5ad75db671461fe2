"""Which documents a decision over all documents looks at, and what earlier ones removed.

A decision's population: the documents of its sources that passed every rule, wherever the rules stand in the
recipe, less those that the decisions before it removed. So a document that a rule drops never takes its
copies with it.

What a decision removed is a file `removed.npy` or several: int64[k, 3], row, row of the document that stays
in its stead (or, below 0, -1 - n for document n of an older corpus), similarity in millionths; ascending by
row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Cache
from dataprep.columnfile import read_columns
from dataprep.decide.verdicts import KEPT
from dataprep.stages import judge
from dataprep.stages.groups import Columns, Group
from dataprep.stages.rank import mapped

REMOVED = "removed.npy"
EQUAL_PPM = 1_000_000

Int64s = npt.NDArray[np.int64]
Removals = Sequence[Sequence[str]]
"""Kind of stage and key of each entry that holds removed documents."""


def removed_between(removals: Removals, cache: Cache, start: int, stop: int) -> Int64s:
    """int64[k, 3]: what some entries removed of the rows from start to stop, ascending."""
    parts = []
    for kind, key in removals:
        removed = mapped(cache.get(kind, key).file(REMOVED))
        first, last = np.searchsorted(removed[:, 0], (start, stop))
        parts.append(np.asarray(removed[first:last]))
    if not parts:
        return np.zeros((0, 3), dtype=np.int64)
    together = np.concatenate(parts)
    return together[np.argsort(together[:, 0], kind="stable")]


def write_removed(folder: Path, removed: Int64s) -> None:
    """Write `removed.npy`."""
    np.save(folder / REMOVED, removed[np.argsort(removed[:, 0])], allow_pickle=False)


def population(
    group: Group, label: str, judged: str, removals: Removals, cache: Cache
) -> npt.NDArray[np.bool_]:
    """bool [n]: the documents of a group that the decision `label` looks at."""
    code: Any = read_columns(cache.get(judge.STAGE, judged).file(judge.VERDICTS))["code"]
    chosen: npt.NDArray[np.bool_] = code == KEPT
    columns = Columns(group, cache)
    for index in range(len(group.splits)):
        if not columns.has(index, label):
            chosen[columns.place(index)] = False
    gone = removed_between(removals, cache, group.start, group.start + len(columns))
    chosen[gone[:, 0] - group.start] = False
    return chosen


def signal_of(group: Group, label: str, name: str, rows: Int64s, cache: Cache) -> Any:
    """A signal of some documents [ascending rows of the group], of splits that have the step; None where
    there are no documents, or the step has no such signal."""
    columns = Columns(group, cache)
    parts = []
    for index in range(len(group.splits)):
        place = columns.place(index)
        first, last = np.searchsorted(rows, (place.start, place.stop))
        if first < last and name in (signals := columns.of_split(index, label)):
            parts.append(signals[name][rows[first:last] - place.start])
    return np.concatenate(parts) if parts else None


def payload_of(
    group: Group, label: str, judged: Mapping[str, Any], removals: Removals
) -> dict[str, Any]:
    return {"group": group.to_json(), "label": label, "judged": judged["key"], "removals": list(removals)}
