"""RANK: the rank of every document, for the steps that choose between documents by the same keys.

One task: it reads four columns of all documents. Memory: `RANKED_AT_ONCE` documents of 70 bytes, whatever
their number; the two files that it leaves have 8 bytes a document each and are mapped by those who read them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import mapped, new_mapped, save_array
from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import BASE, FINAL, Link
from dataprep.decide.ranks import best_first_in_ranges, write_part
from dataprep.older import Older
from dataprep.recipe import Recipe
from dataprep.stages.base import Stage, Task
from dataprep.stages.groups import Columns, Group, columns_digest, group_of, narrowed
from dataprep.stages.walk import MEASURED
from dataprep.steps.base import CorpusEdit
from dataprep.steps.listed import hashed
from dataprep.steps.ranking import NO_VALUE, RankingParams, ranks_of, signal_words

KIND = "rank"
VERSION = 2
RANKS = "ranks.npy"
"""int64[n]: the rank of each row."""
ROWS = "rows.npy"
"""int64[n]: the row of each rank."""
Int64s = npt.NDArray[np.int64]
RANKED_AT_ONCE = 8_000_000
USUAL = RankingParams().keep


def stage_of(link: Link) -> Stage:
    """The stage that ranks for a decision: one for all that choose alike, but where a carried field is looked
    at, which each of them has measured for itself, or a signal. A CorpusEdit has one of its own, since how
    long documents will be is not known yet: it looks at the text as read."""
    params: Any = link.params
    if params.order_fields or params.order_signals or isinstance(link.step, CorpusEdit):
        return Stage(KIND, link.label)
    return Stage(KIND, "" if params.keep == USUAL else ", ".join(params.keep) or "raw hash")


def tasks_of(recipe: Recipe, groups: Sequence[Group], link: Link) -> list[Task]:
    """The one task for the `keep` keys of a decision."""
    params: Any = link.params
    is_edit = isinstance(link.step, CorpusEdit)
    sizes, measured = (BASE, link.units) if is_edit else (FINAL, link.label)
    wanted = {BASE, sizes, *([measured] if params.order_fields else [])}
    wanted |= {signal.rpartition(".")[0] for signal in params.order_signals}
    mine = [narrowed(group, wanted) for group in groups]
    keep = params.model_dump(mode="json")["keep"]
    components = {
        "version": VERSION,
        "keep": keep,
        "sources": list(recipe.sources),
        "columns": [columns_digest(group) for group in mine],
    }
    payload = {
        "groups": [group.to_json() for group in mine],
        "keep": keep,
        "sizes": sizes,
        "measured": measured,
        "sources": list(recipe.sources),
    }
    return [Task("all documents", key_of(components), components, payload)]


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    params = RankingParams.model_validate_json(json.dumps({"keep": payload["keep"]}))
    parts = []
    total = 0
    for value in payload["groups"]:
        group = group_of(value)
        columns = Columns(group, cache)
        raw_hash = columns.all(BASE, "raw_hash")[0]
        (text_bytes,) = columns.all(payload["sizes"], "text_bytes")
        orders: dict[str, npt.NDArray[Any]] = {
            f"order_{name}": _order(columns, payload["measured"], name) for name in params.order_fields
        }
        orders |= {signal: _signal(columns, signal) for signal in params.order_signals}
        is_empty = (text_bytes == 0).astype(np.int64)  # so that no copy goes for one without text
        keys = [is_empty, *ranks_of(params, orders, columns.sources(payload["sources"]), text_bytes)]
        parts.append(folder / f"part-{group.number}.npy")
        names = np.column_stack([raw_hash, _names(columns, payload["sources"])])
        write_part(parts[-1], group.start, keys, names)
        total += len(columns)
    if not total:
        for name in (RANKS, ROWS):
            save_array(folder / name, np.zeros(0, dtype=np.int64))
    else:
        _write_ranks(parts, total, folder)
    for part in parts:
        part.unlink()
    return {"documents": total}


def _write_ranks(parts: Sequence[Path], total: int, folder: Path) -> None:
    ranks = new_mapped(folder / RANKS, total)
    rows = new_mapped(folder / ROWS, total)
    scratch = folder / "ranges"
    scratch.mkdir()
    rank = 0
    for best in best_first_in_ranges(parts, RANKED_AT_ONCE, scratch):
        rows[rank : rank + len(best)] = best
        ranks[best] = np.arange(rank, rank + len(best))
        rank += len(best)
    scratch.rmdir()
    ranks.flush()
    rows.flush()


def _names(columns: Columns, sources: Sequence[str]) -> npt.NDArray[np.uint64]:
    """uint64[n]: place of the source (16 bits) and a hash of the own id, so that of equal texts the one that
    stays is the same whatever the order of files."""
    found = columns.sources(sources).astype(np.uint64) << np.uint64(48)
    for index in range(len(columns.splits)):
        found[columns.place(index)] |= hashed(columns.of_split(index, BASE)["id"])[:, 0] >> np.uint64(16)
    return found


def _order(columns: Columns, label: str, name: str) -> npt.NDArray[np.uint64]:
    """uint64[n, 3]: see `steps/ranking.py`; documents that the step does not look at have no value."""
    found = np.full((len(columns), 3), NO_VALUE, dtype=np.uint64)
    for index in range(len(columns.splits)):
        if columns.has(index, label):
            found[columns.place(index)] = columns.of_split(index, label)[f"order_{name}"]
    return found


def _signal(columns: Columns, name: str) -> npt.NDArray[np.int64]:
    """int64[n, 2]: see `signal_words`; documents that the step did not see have no value."""
    label, _, signal = name.rpartition(".")
    found = np.tile(np.array([1, 0], dtype=np.int64), (len(columns), 1))
    for index in range(len(columns.splits)):
        if columns.has(index, label):
            measured = columns.of_split(index, label)
            words = signal_words(measured[signal])
            if MEASURED in measured:
                words[~measured[MEASURED]] = (1, 0)
            found[columns.place(index)] = words
    return found


def reference(entry: Entry, older: Sequence[Older]) -> list[Any]:
    """How a task names the ranks; `of_reference` is the inverse."""
    return [entry.receipt["stage"], entry.key, sum(each.count for each in older)]


def of_reference(value: Sequence[Any], cache: Cache) -> Ranks:
    kind, key, num_older = value
    return Ranks(cache.get(kind, key), num_older)


class Ranks:
    """The ranks of our documents, behind those of older corpora, which have the ranks from 0 on.

    An older document of rank j has the row `total + j`, `total` being the number of ours.
    """

    def __init__(self, entry: Entry, num_older: int = 0) -> None:
        self._ranks, self._rows = mapped(entry.file(RANKS)), mapped(entry.file(ROWS))
        self.num_older = num_older
        self.total = len(self._rows)

    def of(self, rows: Int64s) -> Int64s:
        """The ranks of some of our documents."""
        return np.asarray(self._ranks[rows]) + self.num_older

    def rows(self, ranks: Int64s) -> Int64s:
        """The rows of some documents, ours or older."""
        is_ours = ranks >= self.num_older
        found = ranks + self.total
        found[is_ours] = self._rows[ranks[is_ours] - self.num_older]
        return found
