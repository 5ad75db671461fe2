"""INDEX: what a later corpus needs in order to leave out what this one has (`publish_dedup: true`).

One file of the documents that stay, best first by the recipe's usual rank, and for each deduplication one of
their hashes or signatures; see `dataprep/older.py`. One task. Memory: the columns of one group, and 16 bytes
a document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import BASE, Link
from dataprep.columnfile import ColumnWriter, read_columns
from dataprep.decide.verdicts import KEPT
from dataprep.older import described
from dataprep.stages import decide
from dataprep.stages.base import Task
from dataprep.stages.groups import Columns, Group, columns_digest, group_of, narrowed
from dataprep.stages.measure import SplitPlan
from dataprep.stages.within import GROUP

STAGE = "index"
VERSION = 1
DOCUMENTS = "dedup-documents.arrow"
COMPARED = {"exact_dedup": "content_hash", "minhash_dedup": "signature"}
"""Step -> the signal that it compares."""


def file_of(label: str) -> str:
    return f"dedup-{label.replace('#', '-')}.arrow"


def tasks_of(
    links: Sequence[Link], groups: Sequence[Group], splits: Sequence[SplitPlan], decided: Entry
) -> list[Task]:
    """The one task; none without a deduplication."""
    if not links:
        return []
    names = [[[extent.file.name for extent in plan.split.extents]] for plan in splits]
    mine = [narrowed(group, {BASE, *(link.label for link in links)}) for group in groups]
    components = {
        "version": VERSION,
        "decided": decided.key,
        "columns": [columns_digest(group) for group in mine],
        "steps": {link.label: described(link) for link in links},
    }
    payload = {
        "groups": [group.to_json() for group in mine],
        "names": [each[0] for each in names],
        "decided": decided.key,
        "steps": {link.label: link.step.name for link in links},
    }
    return [Task("all documents", key_of(components), components, payload)]


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    """Write the files; documents are numbered in the order of their rows."""
    verdicts = cache.get(decide.STAGE, payload["decided"]).file(decide.VERDICTS)
    files = {label: file_of(label) for label in payload["steps"]}
    writers = {label: ColumnWriter(folder / name) for label, name in files.items()}
    counts = dict.fromkeys(files, 0)
    written = 0
    with ColumnWriter(folder / DOCUMENTS) as documents:
        for writer in writers.values():
            writer.__enter__()
        for value in payload["groups"]:
            group = group_of(value)
            columns = Columns(group, cache)
            for index in range(len(group.splits)):
                place = columns.place(index)
                count = place.stop - place.start
                code: Any = read_columns(verdicts, group.start + place.start, count)["code"]
                kept = np.flatnonzero(code == KEPT)
                names = payload["names"][group.first + index]
                documents.write(_documents(columns, index, kept, names, group.splits[index]["source"]))
                for label, step in payload["steps"].items():
                    compared = _compared(columns, index, label, COMPARED[step], kept, written)
                    if compared is not None:
                        writers[label].write(compared)
                        counts[label] += len(compared["document"])
                written += len(kept)
        for writer in writers.values():
            writer.__exit__(None, None, None)
    return {"documents": written, "files": files, "compared": counts}


def _documents(
    columns: Columns, index: int, kept: npt.NDArray[np.int64], names: Sequence[str], source: str
) -> dict[str, Any]:
    base = columns.of_split(index, BASE)
    paths = pa.array(names, pa.string()).take(pa.array(base["extent"][kept]))
    return {
        "source": pa.array([source] * len(kept), pa.string()),
        "id": base["id"].take(pa.array(kept)).cast(pa.string()),
        "path": paths,
        "position": base["position"][kept],
        "raw_hash": base["raw_hash"][kept],
    }


def _compared(
    columns: Columns, index: int, label: str, signal: str, kept: npt.NDArray[np.int64], first: int
) -> dict[str, Any] | None:
    """What a step compared of the documents of a split that stay."""
    if not columns.has(index, label):
        return None
    signals = columns.of_split(index, label)
    numbers = first + np.arange(len(kept))
    if "present" in signals:
        there = signals["present"][kept]
        kept, numbers = kept[there], numbers[there]
    group = signals[GROUP][kept] if GROUP in signals else np.zeros(len(kept), dtype=np.uint64)
    sole = {"sole": signals["sole"][kept]} if "sole" in signals else {}
    return {"document": numbers, signal: signals[signal][kept], **sole, GROUP: group}
