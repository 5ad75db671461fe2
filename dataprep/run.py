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
from concurrent.futures import ThreadPoolExecutor
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
from dataprep.publish import DamagedEntries, Published, publish
from dataprep.readers import Split
from dataprep.recipe import Recipe
from dataprep.report import REPORT_NAME, write_report
from dataprep.stages import decide, measure
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
            try:
                published = publish(plans)
            except DamagedEntries as damaged:
                _discard(damaged.stage, damaged.keys, plans, narrator)
                finished |= _run_stages(plans, engine, fingerprints, work, narrator, tasks_run)
                published = publish(plans)
        finally:
            engine.close()
        write_report(published.folder / REPORT_NAME, published.report)
        write_atomic(work / "last.json", json.dumps(record_of(plans, list(finished.values()))).encode())
    return RunResult(published, published.report, tasks_run, time.perf_counter() - started)


def _run_stages(
    plans: Plans,
    engine: Engine,
    fingerprints: Fingerprints,
    work: Path,
    narrator: Narrator,
    tasks_run: dict[str, int],
) -> dict[str, StagePlan]:
    """Run every stage that is not done; return their plans by name."""
    finished: dict[str, StagePlan] = {}
    while (stage_plan := plans.next()) is not None:
        if stage_plan.to_run and (damaged := _damaged(plans)):
            for stage, keys in damaged.items():
                _discard(stage, keys, plans, narrator)
            continue
        started = time.perf_counter()
        outcomes = _execute(stage_plan, engine, fingerprints, work, narrator, tasks_run)
        entries = _entries(plans, stage_plan, outcomes, fingerprints)
        plans.done(stage_plan.stage, entries)
        finished[stage_plan.stage] = stage_plan
        plans.unchecked[stage_plan.stage] = _kept(plans, stage_plan, outcomes)
        _narrate(stage_plan, outcomes, time.perf_counter() - started, narrator)
        if stage_plan.stage == measure.STAGE:
            judge_failures(plans.recipe, plans.splits, entries)
        if stage_plan.stage == decide.STAGE:
            judge_removals(plans.recipe, plans.splits, entries[0])
    return finished


def _kept(plans: Plans, stage_plan: StagePlan, outcomes: dict[int, dict[str, Any]]) -> list[Entry]:
    """The entries of a stage that an earlier run left."""
    if stage_plan.stage != measure.STAGE:
        return [entry for each in stage_plan.tasks for entry in each.entries]
    computed = {index: outcome["computed"] for index, outcome in outcomes.items()}
    return [
        plans.cache.get(measure.STAGE, key)
        for index, keys in enumerate(plans.keys)
        for name, key in keys.items()
        if name not in computed.get(index, ())
    ]


def _damaged(plans: Plans) -> dict[str, list[str]]:
    """Stage -> keys of the unchecked entries whose files are not what was committed."""
    entries = [(stage, entry) for stage, kept in plans.unchecked.items() for entry in kept]
    plans.unchecked.clear()
    with ThreadPoolExecutor(max_workers=4) as pool:
        intact = list(pool.map(lambda each: each[1].is_intact(), entries))
    damaged: dict[str, list[str]] = {}
    for (stage, entry), good in zip(entries, intact, strict=True):
        if not good:
            damaged.setdefault(stage, []).append(entry.key)
    return damaged


def _discard(stage: str, keys: Sequence[str], plans: Plans, narrator: Narrator) -> None:
    """Remove damaged entries (a changed hard link, a bad disk), so that their tasks run again."""
    for key in keys:
        plans.cache.discard(stage, key)
    plans.again(stage)
    narrator.line(f"damaged on disk since they were made, so made again: {len(keys):,} of {stage}")


def _execute(
    stage_plan: StagePlan,
    engine: Engine,
    fingerprints: Fingerprints,
    work: Path,
    narrator: Narrator,
    tasks_run: dict[str, int],
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
            results[outcome.reference.index] = _result(outcome, stage_plan, fingerprints)
            narrator.advance()
        for first in died:  # alone, so that a second death has one cause only
            label = stage_plan.tasks[first.reference.index].task.label
            narrator.line(f"worker died ({first.detail}) in {stage_plan.stage}, {label}: once more, alone")
            for outcome in engine.run([first.reference]):
                if outcome.kind == "died":
                    raise _killer(stage_plan, outcome)
                results[outcome.reference.index] = _result(outcome, stage_plan, fingerprints)
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
    write_atomic(path, json.dumps(content).encode())
    return path


def _result(outcome: Outcome, stage_plan: StagePlan, fingerprints: Fingerprints) -> dict[str, Any]:
    task = stage_plan.tasks[outcome.reference.index].task
    label = task.label
    if outcome.kind != "done" and "split" in task.payload:
        # Perhaps its files are not what their sizes and times say; the next run reads them to see.
        fingerprints.forget(Split.from_dict(task.payload["split"]).extents)
        fingerprints.save()
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
