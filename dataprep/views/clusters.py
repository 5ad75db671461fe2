"""Clusters of duplicates: a document that stays, and those that were removed with its name as their match.

Found in the verdicts of the last run. Counting goes over all verdicts once for each `COUNTED_AT_ONCE`
documents, so that memory does not grow with the corpus: 4 bytes for each of these, the verdicts of one split,
and what is shown. The texts are in `duplicates.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.columnfile import read_columns
from dataprep.plan import Plans
from dataprep.stages import decide

COUNTED_AT_ONCE = 1 << 26

Int64s = npt.NDArray[np.int64]


class Copy(NamedTuple):
    """A removed document, the label of the step that removed it, and how similar it is to what stays."""

    row: int
    step: str
    similarity_ppm: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """keeper   row of the document that stays; below -1 one of an older corpus (see stages/decide.py)
    copies   how many name it
    steps    label -> how many of them that step removed
    sources  source -> how many of them are in it
    shown    the least similar of them, the first first
    """

    keeper: int
    copies: int
    steps: dict[str, int]
    sources: dict[str, int]
    shown: tuple[Copy, ...]


@dataclass(frozen=True, slots=True)
class Clusters:
    """The largest clusters, and how many there are: clusters, and copies in all of them."""

    count: int
    copies: int
    largest: tuple[Cluster, ...]


class _Copies(NamedTuple):
    """Columns of some removed documents; `source` is of all of them."""

    source: str
    rows: Int64s
    match: Int64s
    similarity_ppm: Int64s
    code: Int64s


def largest_clusters(plans: Plans, step: str | None, source: str | None, top: int, shown: int) -> Clusters:
    """The `top` largest, each with `shown` of its copies; of equal ones those whose document comes first.

    step, source   count only copies that this step removed, or that are in this source
    """
    total = plans.decided.facts["documents"]
    first = -1 - sum(each[-1] for each in plans.decided.facts["older"])
    sizes, keepers = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    count = copies = 0
    for start in range(first, total, COUNTED_AT_ONCE):
        counts = np.zeros(min(COUNTED_AT_ONCE, total - start), dtype=np.int32)
        for each in _copies(plans, step, source):
            inside = each.match[(each.match >= start) & (each.match < start + len(counts))]
            np.add.at(counts, inside - start, 1)
        some = np.flatnonzero(counts)
        count, copies = count + len(some), copies + int(counts.sum(dtype=np.int64))
        sizes = np.concatenate([sizes, counts[some].astype(np.int64)])
        keepers = np.concatenate([keepers, start + some])
        best = np.lexsort((keepers, -sizes))[:top]
        sizes, keepers = sizes[best], keepers[best]
    return Clusters(count, copies, _described(plans, step, source, keepers, sizes, shown))


def _described(
    plans: Plans, step: str | None, source: str | None, keepers: Int64s, sizes: Int64s, shown: int
) -> tuple[Cluster, ...]:
    """The clusters of some keepers, in this order."""
    ascending = np.argsort(keepers)
    labels = [label for label, _ in plans.decided.facts["reasons"]]
    steps = np.zeros((len(keepers), len(labels) + 1), dtype=np.int64)
    sources: list[dict[str, int]] = [{} for _ in keepers]
    held = np.zeros((0, 4), dtype=np.int64)  # cluster, similarity, row, code
    for each in _copies(plans, step, source):
        places = np.minimum(np.searchsorted(keepers[ascending], each.match), len(keepers) - 1)
        cluster = ascending[places]
        mine = keepers[cluster] == each.match
        rows = np.column_stack([cluster, each.similarity_ppm, each.rows, each.code])[mine]
        np.add.at(steps, (rows[:, 0], rows[:, 3]), 1)
        for number, some in zip(*np.unique(rows[:, 0], return_counts=True), strict=True):
            sources[number][each.source] = sources[number].get(each.source, 0) + int(some)
        held = _first_of_each(np.concatenate([held, rows]), shown)
    return tuple(
        Cluster(
            int(keepers[number]),
            int(sizes[number]),
            {labels[code - 1]: int(steps[number, code]) for code in np.flatnonzero(steps[number]).tolist()},
            sources[number],
            tuple(
                Copy(row, labels[code - 1], similarity)
                for _, similarity, row, code in held[held[:, 0] == number].tolist()
            ),
        )
        for number in range(len(keepers))
    )


def _first_of_each(rows: Int64s, shown: int) -> Int64s:
    """The first rows of each cluster, by similarity and then by row."""
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    place = np.arange(len(rows)) - np.searchsorted(rows[:, 0], rows[:, 0])
    return rows[place < shown]


def _copies(plans: Plans, step: str | None, source: str | None) -> Iterator[_Copies]:
    """Removed documents that name another, split by split."""
    entry = plans.decided
    codes = [number for number, (label, _) in enumerate(entry.facts["reasons"], start=1) if label == step]
    path = entry.file(decide.VERDICTS)
    for plan, facts in zip(plans.splits, entry.facts["splits"], strict=True):
        if source is not None and plan.split.source != source:
            continue
        verdict: Any = read_columns(path, facts["start"], facts["documents"])
        chosen = verdict["match"] != -1
        if step is not None:
            chosen &= np.isin(verdict["code"], codes)
        rows = np.flatnonzero(chosen)
        if len(rows):
            yield _Copies(
                plan.split.source,
                facts["start"] + rows,
                verdict["match"][rows],
                verdict["similarity_ppm"][rows].astype(np.int64),
                verdict["code"][rows].astype(np.int64),
            )
