"""Placing the tasks of a stage on an engine, and what to make of how they end.

A task that killed its worker is run once more, alone, so that a second death has one cause; if it kills
again, the run stops with the line of the recipe that would accept the loss. The plan file that workers read
is written here. Which tasks there are, and in what order the stages go, is for `plan.py` and `run.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dataprep.engines import Engine, Outcome, TaskReference
from dataprep.narrate import Narrator
from dataprep.plan import StagePlan
from dataprep.stages.base import Task
from manifests.errors import UserError
from manifests.files import write_atomic
from manifests.fingerprint import digest_value

Results = dict[int, dict[str, Any]]
"""Index of a task in its stage -> what `task.execute` returned."""


def place(
    stage_plan: StagePlan,
    engine: Engine,
    work: Path,
    narrator: Narrator,
    on_trouble: Callable[[Task], None],
) -> Results:
    """Run the tasks of a stage that are not done.

    Raises UserError at the first task that cannot be done; `on_trouble` is told of it before.
    """
    to_run = stage_plan.to_run
    if not to_run:
        return {}
    plan_file = write_plan(stage_plan, work)
    references = [TaskReference(plan_file, stage_plan.of.kind, index) for index in to_run]
    results: Results = {}
    died: list[Outcome] = []

    def take(outcome: Outcome) -> None:
        task = stage_plan.tasks[outcome.reference.index].task
        if outcome.kind != "done":
            on_trouble(task)
            raise _refusal(stage_plan.stage, task, outcome)
        results[outcome.reference.index] = outcome.result
        narrator.advance()

    with narrator.stage(stage_plan.stage, len(to_run)):
        for outcome in engine.run(references):
            if outcome.kind == "died":
                died.append(outcome)
            else:
                take(outcome)
        for first in died:
            label = stage_plan.tasks[first.reference.index].task.label
            narrator.line(f"worker died ({first.detail}) in {stage_plan.stage}, {label}: once more, alone")
            for outcome in engine.run([first.reference]):
                take(outcome)
    return results


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
    path = work / "plans" / f"{stage_plan.of.kind}-{digest_value(content).split(':')[1][:16]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(content).encode())
    return path


def _refusal(stage: str, task: Task, outcome: Outcome) -> UserError:
    place_of_task = f"{stage}, {task.label}"
    if outcome.kind == "refused":
        where = outcome.result["where"] or place_of_task
        return UserError(outcome.result["what"], where=where, hint=outcome.result["hint"])
    if outcome.kind == "failed":
        return UserError(
            f"a task failed:\n{outcome.detail.rstrip()}",
            where=place_of_task,
            hint="a defect of the tool or a library; what is finished is kept, so a mended version goes on",
        )
    split = task.payload.get("split")
    names = [extent["file"]["name"] for extent in split["extents"]] if split else []
    exclude = ", ".join(json.dumps(name) for name in names[:20])
    hint = (
        f"to leave this input out, for good and on the record, add to the recipe:\nexclude: [{exclude}]"
        if names
        else "run with --workers 1 to see whether memory is the cause"
    )
    return UserError(f"this task killed its worker twice ({outcome.detail})", where=place_of_task, hint=hint)
