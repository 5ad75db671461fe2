"""The conductor: lists, plans, places what is missing on an engine, judges, publishes. It never touches a
document.

Read `run` from top to bottom; `plan.py` says what there is to do and `task.py` what a worker does with one
task; `place.py` brings the two together. Nothing but the recipe leaves data out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from dataprep.budget import judge_failures, judge_removals
from dataprep.cache import Cache, Entry, work_lock
from dataprep.chain import BASE
from dataprep.engines import ENGINES, Engine
from dataprep.fingerprints import Fingerprints
from dataprep.guards import dedup_warnings
from dataprep.narrate import STAGE_WIDTH, Narrator
from dataprep.place import Results, place
from dataprep.plan import Plans, StagePlan, list_splits, read_record, record_of, stages_of
from dataprep.preflight import preflight
from dataprep.publish import DamagedEntries, Published, publish
from dataprep.readers import Split
from dataprep.recipe import Recipe
from dataprep.report import REPORT_NAME, write_report
from dataprep.report.html import HTML_NAME, write_html
from dataprep.stages import decide, judge, measure
from dataprep.stages.base import Stage, Task
from dataprep.verdict_table import NAME as VERDICTS_NAME
from dataprep.verdict_table import write_verdicts
from manifests.files import write_atomic

WHAT_STAGES_DO = {
    "measure": "read, hash, measure",
    "cap": "where max_bytes falls",
    "judge": "rules",
    "units": "by partition",
    "repeats": "in several documents",
    "cuts": "what goes",
    "grams": "how many documents have what",
    "evidence": "documents with examples",
    "examples": "which are contaminated",
    "passages": "read again, as tokens",
    "layout": "where documents are",
    "windows": "by part",
    "matches": "in several places",
    "spans": "what goes",
    "rank": "which document is better",
    "hashes": "by partition",
    "copies": "equal documents",
    "bands": "signatures by partition",
    "pairs": "candidates, estimates",
    "doubts": "candidates to look at again",
    "shingles": "read again",
    "keep": "who stays",
    "decide": "verdicts, held-out",
    "sample": "texts for the tokenizer",
    "tokenizer": "train or load, choose engine",
    "write": "tokenize, sort",
    "pack": "merge into shards",
    "fit": "documents into rows",
    "index": "for later corpora",
}


TABLE_STAGES = (Stage(measure.STAGE), Stage(judge.STAGE), Stage(decide.STAGE))
"""What the verdict table is made of."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a finished run leaves: where the corpus is, its manifest, the report, and what ran."""

    published: Published
    report: dict[str, Any]
    tasks_run: dict[str, int]
    seconds: float


def run(
    recipe: Recipe,
    *,
    workers: int,
    wait: bool = False,
    verdicts: bool = False,
    narrator: Narrator | None = None,
) -> RunResult:
    """Bring `recipe.output` up to date. Raises UserError; whatever was finished by then is kept.

    verdicts   write the verdict table beside the manifest; without it, one of another corpus is removed
    """
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
            if verdicts and _discard_damaged(plans, TABLE_STAGES, narrator):
                finished |= _run_stages(plans, engine, fingerprints, work, narrator, tasks_run)
            try:
                published = publish(plans)
            except DamagedEntries as damaged:
                _discard(Stage(damaged.stage), damaged.keys, plans, narrator)
                finished |= _run_stages(plans, engine, fingerprints, work, narrator, tasks_run)
                published = publish(plans)
        finally:
            engine.close()
        write_report(published.folder / REPORT_NAME, published.report)
        write_html(published.folder / HTML_NAME, published.report, published.manifest.content_digest)
        if verdicts:
            write_verdicts(plans, published.folder / VERDICTS_NAME)
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
        if stage_plan.to_run and _discard_damaged(plans, stages_of(plans.recipe), narrator):
            continue
        started = time.perf_counter()
        outcomes = place(stage_plan, engine, work, narrator, partial(_forget_inputs, fingerprints))
        if outcomes:
            tasks_run[stage_plan.stage] = tasks_run.get(stage_plan.stage, 0) + len(outcomes)
        entries = _entries(plans, stage_plan, outcomes, fingerprints)
        plans.done(stage_plan.of, entries)
        finished[stage_plan.stage] = stage_plan
        plans.unchecked[stage_plan.stage] = _kept(plans, stage_plan, outcomes)
        _narrate(stage_plan, outcomes, time.perf_counter() - started, narrator)
        if stage_plan.stage == measure.STAGE:
            judge_failures(plans.recipe, plans.splits, entries)
        if stage_plan.stage == decide.STAGE:
            judge_removals(plans.recipe, plans.splits, entries[0])
            for warning in dedup_warnings(plans):
                narrator.line(f"warning: {warning}")
    return finished


