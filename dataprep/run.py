"""The conductor: lists, plans, places what is missing on an engine, judges, publishes. It never touches a
document.

Read `run` from top to bottom; `plan.py` says what there is to do and `task.py` what a worker does with one
task. Retries are decided here: a task that killed its worker is run once more, alone, and if it kills again
the run stops with the line that would accept the loss. Nothing but the recipe leaves data out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataprep.budget import judge_failures, judge_removals
from dataprep.cache import Cache, Entry, work_lock
from dataprep.chain import BASE
from dataprep.engines import ENGINES, Engine, Outcome, TaskReference
from dataprep.fingerprints import Fingerprints
from dataprep.narrate import Narrator
from dataprep.plan import Plans, StagePlan, list_splits, read_record, record_of
from dataprep.preflight import preflight
from dataprep.publish import DamagedShards, Published, publish
from dataprep.recipe import Recipe
from dataprep.report import REPORT_NAME, write_report
from dataprep.stages import decide, measure, pack
from manifests.errors import UserError
from manifests.files import write_atomic
from manifests.fingerprint import digest_value

STAGES_WITH_TEXT = {
    "measure": "read, hash, measure",
    "decide": "rules, duplicates, held-out",
    "sample": "texts for the tokenizer",
    "tokenizer": "train or load, choose engine",
    "write": "tokenize, sort",
    "pack": "merge into shards",
}


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a finished run leaves: where the corpus is, its manifest, the report, and what ran."""

    published: Published
    report: dict[str, Any]
    tasks_run: dict[str, int]
    seconds: float


def run(recipe: Recipe, *, workers: int, wait: bool = False, narrator: Narrator | None = None) -> RunResult:
    """Bring `recipe.output` up to date. Raises UserError; whatever was finished by then is kept."""
    narrator = narrator or Narrator(quiet=True)
    started = time.perf_counter()
    found = preflight(recipe)
    work = Path(recipe.work_folder)
    with work_lock(work, wait=wait):
        cache = Cache(work)
        cache.sweep()
        fingerprints = Fingerprints.load(work)
        plans = Plans(recipe, cache, list_splits(recipe, found.files, fingerprints), read_record(work))
        engine = ENGINES["local" if workers else "inline"](workers)
        tasks_run: dict[str, int] = {}
        try:
            finished = _run_stages(plans, engine, fingerprints, work, narrator, tasks_run)
            published = _publish(plans, finished, engine, work, narrator, tasks_run)
        finally:
            engine.close()
        write_report(published.folder / REPORT_NAME, published.report)
        write_atomic(work / "last.json", json.dumps(record_of(plans, finished)).encode())
    return RunResult(published, published.report, tasks_run, time.perf_counter() - started)


def _run_stages(
    plans: Plans,
    engine: Engine,
    fingerprints: Fingerprints,
    work: Path,
    narrator: Narrator,
    tasks_run: dict[str, int],
) -> list[StagePlan]:
    """Run every stage that is not done; return their plans."""
    finished: list[StagePlan] = []
    while (stage_plan := plans.next()) is not None:
        started = time.perf_counter()
        outcomes = _execute(stage_plan, engine, work, narrator, tasks_run)
        entries = _entries(plans, stage_plan, outcomes, fingerprints)
        plans.done(stage_plan.stage, entries)
        finished.append(stage_plan)
        _narrate(stage_plan, outcomes, time.perf_counter() - started, narrator)
        if stage_plan.stage == measure.STAGE:
            judge_failures(plans.recipe, plans.splits, entries)
        if stage_plan.stage == decide.STAGE:
            judge_removals(plans.recipe, plans.splits, entries[0])
    return finished


def _execute(
    stage_plan: StagePlan, engine: Engine, work: Path, narrator: Narrator, tasks_run: dict[str, int]
) -> dict[int, dict[str, Any]]:
    """Run the tasks of a stage that are not done; return index -> result. Raises on the first that cannot
    be done."""
    to_run = stage_plan.to_run
    if not to_run:
        return {}
    plan_file = write_plan(stage_plan, work)
    references = [TaskReference(plan_file, stage_plan.stage, index) for index in to_run]
    results: dict[int, dict[str, Any]] = {}
    died: list[Outcome] = []
    with narrator.stage(stage_plan.stage, len(to_run)):
        for outcome in engine.run(references):
            if outcome.kind == "died":
                died.append(outcome)
                continue
            results[outcome.reference.index] = _result(outcome, stage_plan)
            narrator.advance()
        for first in died:  # alone, so that a second death has one cause only
            label = stage_plan.tasks[first.reference.index].task.label
            narrator.line(f"worker died ({first.detail}) in {stage_plan.stage}, {label}: once more, alone")
            for outcome in engine.run([first.reference]):
                if outcome.kind == "died":
                    raise _killer(stage_plan, outcome)
                results[outcome.reference.index] = _result(outcome, stage_plan)
                narrator.advance()
    tasks_run[stage_plan.stage] = tasks_run.get(stage_plan.stage, 0) + len(results)
    return results


