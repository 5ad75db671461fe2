"""Groups: consecutive splits of the listing, so that a task over columns has enough to do.

A split has about ten thousand documents, and judging them takes milliseconds; so the stages between MEASURE
and WRITE take groups of splits, of at least `GROUP_DOCUMENTS` each but the last. Documents are numbered over
all splits in order: a row. Rows tell the stages of one run which document is meant, and get into no result
that a person sees.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Cache, Entry
from dataprep.columnfile import Column, read_columns
from dataprep.stages.measure import SplitPlan
from dataprep.stages.walk import COLUMNS, STAGE
from manifests.fingerprint import digest_value

GROUP_DOCUMENTS = 1 << 19

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Group:
    """Splits first to first + len(counts).

    number  of the group
    start   row of its first document
    counts  documents of each split
    splits  source and keys of the column sets of each split
    """

    number: int
    first: int
    start: int
    counts: tuple[int, ...]
    splits: tuple[dict[str, Any], ...]

    @property
    def documents(self) -> int:
        return sum(self.counts)

    def to_json(self) -> dict[str, Any]:
        """What a task needs of it; `group_of` is the inverse."""
        return {
            "number": self.number,
            "first": self.first,
            "start": self.start,
            "counts": list(self.counts),
            "splits": list(self.splits),
        }


def split_keys(plan: SplitPlan, measured: Mapping[str, str]) -> dict[str, str]:
    """The keys of all columns of a split, also those that the stages of a step left which changes no text:
    before their key stands the kind of the stage."""
    left = {
        link.label: f"{link.cut.kind} {link.cut.key}"
        for link in plan.chain
        if link.cut is not None and not link.rewrites
    }
    return {**measured, **left}


def columns_of(key: str, cache: Cache) -> dict[str, Any]:
    """The columns under a key of `Group.splits`."""
    kind, _, name = key.rpartition(" ")
    return read_columns(cache.get(kind or STAGE, name).file(COLUMNS))


def narrowed(group: Group, wanted: Collection[str]) -> Group:
    """The same group with these column sets only, so that a task depends on no others."""
    splits = [
        {**split, "keys": {name: key for name, key in split["keys"].items() if name in wanted}}
        for split in group.splits
    ]
    return Group(group.number, group.first, group.start, group.counts, tuple(splits))


def group_of(value: Mapping[str, Any]) -> Group:
    return Group(**{**value, "counts": tuple(value["counts"]), "splits": tuple(value["splits"])})


def groups_of(
    splits: Sequence[SplitPlan], keys: Sequence[Mapping[str, str]], base: Sequence[Entry]
) -> list[Group]:
    """Cut the measured splits into groups. `base`: the entries of their `base` columns."""
    groups: list[Group] = []
    begun: list[int] = []
    start, documents = 0, 0

    def close() -> None:
        nonlocal start, documents
        counts = tuple(base[index].facts["documents"] for index in begun)
        members = tuple(
            {"source": splits[i].split.source, "keys": split_keys(splits[i], keys[i])} for i in begun
        )
        groups.append(Group(len(groups), begun[0], start, counts, members))
        start, documents = start + documents, 0
        begun.clear()

    for index, entry in enumerate(base):
        begun.append(index)
        documents += entry.facts["documents"]
        if documents >= GROUP_DOCUMENTS:
            close()
    if begun:
        close()
    return groups


class Columns:
    """The measured columns of the documents of a group, a column set at a time."""

    def __init__(self, group: Group, cache: Cache) -> None:
        self._group, self._cache = group, cache
        self.starts = np.concatenate(([0], np.cumsum(group.counts, dtype=np.int64)))

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def splits(self) -> Sequence[Mapping[str, Any]]:
        return self._group.splits

    def place(self, index: int) -> slice:
        """Where the documents of a split are."""
        return slice(int(self.starts[index]), int(self.starts[index + 1]))

    def of_split(self, index: int, label: str) -> dict[str, Any]:
        return columns_of(self._group.splits[index]["keys"][label], self._cache)

    def has(self, index: int, label: str) -> bool:
        return label in self._group.splits[index]["keys"]

    def all(self, label: str, *names: str) -> list[Any]:
        """Some columns of a set that every split has, over all documents."""
        parts = [self.of_split(index, label) for index in range(len(self._group.splits))]
        return [_joined([part[name] for part in parts]) for name in names]

    def sources(self, names: Sequence[str]) -> npt.NDArray[np.int32]:
        """int32 [n]: the place of each document's source in `names`."""
        numbers = [names.index(split["source"]) for split in self._group.splits]
        return np.repeat(np.array(numbers, dtype=np.int32), self._group.counts)


def columns_digest(group: Group) -> str:
    """Of the columns of a group, in order, with their sources."""
    return digest_value(list(group.splits))


def signal_of(group: Group, label: str, name: str, rows: Rows, cache: Cache) -> Any:
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


def _joined(parts: Sequence[Column]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