def _kept(plans: Plans, stage_plan: StagePlan, outcomes: Results) -> list[Entry]:
    """The entries of a stage that an earlier run left."""
    if stage_plan.of.kind != measure.STAGE:
        return [entry for each in stage_plan.tasks for entry in each.entries]
    computed = {index: outcome["computed"] for index, outcome in outcomes.items()}
    return [
        plans.cache.get(measure.STAGE, key)
        for index, keys in enumerate(plans.keys)
        for name, key in keys.items()
        if name not in computed.get(index, ())
    ]


def _discard_damaged(plans: Plans, stages: Sequence[Stage], narrator: Narrator) -> bool:
    """Remove the unchecked entries of some stages whose files are not what was committed; return whether
    there were any."""
    entries = [(stage, entry) for stage in stages for entry in plans.unchecked.pop(stage.name, ())]
    with ThreadPoolExecutor(max_workers=4) as pool:
        intact = list(pool.map(lambda each: each[1].is_intact(), entries))
    damaged: dict[Stage, list[str]] = {}
    for (stage, entry), good in zip(entries, intact, strict=True):
        if not good:
            damaged.setdefault(stage, []).append(entry.key)
    for stage, keys in damaged.items():
        _discard(stage, keys, plans, narrator)
    return bool(damaged)


def _discard(stage: Stage, keys: Sequence[str], plans: Plans, narrator: Narrator) -> None:
    """Remove damaged entries (a changed hard link, a bad disk), so that their tasks run again."""
    for key in keys:
        plans.cache.discard(stage.kind, key)
    plans.again(stage.name)
    narrator.line(f"damaged on disk since they were made, so made again: {len(keys):,} of {stage.name}")


def _entries(
    plans: Plans, stage_plan: StagePlan, outcomes: Results, fingerprints: Fingerprints
) -> list[Entry]:
    """The finished entry of every task of the stage, in task order."""
    if stage_plan.of.kind != measure.STAGE:
        return [
            each.entries[0] if each.is_done else plans.cache.get(stage_plan.of.kind, str(each.task.key))
            for each in stage_plan.tasks
        ]
    for index, result in outcomes.items():
        plan = plans.splits[index]
        for extent, digest in zip(plan.split.extents, result["digests"], strict=True):
            fingerprints.add(extent, digest)
        plans.splits[index] = replace(plan, digests=tuple(result["digests"]))
    if outcomes:
        fingerprints.save()
    entries = []
    for plan in plans.splits:
        keys = plan.keys()
        assert keys is not None
        entries.append(plans.cache.get(measure.STAGE, keys[BASE]))
    return entries


def _forget_inputs(fingerprints: Fingerprints, task: Task) -> None:
    """Perhaps the files of a failed task are not what their sizes and times say: the next run reads them."""
    if "split" in task.payload:
        fingerprints.forget(Split.from_dict(task.payload["split"]).extents)
        fingerprints.save()


def _narrate(stage_plan: StagePlan, outcomes: Results, seconds: float, narrator: Narrator) -> None:
    total = len(stage_plan.tasks)
    text = f"{stage_plan.stage:>{STAGE_WIDTH}}  "
    if not outcomes:
        narrator.line(f"{text}{total:,} of {total:,} kept")
        return
    kept = f", {total - len(outcomes):,} kept" if total > len(outcomes) else ""
    narrator.line(
        f"{text}{len(outcomes):,} run{kept}, {seconds:.1f} s  ({WHAT_STAGES_DO[stage_plan.of.kind]})"
    )
    told = {reason: count for reason, count in stage_plan.reasons().items() if reason != "new"}
    for reason, count in list(told.items())[:4]:
        narrator.line(f"{'':>{STAGE_WIDTH + 2}}{count:,} x {reason}")
