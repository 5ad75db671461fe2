"""The verdict table: one row a document that was read, with what became of it and why, as Parquet.

Written beside the manifest on request (`dataprep run --verdicts`); no part of the corpus. Memory: the columns
of one split, and the places of all documents that a duplicate names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.chain import BASE
from dataprep.columnfile import hashes_to_arrow, read_columns
from dataprep.decide.verdicts import KEPT
from dataprep.plan import Plans
from dataprep.stages import decide, measure
from manifests.files import atomic_path

NAME = "verdicts.parquet"

SCHEMA = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("id", pa.string()),
        pa.field("path", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("raw_hash", pa.binary(16), nullable=False),
        pa.field("text_bytes", pa.int64(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("output", pa.string()),
        pa.field("reasons", pa.list_(pa.string()), nullable=False),
        pa.field("match_corpus", pa.string()),
        pa.field("match_source", pa.string()),
        pa.field("match_id", pa.string()),
        pa.field("match_path", pa.string()),
        pa.field("match_position", pa.int64()),
        pa.field("similarity", pa.float64()),
        pa.field("cluster_size", pa.int64(), nullable=False),
    ]
)
"""source: of the recipe. text_bytes: as read. verdict: "train", "holdout" or "dropped". output: the source of
the corpus that it is in. reasons: "step: reason", the one that it was dropped for first. match_...: the
document that it is a duplicate of, and that stays, maybe one of an older corpus (name@version); similarity:
Jaccard, 1 for an exact copy. cluster_size: how many documents this one stands for, itself included (1 for
those that do not stay)."""


def write_verdicts(plans: Plans, path: Path) -> int:
    """Write the table of a run whose DECIDE is done; return its rows."""
    rows = 0
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, SCHEMA, compression="zstd") as writer:
        for table in verdict_rows(plans):
            writer.write_table(table)
            rows += table.num_rows
    return rows


def verdict_rows(plans: Plans) -> Iterator[pa.Table]:
    """The rows of every split, in the order of the splits."""
    entry = plans.entries[decide.STAGE][0]
    places = Places(plans, read_columns(entry.file(decide.VERDICTS))["match"])
    for index, facts in enumerate(entry.facts["splits"]):
        yield _rows(plans, index, range(facts["documents"]), places)


def rows_of_split(plans: Plans, index: int) -> pa.Table:
    """The rows of one split."""
    return _rows(plans, index, range(plans.decided.facts["splits"][index]["documents"]))


def verdict_row(plans: Plans, index: int, row: int) -> dict[str, Any]:
    """One row of a split."""
    (found,) = _rows(plans, index, range(row, row + 1)).to_pylist()
    assert isinstance(found, dict)
    return found


def _rows(plans: Plans, index: int, rows: range, places: Places | None = None) -> pa.Table:
    """Some rows of a split. `places` holds the documents that they name as their better ones."""
    entry = plans.entries[decide.STAGE][0]
    start = entry.facts["splits"][index]["start"]
    verdict: Any = read_columns(entry.file(decide.VERDICTS), start + rows.start, len(rows))
    kept = verdict["code"] == KEPT
    outputs = np.array(list(plans.recipe.outputs), dtype=object)
    match = (places or Places(plans, verdict["match"])).of(verdict["match"])
    subset = np.where(verdict["heldout"], "holdout", "train")
    own = places_in(plans, index)
    columns = {
        **{name: column.slice(rows.start, len(rows)) for name, column in own.items()},
        "verdict": pa.array(np.where(kept, subset, "dropped"), pa.string()),
        "output": pa.array(outputs[verdict["output"]], pa.string(), mask=~kept),
        "reasons": reasons_of(verdict, [f"{label}: {reason}" for label, reason in entry.facts["reasons"]]),
        **{f"match_{name}": match[name] for name in PLACE},
        "similarity": pa.array(verdict["similarity_ppm"] / 1e6, mask=verdict["match"] == -1),
        "cluster_size": pa.array(verdict["cluster_size"]),
    }
    return pa.table({name: columns[name] for name in SCHEMA.names}, schema=SCHEMA)


def reasons_of(verdict: dict[str, Any], labels: Sequence[str]) -> pa.ListArray:
    """The reasons of each document, first the one that it was dropped for, then the others in order."""
    code = verdict["code"].astype(np.int64)
    applies = np.zeros((len(code), len(labels) + 1), dtype=bool)
    for number in range(1, len(labels) + 1):
        word, bit = divmod(number - 1, 64)
        applies[:, number] = (verdict[f"reasons{word}"] >> np.uint64(bit)) & np.uint64(1) > 0
    dropped = np.flatnonzero(code)
    applies[dropped, code[dropped]] = False
    applies[dropped, 0] = True  # the first place stands for the reason that counts
    rows, numbers = np.nonzero(applies)
    numbers = np.where(numbers == 0, code[rows], numbers)
    offsets = np.concatenate(([0], np.cumsum(applies.sum(axis=1))))
    names = pa.array(labels, pa.string()).take(pa.array(numbers - 1))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), names)


PLACE = ("corpus", "source", "id", "path", "position")
"""Of a document; `corpus` is null for one of this corpus."""


def places_in(plans: Plans, index: int) -> dict[str, pa.Array]:
    """What the documents of a split are called."""
    plan, keys = plans.splits[index], plans.keys[index]
    base: Any = read_columns(plans.cache.get(measure.STAGE, keys[BASE]).file(measure.COLUMNS))
    names = pa.array([extent.file.name for extent in plan.split.extents], pa.string())
    return {
        "corpus": pa.nulls(len(base["id"]), pa.string()),
        "source": pa.array([plan.split.source] * len(base["id"]), pa.string()),
        "id": base["id"],
        "path": names.take(pa.array(base["extent"])),
        "position": pa.array(base["position"], pa.int64()),
        "raw_hash": hashes_to_arrow(base["raw_hash"]),
        "text_bytes": pa.array(base["text_bytes"], pa.int64()),
    }


def _older_places(older: Sequence[Sequence[Any]], numbers: npt.NDArray[np.int64]) -> list[pa.Table]:
    """The places of documents of older corpora, in the order of their numbers, all of them below -1."""
    wanted = -2 - numbers[::-1]  # ascending
    tables = []
    first = 0
    for _, name, file, count in older:
        mine = wanted[(wanted >= first) & (wanted < first + count)] - first
        first += count
        if len(mine):
            columns = read_columns(Path(file))
            found = {each: pa.array(columns[each]).take(pa.array(mine)) for each in PLACE[1:]}
            tables.append(pa.table({"corpus": pa.array([name] * len(mine), pa.string()), **found}))
    if not tables:
        return []
    together = pa.concat_tables(tables)
    return [together.take(pa.array(np.arange(together.num_rows)[::-1]))]


class Places:
    """Where some documents came from. Each split that holds some of them is looked at once."""

    def __init__(self, plans: Plans, numbers: npt.NDArray[np.int64]) -> None:
        """`numbers`: of the documents over all splits, -1 for none, or below for those of older corpora (see
        stages/decide.py)."""
        self._numbers = np.unique(numbers[numbers != -1])
        facts = plans.entries[decide.STAGE][0].facts
        starts = [each["start"] for each in facts["splits"]]
        ours = self._numbers[self._numbers >= 0]
        split_of = np.searchsorted(starts, ours, side="right") - 1
        tables = [pa.table({name: pa.nulls(1, SCHEMA.field(f"match_{name}").type) for name in PLACE})]
        for index in np.unique(split_of).tolist():
            rows = pa.array(ours[split_of == index] - starts[index])
            places = places_in(plans, index)
            tables.append(pa.table({name: places[name].take(rows) for name in PLACE}))
        tables[1:1] = _older_places(facts["older"], self._numbers[self._numbers < 0])
        self._table = pa.concat_tables(tables).combine_chunks()

    def of(self, numbers: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
        """The places of those among them; null for -1."""
        rows = np.where(numbers == -1, 0, 1 + np.searchsorted(self._numbers, numbers))
        taken = self._table.take(pa.array(rows)).combine_chunks()
        return {name: taken.column(name).chunk(0) if len(numbers) else pa.nulls(0) for name in PLACE}
