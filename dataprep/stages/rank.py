"""RANK: the rank of every document, for the steps that choose between documents by the same keys.

One task: it reads three columns of all documents. Memory: `RANKED_AT_ONCE` documents of 60 bytes, whatever
their number; the two files that it leaves have 8 bytes a document each and are mapped by those who read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import BASE, FINAL
from dataprep.decide.ranks import best_first_in_ranges, write_part
from dataprep.recipe import Recipe
from dataprep.stages.base import Stage, Task
from dataprep.stages.groups import Columns, Group, columns_digest, group_of, narrowed

KIND = "rank"
VERSION = 1
RANKS = "ranks.npy"
"""int64[n]: the rank of each row."""
ROWS = "rows.npy"
"""int64[n]: the row of each rank."""
RANKED_AT_ONCE = 8_000_000
USUAL, NO_KEYS = ("source_priority", "longest"), "raw hash"


def stage_of(keep: Sequence[str]) -> Stage:
    """The stage that ranks by these keys; `keys_of` is the inverse."""
    return Stage(KIND, "" if tuple(keep) == USUAL else ", ".join(keep) or NO_KEYS)


def keys_of(stage: Stage) -> tuple[str, ...]:
    if stage.label in ("", NO_KEYS):
        return () if stage.label else USUAL
    return tuple(stage.label.split(", "))


def tasks_of(recipe: Recipe, groups: Sequence[Group], keep: Sequence[str]) -> list[Task]:
    """The one task for some `keep` keys."""
    mine = [narrowed(group, (BASE, FINAL)) for group in groups]
    components = {
        "version": VERSION,
        "keep": list(keep),
        "sources": list(recipe.sources),
        "columns": [columns_digest(group) for group in mine],
    }
    payload = {
        "groups": [group.to_json() for group in mine],
        "keep": list(keep),
        "sources": list(recipe.sources),
    }
    return [Task("all documents", key_of(components), components, payload)]


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    parts = []
    total = 0
    for value in payload["groups"]:
        group = group_of(value)
        columns = Columns(group, cache)
        raw_hash = columns.all(BASE, "raw_hash")[0]
        keys = [_key(name, columns, payload["sources"]) for name in payload["keep"]]
        parts.append(folder / f"part-{group.number}.npy")
        write_part(parts[-1], group.start, keys, raw_hash)
        total += len(columns)
    if not total:
        for name in (RANKS, ROWS):
            np.save(folder / name, np.zeros(0, dtype=np.int64), allow_pickle=False)
    else:
        _write_ranks(parts, total, folder)
    for part in parts:
        part.unlink()
    return {"documents": total}


def _write_ranks(parts: Sequence[Path], total: int, folder: Path) -> None:
    ranks = np.lib.format.open_memmap(folder / RANKS, mode="w+", dtype=np.int64, shape=(total,))
    rows = np.lib.format.open_memmap(folder / ROWS, mode="w+", dtype=np.int64, shape=(total,))
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


def _key(name: str, columns: Columns, sources: Sequence[str]) -> npt.NDArray[np.int64]:
    """int64 [n], lower is better."""
    if name == "source_priority":
        return columns.sources(sources).astype(np.int64)
    (text_bytes,) = columns.all(FINAL, "text_bytes")
    assert name == "longest"
    return np.asarray(-text_bytes, dtype=np.int64)


def ranks_in(entry: Entry) -> npt.NDArray[np.int64]:
    return mapped(entry.file(RANKS))


def rows_in(entry: Entry) -> npt.NDArray[np.int64]:
    return mapped(entry.file(ROWS))


def mapped(path: Path) -> Any:
    """An array in a file; an empty one cannot be mapped."""
    found = np.load(path, mmap_mode=None if path.stat().st_size <= 128 else "r", allow_pickle=False)
    return found
