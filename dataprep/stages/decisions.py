"""Which stages the decisions over all documents need, and what each is planned from.

Decisions come after all rules, wherever the recipe has them: first the exact duplicates, then the near ones,
each over what those before it left. Decisions that choose by the same `keep` keys share a RANK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.cache import Entry
from dataprep.chain import Link, labels
from dataprep.recipe import Recipe
from dataprep.stages import copies, judge, rank
from dataprep.stages.base import Stage, Task
from dataprep.stages.groups import Group
from dataprep.stages.measure import SplitPlan
from dataprep.stages.population import Removals
from dataprep.steps import step_of
from dataprep.steps.base import Decision

KINDS_OF: dict[str, tuple[str, ...]] = {
    "exact_dedup": (copies.HASHES, copies.COPIES),
}
"""Step -> its stages, in order; decisions of steps further up come first. The last stage leaves what was
removed."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What is known when a stage is planned: the entries of every stage before it."""

    recipe: Recipe
    groups: Sequence[Group]
    splits: Sequence[SplitPlan]
    entries: Mapping[str, Sequence[Entry]]


def decisions_of(recipe: Recipe) -> list[Link]:
    """The decisions in the order in which they decide."""
    links = [
        Link(label, step_of(entry.name), entry.parameters)
        for label, entry in zip(labels(recipe.steps), recipe.steps, strict=True)
    ]
    order = list(KINDS_OF)
    found = [link for link in links if isinstance(link.step, Decision)]
    return sorted(found, key=lambda link: order.index(link.step.name))  # stable


def decision_stages(recipe: Recipe) -> list[Stage]:
    """All stages between JUDGE and DECIDE."""
    decisions = decisions_of(recipe)
    ranks = dict.fromkeys(rank.stage_of(_keep(link)) for link in decisions)
    return [*ranks, *(Stage(kind, link.label) for link in decisions for kind in KINDS_OF[link.step.name])]


def decision_tasks(stage: Stage, planned: Planned) -> Sequence[Task]:
    """The tasks of one of these stages."""
    if stage.kind == rank.KIND:
        return rank.tasks_of(planned.recipe, planned.groups, stage.label.split())
    decisions = decisions_of(planned.recipe)
    link = next(each for each in decisions if each.label == stage.label)
    removals = [
        each
        for earlier in decisions[: decisions.index(link)]
        for each in _removed_by(earlier, planned.entries)
    ]
    (ranked,) = planned.entries[rank.stage_of(_keep(link)).name]
    judged = planned.entries[judge.STAGE]
    match stage.kind:
        case copies.HASHES:
            memory_bytes = planned.recipe.memory
            return copies.hashes_tasks(link, planned.groups, judged, ranked, removals, memory_bytes)
        case copies.COPIES:
            return copies.copies_tasks(planned.entries[Stage(copies.HASHES, link.label).name], ranked)
    raise AssertionError(stage)


def removals_of(planned: Planned) -> dict[str, Removals]:
    """Label of each decision -> the entries that hold what it removed."""
    return {link.label: _removed_by(link, planned.entries) for link in decisions_of(planned.recipe)}


def _removed_by(link: Link, entries: Mapping[str, Sequence[Entry]]) -> Removals:
    kind = KINDS_OF[link.step.name][-1]
    return [[kind, entry.key] for entry in entries[Stage(kind, link.label).name]]


def _keep(link: Link) -> tuple[str, ...]:
    params: Any = link.params
    return tuple(params.keep)
