"""Which documents the steps that look at all documents look at: their population.

A decision's: the documents of its sources that passed every rule, wherever the rules stand in the recipe,
less those that the decisions before it removed. So a document that a rule drops never takes its copies with
it.

A CorpusEdit's: the documents of its sources that the rules above it kept. It takes a split at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import Link
from dataprep.columnfile import read_columns
from dataprep.older import Older
from dataprep.stages import judge, rank
from dataprep.stages.base import Task
from dataprep.stages.groups import Columns, Group, columns_digest, narrowed
from dataprep.stages.older import num_older
from dataprep.stages.removed import Removals, removed_between
from manifests.fingerprint import digest_value

Int64s = npt.NDArray[np.int64]


def population(
    group: Group, label: str, judged: str, removals: Removals, cache: Cache
) -> npt.NDArray[np.bool_]:
    """bool [n]: the documents of a group that the decision `label` looks at."""
    passed: Any = read_columns(cache.get(judge.STAGE, judged).file(judge.VERDICTS))["passed"]
    chosen: npt.NDArray[np.bool_] = passed.copy()
    columns = Columns(group, cache)
    for index in range(len(group.splits)):
        if not columns.has(index, label):
            chosen[columns.place(index)] = False
    gone = removed_between(removals, cache, group.start, group.start + len(columns))
    chosen[gone[:, 0] - group.start] = False
    return chosen


def payload_of(group: Group, label: str, judged: Entry, removals: Removals) -> dict[str, Any]:
    """What `population` needs, as JSON values."""
    return {"group": group.to_json(), "label": label, "judged": judged.key, "removals": list(removals)}


def group_tasks(
    link: Link,
    groups: Sequence[Group],
    judged: Sequence[Entry],
    ranked: Entry,
    removals: Removals,
    older: Sequence[Older],
    settings: Mapping[str, Any],
) -> list[Task]:
    """One task a group, for the first stage of a decision; `settings` are of its own."""
    tasks = []
    for group, entry in zip(groups, judged, strict=True):
        components = {
            "columns": columns_digest(narrowed(group, (link.label,))),
            "passed": entry.facts["passed_digest"],
            "start": group.start,
            "ranks": ranked.key,
            "older": num_older(older),
            "removals": digest_value(list(removals)),
            **settings,
        }
        payload = {
            **payload_of(group, link.label, entry, removals),
            "ranks": rank.reference(ranked, older),
            **settings,
        }
        tasks.append(Task(f"group {group.number}", key_of(components), components, payload))
    return tasks


@dataclass(frozen=True, slots=True)
class Member:
    """A split that a CorpusEdit looks at: the one at `place` of its group."""

    group: Group
    place: int

    @property
    def number(self) -> int:
        """Of the split, in the listing."""
        return self.group.first + self.place

    @property
    def first(self) -> int:
        """Documents of the group before it."""
        return sum(self.group.counts[: self.place])

    @property
    def start(self) -> int:
        """Row of its first document."""
        return self.group.start + self.first

    @property
    def count(self) -> int:
        return self.group.counts[self.place]

    @property
    def source(self) -> str:
        return str(self.group.splits[self.place]["source"])

    @property
    def name(self) -> str:
        return f"{self.source}, split {self.number}"

    def units(self, link: Link) -> str:
        """Key of what the step measured."""
        return str(self.group.splits[self.place]["keys"][link.units])

    def judged(self, entries: Sequence[Entry]) -> list[Any]:
        """Where `passed` finds which documents the rules kept."""
        return [entries[self.group.number].key, self.first, self.count]

    def passed_digest(self, entries: Sequence[Entry]) -> str:
        """Of which documents the rules kept."""
        return str(entries[self.group.number].facts["passed_digests"][self.place])


def members_of(link: Link, groups: Sequence[Group]) -> list[Member]:
    """The splits that a CorpusEdit looks at, in the order of the listing."""
    return [
        Member(group, place)
        for group in groups
        for place, split in enumerate(group.splits)
        if link.units in split["keys"]
    ]


def passed(judged: Sequence[Any], cache: Cache) -> npt.NDArray[np.bool_]:
    """bool[n]: the documents of a split that the rules kept; `judged` is that of a Member."""
    key, first, count = judged
    columns: Any = read_columns(cache.get(judge.STAGE, key).file(judge.VERDICTS), first, count)
    kept: npt.NDArray[np.bool_] = columns["passed"]
    return kept
