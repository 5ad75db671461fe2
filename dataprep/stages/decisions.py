"""Which stages the steps that look at all documents need, and what each is planned from.

Steps that take parts out of texts (a CorpusEdit) come first, in the order of the recipe, each over what the
rules above it kept, and each with another MEASURE behind it for what stands below.

Decisions come after all rules, wherever the recipe has them: first the exact duplicates, then the near ones,
each over what those before it left. Decisions that choose by the same `keep` keys share a RANK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Entry
from dataprep.chain import Cut, Link, labels
from dataprep.older import older_of
from dataprep.recipe import Recipe
from dataprep.stages import contaminated, copies, judge, measure, near, passages, rank, repeats, settle
from dataprep.stages.base import Stage, Task
from dataprep.stages.groups import Group
from dataprep.stages.measure import SplitPlan
from dataprep.stages.population import members_of
from dataprep.stages.removed import Removals
from dataprep.steps import step_of
from dataprep.steps.base import CorpusEdit, Decision

ORDER = ("exact_dedup", "minhash_dedup")
"""The steps in the order in which they decide."""

BY_UNITS = (judge.STAGE, rank.KIND, repeats.UNITS, repeats.REPEATS, repeats.CUTS)
BY_PASSAGES = (passages.PASSAGES, passages.LAYOUT, passages.WINDOWS, passages.MATCHES, passages.SPANS)
EDIT_KINDS = {
    "line_dedup": BY_UNITS,
    "paragraph_dedup": BY_UNITS,
    "sentence_dedup": BY_UNITS,
    "substring_dedup": (judge.STAGE, rank.KIND, *BY_PASSAGES),
    "decontaminate": (judge.STAGE, contaminated.GRAMS, contaminated.EVIDENCE, contaminated.EXAMPLES),
}
"""The stages of each CorpusEdit, in order; MEASURE comes after them if it changes texts."""

CUTTING = (repeats.CUTS, passages.SPANS, contaminated.EVIDENCE)
"""Kinds of stages that leave, of each split, what a CorpusEdit makes of it."""


def cutting_kind_of(link: Link) -> str:
    return next(kind for kind in EDIT_KINDS[link.step.name] if kind in CUTTING)


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
    cuts: Mapping[str, Entry]
    """Of CAP: those of the sources that have one."""


def _links(recipe: Recipe) -> list[Link]:
    return [
        Link(label, step_of(entry.name), entry.parameters)
        for label, entry in zip(labels(recipe.steps), recipe.steps, strict=True)
    ]


def decisions_of(recipe: Recipe) -> list[Link]:
    """The decisions in the order in which they decide."""
    found = [link for link in _links(recipe) if isinstance(link.step, Decision)]
    return sorted(found, key=lambda link: ORDER.index(link.step.name))  # stable


def edits_of(recipe: Recipe) -> list[Link]:
    """The steps that take parts out of texts, in order."""
    return [link for link in _links(recipe) if isinstance(link.step, CorpusEdit)]


def edit_stages(recipe: Recipe) -> list[Stage]:
    """The stages of those steps, after the first MEASURE."""
    stages = []
    for link in edits_of(recipe):
        again = (measure.STAGE,) if link.rewrites else ()
        stages += [Stage(kind, link.label) for kind in (*EDIT_KINDS[link.step.name], *again)]
    return stages


def edit_tasks(stage: Stage, planned: Planned) -> Sequence[Task]:
    """The tasks of one of these, but MEASURE."""
    link = next(each for each in edits_of(planned.recipe) if each.label == stage.label)
    groups, memory_bytes = planned.groups, planned.recipe.memory

    def made(kind: str) -> Sequence[Entry]:
        return planned.entries[Stage(kind, link.label).name]

    match stage.kind:
        case judge.STAGE:
            return judge.tasks_of(planned.recipe, groups, planned.cuts, until=link.label)
        case rank.KIND:
            return rank.tasks_of(planned.recipe, groups, link)
        case repeats.UNITS:
            text_bytes = sum(entry.facts["text_bytes"] for entry in planned.entries[measure.STAGE])
            judged, (ranked,) = made(judge.STAGE), made(rank.KIND)
            return repeats.units_tasks(link, groups, judged, ranked, text_bytes, memory_bytes)
        case repeats.REPEATS:
            return repeats.repeats_tasks(link, made(repeats.UNITS), *made(rank.KIND))
        case repeats.CUTS:
            return repeats.cuts_tasks(link, groups, made(repeats.REPEATS))
        case passages.PASSAGES:
            splits, keys = planned.splits, planned.keys
            return passages.passages_tasks(link, groups, splits, keys, made(judge.STAGE))
        case passages.LAYOUT:
            return passages.layout_tasks(link, groups, made(passages.PASSAGES), *made(rank.KIND))
        case passages.WINDOWS:
            written, layouts, (ranked,) = made(passages.PASSAGES), made(passages.LAYOUT), made(rank.KIND)
            return passages.windows_tasks(link, groups, written, layouts, ranked, memory_bytes)
        case passages.MATCHES:
            written, layouts = made(passages.PASSAGES), made(passages.LAYOUT)
            windowed = made(passages.WINDOWS)
            return passages.matches_tasks(link, groups, written, layouts, windowed, memory_bytes)
        case passages.SPANS:
            written, windowed = made(passages.PASSAGES), made(passages.WINDOWS)
            return passages.spans_tasks(link, groups, written, windowed, made(passages.MATCHES))
        case contaminated.GRAMS:
            return [contaminated.grams_task(link, groups, made(judge.STAGE))]
        case contaminated.EVIDENCE:
            judged, (counted,) = made(judge.STAGE), made(contaminated.GRAMS)
            return contaminated.evidence_tasks(link, groups, judged, counted)
        case contaminated.EXAMPLES:
            return [contaminated.examples_task(link, made(contaminated.EVIDENCE), *made(contaminated.GRAMS))]
    raise AssertionError(stage)


def with_cuts(label: str, planned: Planned) -> dict[int, SplitPlan]:
    """The splits that a CorpusEdit looked at, by number, with what it takes out of them."""
    link = next(each for each in edits_of(planned.recipe) if each.label == label)
    found = {}
    entries = planned.entries[Stage(cutting_kind_of(link), label).name]
    for member, entry in zip(members_of(link, planned.groups), entries, strict=True):
        plan = planned.splits[member.number]
        cut = Cut(entry.facts["digest"], entry.receipt["stage"], entry.key)
        chain = tuple(replace(each, cut=cut) if each.label == label else each for each in plan.chain)
        found[member.number] = replace(plan, chain=chain)
    return found


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
    older = older_of(link)
    match stage.kind:
        case copies.HASHES:
            return copies.hashes_tasks(link, planned.groups, judged, ranked, removals, memory_bytes, older)
        case copies.COPIES:
            return copies.copies_tasks(done[copies.HASHES], ranked, removals, older)
        case near.BANDS:
            return near.bands_tasks(link, planned.groups, judged, ranked, removals, memory_bytes, older)
        case near.PAIRS:
            return near.pairs_tasks(link, done[near.BANDS], ranked, older)
        case settle.DOUBTS:
            return [settle.doubts_task(done[near.PAIRS], ranked, _starts(planned.groups), older)]
        case settle.SHINGLES:
            (doubts,) = done[settle.DOUBTS]
            return settle.shingles_tasks(link, planned.splits, planned.keys, doubts, _starts(planned.groups))
        case settle.KEEP:
            found = next(iter(done.get(settle.DOUBTS, ())), None)
            shingled = done.get(settle.SHINGLES, ())
            return [
                settle.keep_task(
                    link, done[near.PAIRS], ranked, removals, memory_bytes, older, found, shingled
                )
            ]
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
