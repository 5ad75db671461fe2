"""Which stages the decisions over all documents need, and what each is planned from.

Decisions come after all rules, wherever the recipe has them: first the exact duplicates, then the near ones,
each over what those before it left. Decisions that choose by the same `keep` keys share a RANK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Entry
from dataprep.chain import Link, labels
from dataprep.recipe import Recipe
from dataprep.stages import copies, judge, near, rank, settle
from dataprep.stages.base import Stage, Task
from dataprep.stages.groups import Group
from dataprep.stages.measure import SplitPlan
from dataprep.stages.population import Removals
from dataprep.steps import step_of
from dataprep.steps.base import Decision

ORDER = ("exact_dedup", "minhash_dedup")
"""The steps in the order in which they decide."""


def kinds_of(link: Link) -> tuple[str, ...]:
    """The stages of a decision, in order. The last leaves what was removed."""
    if link.step.name == "exact_dedup":
        return (copies.HASHES, copies.COPIES)
    params: Any = link.params
    exactly = (settle.DOUBTS, settle.SHINGLES) if params.verify == "exact" else ()
    return (near.BANDS, near.PAIRS, *exactly, settle.KEEP)


@dataclass(frozen=True, slots=True)
class Planned:
    """What is known when a stage is planned: the entries of every stage before it."""

    recipe: Recipe
    groups: Sequence[Group]
    splits: Sequence[SplitPlan]
    keys: Sequence[Mapping[str, str]]
    entries: Mapping[str, Sequence[Entry]]


def decisions_of(recipe: Recipe) -> list[Link]:
    """The decisions in the order in which they decide."""
    links = [
        Link(label, step_of(entry.name), entry.parameters)
        for label, entry in zip(labels(recipe.steps), recipe.steps, strict=True)
    ]
    found = [link for link in links if isinstance(link.step, Decision)]
    return sorted(found, key=lambda link: ORDER.index(link.step.name))  # stable


def decision_stages(recipe: Recipe) -> list[Stage]:
    """All stages between JUDGE and DECIDE."""
    decisions = decisions_of(recipe)
    ranks = dict.fromkeys(rank.stage_of(link) for link in decisions)
    return [*ranks, *(Stage(kind, link.label) for link in decisions for kind in kinds_of(link))]


def decision_tasks(stage: Stage, planned: Planned) -> Sequence[Task]:
    """The tasks of one of these stages."""
    decisions = decisions_of(planned.recipe)
    if stage.kind == rank.KIND:
        first = next(each for each in decisions if rank.stage_of(each) == stage)
        return rank.tasks_of(planned.recipe, planned.groups, first)
    link = next(each for each in decisions if each.label == stage.label)
    removals = [
        each
        for earlier in decisions[: decisions.index(link)]
        for each in _removed_by(earlier, planned.entries)
    ]
    (ranked,) = planned.entries[rank.stage_of(link).name]
    judged = planned.entries[judge.STAGE]
    memory_bytes = planned.recipe.memory
    done = {kind: planned.entries.get(Stage(kind, link.label).name, ()) for kind in kinds_of(link)}
    match stage.kind:
        case copies.HASHES:
            return copies.hashes_tasks(link, planned.groups, judged, ranked, removals, memory_bytes)
        case copies.COPIES:
            return copies.copies_tasks(done[copies.HASHES], ranked, removals)
        case near.BANDS:
            return near.bands_tasks(link, planned.groups, judged, ranked, removals, memory_bytes)
        case near.PAIRS:
            return near.pairs_tasks(link, done[near.BANDS], ranked)
        case settle.DOUBTS:
            return [settle.doubts_task(done[near.PAIRS], ranked, _starts(planned.groups))]
        case settle.SHINGLES:
            (doubts,) = done[settle.DOUBTS]
            return settle.shingles_tasks(link, planned.splits, planned.keys, doubts, _starts(planned.groups))
        case settle.KEEP:
            found = next(iter(done.get(settle.DOUBTS, ())), None)
            shingled = done.get(settle.SHINGLES, ())
            return [settle.keep_task(link, done[near.PAIRS], ranked, removals, memory_bytes, found, shingled)]
    raise AssertionError(stage)


def _starts(groups: Sequence[Group]) -> npt.NDArray[np.int64]:
    """int64[splits + 1]: first row of each split."""
    counts = [count for group in groups for count in group.counts]
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def removals_of(planned: Planned) -> dict[str, Removals]:
    """Label of each decision -> the entries that hold what it removed."""
    return {link.label: _removed_by(link, planned.entries) for link in decisions_of(planned.recipe)}


def _removed_by(link: Link, entries: Mapping[str, Sequence[Entry]]) -> Removals:
    kind = kinds_of(link)[-1]
    return [[kind, entry.key] for entry in entries[Stage(kind, link.label).name]]