def _entries(
    plans: Plans, stage_plan: StagePlan, outcomes: dict[int, dict[str, Any]], fingerprints: Fingerprints
) -> list[Entry]:
    """The finished entry of every task of the stage, in task order."""
    if stage_plan.stage != measure.STAGE:
        return [
            each.entries[0] if each.is_done else plans.cache.get(stage_plan.stage, str(each.task.key))
            for each in stage_plan.tasks
        ]
    for index, result in outcomes.items():
        plan = plans.splits[index]
        for extent, digest in zip(plan.split.extents, result["digests"], strict=True):
            fingerprints.add(extent, digest)
        plans.splits[index] = measure.SplitPlan(
            plan.split, plan.options, plan.chain, tuple(result["digests"])
        )
    if outcomes:
        fingerprints.save()
    entries = []
    for plan in plans.splits:
        keys = plan.keys()
        assert keys is not None
        entries.append(plans.cache.get(measure.STAGE, keys[BASE]))
    return entries


def _publish(
    plans: Plans,
    finished: Sequence[StagePlan],
    engine: Engine,
    work: Path,
    narrator: Narrator,
    tasks_run: dict[str, int],
) -> Published:
    """Publish; a shard that is damaged in the work folder (a changed hard link, a bad disk) is packed
    again, once."""
    try:
        return publish(plans, finished)
    except DamagedShards as damaged:
        for key in damaged.keys:
            plans.cache.discard(pack.STAGE, key)
        narrator.line(f"{len(damaged.keys)} shards were damaged on disk; packing them again")
        del plans.entries[pack.STAGE]
        again = plans.next()
        assert again is not None
        _execute(again, engine, work, narrator, tasks_run)
        plans.done(pack.STAGE, [plans.cache.get(pack.STAGE, str(each.task.key)) for each in again.tasks])
        return publish(plans, finished)


def write_plan(stage_plan: StagePlan, work: Path) -> Path:
    """Write the tasks of a stage to a plan file, named by its content, and return its path."""
    tasks = [
        {
            "label": each.task.label,
            "key": each.task.key,
            "components": each.task.components,
            "payload": each.task.payload,
        }
        for each in stage_plan.tasks
    ]
    content = {"work": str(work.absolute()), "stage": stage_plan.stage, "tasks": tasks}
    path = work / "plans" / f"{stage_plan.stage}-{digest_value(content).split(':')[1][:16]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_atomic(path, json.dumps(content).encode())
    return path


def _result(outcome: Outcome, stage_plan: StagePlan) -> dict[str, Any]:
    label = stage_plan.tasks[outcome.reference.index].task.label
    if outcome.kind == "refused":
        where = outcome.result["where"] or f"{stage_plan.stage}, {label}"
        raise UserError(outcome.result["what"], where=where, hint=outcome.result["hint"])
    if outcome.kind == "failed":
        raise UserError(
            f"a task failed:\n{outcome.detail.rstrip()}",
            where=f"{stage_plan.stage}, {label}",
            hint="a defect of the tool or a library; what is finished is kept, so a mended version goes on",
        )
    return outcome.result


def _killer(stage_plan: StagePlan, outcome: Outcome) -> UserError:
    task = stage_plan.tasks[outcome.reference.index].task
    split = task.payload.get("split")
    names = [extent["file"]["name"] for extent in split["extents"]] if split else []
    exclude = ", ".join(json.dumps(name) for name in names[:20])
    hint = (
        f"to leave this input out, for good and on the record, add to the recipe:\nexclude: [{exclude}]"
        if names
        else "run with --workers 1 to see whether memory is the cause"
    )
    return UserError(
        f"this task killed its worker twice ({outcome.detail})",
        where=f"{stage_plan.stage}, {task.label}",
        hint=hint,
    )


def _narrate(
    stage_plan: StagePlan, outcomes: dict[int, dict[str, Any]], seconds: float, narrator: Narrator
) -> None:
    total = len(stage_plan.tasks)
    text = f"{stage_plan.stage:>10}  "
    if not outcomes:
        narrator.line(f"{text}{total:,} of {total:,} kept")
        return
    kept = f", {total - len(outcomes):,} kept" if total > len(outcomes) else ""
    narrator.line(
        f"{text}{len(outcomes):,} run{kept}, {seconds:.1f} s  ({STAGES_WITH_TEXT[stage_plan.stage]})"
    )
    for reason, count in list(stage_plan.reasons().items())[:4]:
        narrator.line(f"{'':>12}{count:,} x {reason}")
