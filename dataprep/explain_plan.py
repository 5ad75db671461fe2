"""`dataprep plan`: what a run would do, as plain data and as lines. Planning itself is in `plan.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from dataprep.cache import Cache
from dataprep.chain import labels
from dataprep.fingerprints import Fingerprints
from dataprep.guards import band_warnings
from dataprep.narrate import STAGE_WIDTH, printable
from dataprep.plan import Plans, list_splits, read_record, stages_of
from dataprep.preflight import preflight
from dataprep.recipe import Recipe
from dataprep.stages import measure
from dataprep.steps import step_of
from dataprep.steps.base import Decision, Rule

SHOWN_REASONS = 12
UNSPLITTABLE_BYTES = 10**9
"""A larger file that is one split deserves a warning."""


def plan_recipe(recipe: Recipe) -> dict[str, Any]:
    """Return {"inputs", "notes", "warnings", "stages": [{"stage", "tasks", "done", "reasons"}], "first": a
    stage or None}.

    `first` is the first stage with something to do; what the stages after it must do depends on what it
    finds, so they are listed with `tasks` None.
    """
    found = preflight(recipe, needs_room=False)
    work = Path(recipe.work_folder)
    splits = list_splits(recipe, found.files, Fingerprints.load(work))
    plans = Plans(recipe, Cache(work), splits, read_record(work))
    stages: list[dict[str, Any]] = []
    first = None
    while (stage_plan := plans.next()) is not None:
        waiting = stage_plan.to_run
        stages.append(
            {
                "stage": stage_plan.stage,
                "tasks": len(stage_plan.tasks),
                "done": len(stage_plan.tasks) - len(waiting),
                "reasons": stage_plan.reasons(),
                "labels": [stage_plan.tasks[index].task.label for index in waiting[:SHOWN_REASONS]],
            }
        )
        if waiting:
            first = stage_plan.stage
            break
        plans.done(stage_plan.of, [each.entries[0] for each in stage_plan.tasks])
    known = {each["stage"] for each in stages}
    stages += [
        {"stage": stage.name, "tasks": None, "done": None, "reasons": {}, "labels": []}
        for stage in stages_of(recipe)
        if stage.name not in known
    ]
    return {
        "inputs": _inputs(splits),
        "notes": _notes(recipe),
        "warnings": [*_warnings(splits), *band_warnings(recipe)],
        "stages": stages,
        "first": first,
    }


def print_plan(result: dict[str, Any], console: Console) -> None:
    """Print a plan as lines."""
    for source, counts in result["inputs"].items():
        console.print(
            f"{source}: {counts['files']:,} files, {counts['bytes']:,} bytes, {counts['splits']:,} splits",
            markup=False,
        )
    for note in result["notes"]:
        console.print(f"note: {note}", markup=False)
    for warning in result["warnings"]:
        console.print(printable(f"warning: {warning}"), markup=False)
    for each in result["stages"]:
        if each["tasks"] is None:
            console.print(f"{each['stage']:>{STAGE_WIDTH}}  depends on what {result['first']} finds")
            continue
        to_run = each["tasks"] - each["done"]
        console.print(f"{each['stage']:>{STAGE_WIDTH}}  {to_run:,} to run, {each['done']:,} kept")
        for reason, count in list(each["reasons"].items())[:SHOWN_REASONS]:
            console.print(printable(f"{'':>{STAGE_WIDTH + 2}}{count:,} x {reason}"), markup=False)
        if len(each["reasons"]) > SHOWN_REASONS:
            console.print(f"{'':>{STAGE_WIDTH + 2}}and {len(each['reasons']) - SHOWN_REASONS:,} more reasons")
    if result["first"] is None:
        console.print("nothing to run: the corpus is up to date")


def _notes(recipe: Recipe) -> list[str]:
    """Steps that do not decide where the recipe has them: decisions come after all rules (DESIGN section
    4)."""
    names = labels(recipe.steps)
    kinds = [step_of(entry.name) for entry in recipe.steps]
    notes = []
    for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        later = [
            other for other, step in zip(names[index:], kinds[index:], strict=True) if isinstance(step, Rule)
        ]
        if isinstance(kind, Decision) and later:
            notes.append(
                f"{name} looks at the text where it stands, and decides after {', '.join(later)}, so that no "
                "document is lost to a copy that a rule drops"
            )
    return notes


def _warnings(splits: list[measure.SplitPlan]) -> list[str]:
    """Files that one worker must read alone, since their format or compression cannot be entered midway."""
    return [
        f"{plan.label}: {extent.file.size_bytes:,} bytes that cannot be split; one task reads them all"
        for plan in splits
        for extent in plan.split.extents
        if extent.unit == "bytes" and extent.is_whole and extent.file.size_bytes > UNSPLITTABLE_BYTES
    ]


def _inputs(splits: list[measure.SplitPlan]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    seen: set[tuple[str, str, str]] = set()
    for plan in splits:
        counts = found.setdefault(plan.split.source, {"files": 0, "bytes": 0, "splits": 0})
        counts["splits"] += 1
        for extent in plan.split.extents:
            key = (plan.split.source, plan.split.format, extent.file.path)
            if key not in seen:
                seen.add(key)
                counts["files"] += 1
                counts["bytes"] += extent.file.size_bytes
    return found
