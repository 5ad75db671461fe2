"""From a recipe, a listing and the work folder to the tasks that are to run, and why.

Planning reads receipts and lists files; it reads no text and writes nothing. The stages form a line, and a
stage can be planned once every stage before it is done: JUDGE needs the keys of all columns, PACK the
histograms of all run files. `Plans.next` gives the next stage, `Plans.done` takes its entries; `run.py`
loops over the two, and `dataprep plan` stops at the first stage that has something to do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dataprep.cache import Cache, Entry
from dataprep.chain import BASE, Link, chain_of
from dataprep.fingerprints import Fingerprints
from dataprep.readers import InputFile
from dataprep.readers.splits import make_splits
from dataprep.recipe import Recipe
from dataprep.stages import (
    cap,
    decide,
    fit,
    index,
    judge,
    measure,
    pack,
    sample,
    tokenizer,
    write,
)
from dataprep.stages.base import Stage, Task
from dataprep.stages.decisions import (
    CUTTING,
    Planned,
    decision_stages,
    decision_tasks,
    decisions_of,
    edit_stages,
    edit_tasks,
    removals_of,
    with_cuts,
)
from dataprep.stages.groups import Group, groups_of
from dataprep.stages.measure import SplitPlan
from dataprep.why import explain, explain_extents
from manifests.shard import dtype_for_vocab


def stages_of(recipe: Recipe) -> tuple[Stage, ...]:
    """The stages of a run, in order."""
    first = [measure.STAGE, *([cap.STAGE] if cap.capped_sources(recipe) else [])]
    last = [decide.STAGE, sample.STAGE, tokenizer.STAGE, write.STAGE, pack.STAGE]
    if recipe.shards.sequence_lengths:
        last.append(fit.STAGE)
    if recipe.publish_dedup and decisions_of(recipe):
        last.append(index.STAGE)
    return (
        *map(Stage, first),
        *edit_stages(recipe),
        Stage(judge.STAGE),
        *decision_stages(recipe),
        *map(Stage, last),
    )


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task, its entries if it is done, and why it runs if it is not (`reason` is empty when done)."""

    task: Task
    entries: tuple[Entry, ...]
    reason: str

    @property
    def is_done(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class StagePlan:
    """The tasks of one stage, in an order that depends on the recipe and the listing alone."""

    of: Stage
    tasks: tuple[PlannedTask, ...]

    @property
    def stage(self) -> str:
        return self.of.name

    @property
    def to_run(self) -> list[int]:
        return [index for index, each in enumerate(self.tasks) if not each.is_done]

    def reasons(self) -> dict[str, int]:
        """Reason -> number of tasks, most frequent first."""
        counts: dict[str, int] = {}
        for each in self.tasks:
            if each.reason:
                counts[each.reason] = counts.get(each.reason, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def list_splits(
    recipe: Recipe, files: Mapping[str, Sequence[Sequence[InputFile]]], fingerprints: Fingerprints
) -> list[SplitPlan]:
    """Cut the listed files (source -> its inputs -> files) into splits; what is known of an extent's bytes
    comes from `fingerprints`."""
    plans = []
    for name, source in recipe.sources.items():
        chain = chain_of(recipe, name)
        for each, listed in zip(source.inputs, files[name], strict=True):
            options = recipe.read_options(source, each)
            for split in make_splits(name, each.format, listed, options):
                digests = tuple(fingerprints.find(extent) for extent in split.extents)
                plans.append(SplitPlan(split, options, chain, digests))
    return plans


@dataclass(slots=True)
class Plans:
    """The stages of one run, planned one after the other."""

    recipe: Recipe
    cache: Cache
    splits: list[SplitPlan]
    last: Mapping[str, Any]
    entries: dict[str, list[Entry]] = field(default_factory=dict)
    keys: list[dict[str, str]] = field(default_factory=list)
    """Column set -> key, of every split, once MEASURE is done."""
    unchecked: dict[str, list[Entry]] = field(default_factory=dict)
    """Entries that an earlier run left and nobody has held against their digests yet, by stage."""
    _groups: list[Group] | None = None

    def next(self) -> StagePlan | None:
        """The first stage that is not done yet, or None."""
        for stage in stages_of(self.recipe):
            if stage.name not in self.entries:
                if stage.kind == measure.STAGE:
                    return self._plan_measure(stage)
                return self._plan(stage, self._tasks(stage))
        return None

    def _tasks(self, stage: Stage) -> Sequence[Task]:
        if stage in edit_stages(self.recipe):
            return edit_tasks(stage, self.planned)
        match stage.kind:
            case cap.STAGE:
                return cap.tasks_of(self.recipe, self.groups)
            case judge.STAGE:
                return judge.tasks_of(self.recipe, self.groups, self.planned.cuts)
            case decide.STAGE:
                judged, base = self.entries[judge.STAGE], self.entries[measure.STAGE]
                return [decide.task_of(self.recipe, self.groups, judged, base, removals_of(self.planned))]
            case sample.STAGE:
                return sample.tasks_of(self.splits, self.keys, self.decided)
            case tokenizer.STAGE:
                return [tokenizer.task_of(self.recipe, self.entries[sample.STAGE])]
            case write.STAGE:
                tokenized = self.entries[tokenizer.STAGE][0]
                return write.tasks_of(
                    self.recipe, self.splits, self.keys, self.decided, tokenized, self.dtype
                )
            case index.STAGE:
                links = decisions_of(self.recipe)
                return index.tasks_of(links, self.groups, self.splits, self.decided)
            case pack.STAGE:
                return self.pack_tasks
            case fit.STAGE:
                packed = list(zip(self.pack_tasks, self.entries[pack.STAGE], strict=True))
                return fit.tasks_of(self.recipe, packed)
        return decision_tasks(stage, self.planned)

    @property
    def planned(self) -> Planned:
        """What the stages of decisions are planned from."""
        capped = cap.capped_sources(self.recipe) if cap.STAGE in self.entries else ()
        cuts = dict(zip(capped, self.entries.get(cap.STAGE, ()), strict=True))
        return Planned(self.recipe, self.groups, self.splits, self.keys, self.entries, cuts)

    @property
    def groups(self) -> list[Group]:
        """The measured splits, in groups; made again only when a stage is done."""
        if self._groups is None:
            self._groups = groups_of(self.splits, self.keys, self.entries[measure.STAGE])
        return self._groups

    @property
    def decided(self) -> Entry:
        return self.entries[decide.STAGE][0]

    def done(self, stage: Stage, entries: Sequence[Entry]) -> None:
        """Take the finished entries of the stage that `next` gave, in task order (MEASURE: the `base`
        sets)."""
        if stage.kind == measure.STAGE:
            self.keys = []
            for plan in self.splits:
                keys = plan.keys()
                assert keys is not None
                self.keys.append(keys)
        self.entries[stage.name] = list(entries)
        self._groups = None
        if stage.kind in CUTTING:
            for number, plan in with_cuts(stage.label, self.planned).items():
                self.splits[number] = plan
            self._groups = None

    def again(self, stage: str) -> None:
        """Plan this stage and those after it once more: some of its entries are gone."""
        names = [each.name for each in stages_of(self.recipe)]
        for each in names[names.index(stage) :]:
            self.entries.pop(each, None)
        for number, plan in enumerate(self.splits):
            chain = tuple(link if self._is_cut(link) else link.before_cut for link in plan.chain)
            self.splits[number] = replace(plan, chain=chain)
        self._groups = None

    def _is_cut(self, link: Link) -> bool:
        return link.cut is not None and Stage(link.cut.kind, link.label).name in self.entries

    @property
    def dtype(self) -> str:
        return str(dtype_for_vocab(self.entries[tokenizer.STAGE][0].facts["vocab_size"]))

    @property
    def pack_tasks(self) -> list[Task]:
        """One a shard, in the order of the corpus."""
        return pack.tasks_of(self.recipe, self._written_by_source(), self.dtype)

    def _written_by_source(self) -> dict[str, list[Entry]]:
        """Source of the corpus -> the WRITE entries that hold documents of it."""
        by_source: dict[str, list[Entry]] = {}
        for entry in self.entries[write.STAGE]:
            for source in entry.facts["runs"]:
                by_source.setdefault(source, []).append(entry)
        return by_source

    def _plan_measure(self, stage: Stage) -> StagePlan:
        planned = []
        before = self.last.get(measure.STAGE, {})
        by_extent = {
            (entry["source"], extent[0]): entry for entry in before.values() for extent in entry["extents"]
        }
        for plan in self.splits:
            task = measure.task_of(plan)
            keys = plan.keys()
            entries: tuple[Entry, ...] = ()
            missing: list[str] = []
            if keys is not None:
                found = {name: self.cache.find(measure.STAGE, key) for name, key in keys.items()}
                missing = [name for name, entry in found.items() if entry is None]
                entry = found[BASE]
                entries = () if entry is None else (entry,)
            old = before.get(plan.label) or next(
                (
                    by_extent[key]
                    for e in plan.split.extents
                    if (key := (plan.split.source, e.file.name)) in by_extent
                ),
                None,
            )
            planned.append(PlannedTask(task, entries, _why_measure(plan, keys, missing, old)))
        return StagePlan(stage, tuple(planned))

    def _plan(self, stage: Stage, tasks: Sequence[Task]) -> StagePlan:
        before = self.last.get(stage.name, {})
        planned = []
        for task in tasks:
            assert task.key is not None
            entry = self.cache.find(stage.kind, task.key)
            reason = "" if entry else explain(before.get(task.label), task.components)
            planned.append(PlannedTask(task, (entry,) if entry else (), reason))
        return StagePlan(stage, tuple(planned))


def _why_measure(
    plan: SplitPlan, keys: Mapping[str, str] | None, missing: Sequence[str], old: Mapping[str, Any] | None
) -> str:
    """Why the columns of a split must be computed; empty when all are there."""
    if keys is not None and not missing:
        return ""
    if old is None:
        return "new input"
    extents = _extents(plan)
    if keys is None:
        unknown = {
            extent.file.name
            for extent, digest in zip(plan.split.extents, plan.digests, strict=True)
            if not digest
        }
        changed = {each[0] for each in old["extents"]} & unknown
        if not changed:
            return f"input added: {min(unknown)}" + (
                f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            )
        return f"size or time of {min(changed)} changed: it is hashed, and measured only if its bytes changed"
    inputs = explain_extents(old["extents"], extents)
    if inputs:
        return inputs
    now = {each.name: each.components for each in plan.sets}
    reasons = []
    for name in missing:
        reason = explain(old["sets"].get(name), now[name])
        reasons.append(
            f"{name} is new" if reason == "new" else reason if name in reason else f"{name}: {reason}"
        )
    return "; ".join(dict.fromkeys(reasons))


def _extents(plan: SplitPlan) -> list[list[Any]]:
    pairs = zip(plan.split.extents, plan.digests, strict=True)
    return [[extent.file.name, extent.start, extent.end, digest] for extent, digest in pairs]


def record_of(plans: Plans, stages: Sequence[StagePlan]) -> dict[str, Any]:
    """What `why` will compare the next run with."""
    record: dict[str, Any] = {
        measure.STAGE: {
            plan.label: {
                "source": plan.split.source,
                "extents": _extents(plan),
                "sets": {each.name: each.components for each in plan.sets},
            }
            for plan in plans.splits
        }
    }
    for stage in stages:
        if stage.of.kind != measure.STAGE:
            record[stage.stage] = {each.task.label: each.task.components for each in stage.tasks}
    return record


def read_record(work: Path) -> dict[str, Any]:
    """What `record_of` made of the last run; nothing where that is not what the file holds."""
    try:
        record: dict[str, Any] = json.loads((work / "last.json").read_bytes())
        is_whole = all(isinstance(task, dict) for tasks in record.values() for task in tasks.values())
        measured = record.get(measure.STAGE, {}).values()
        is_whole = is_whole and all({"source", "extents", "sets"} <= each.keys() for each in measured)
    except (FileNotFoundError, ValueError, AttributeError):
        return {}
    return record if is_whole else {}
