"""What crosses the border of an engine: a reference to a task going in, an outcome coming back."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from manifests.errors import UserError

ENTRY = "dataprep.task:execute"

Kind = Literal["done", "refused", "failed", "died"]


@dataclass(frozen=True, slots=True)
class TaskReference:
    """One task: the plan file that describes it, its stage, its index there."""

    plan: Path
    stage: str
    index: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended.

    `done`: `result` is what `execute` returned (plain JSON data). `refused`: a UserError, its parts in
    `result`. `failed`: any other exception, `detail` is its traceback. `died`: the worker process ended,
    `detail` says how.
    """

    reference: TaskReference
    kind: Kind
    result: dict[str, Any] = field(default_factory=dict)
    detail: str = ""


def call(reference: TaskReference, entry: str = ENTRY) -> tuple[Kind, dict[str, Any], str]:
    """Run the task in this process; return (kind, result, detail). `entry` is `module:function`."""
    module, name = entry.split(":")
    execute: Callable[[Path, str, int], dict[str, Any]] = getattr(importlib.import_module(module), name)
    try:
        return "done", execute(reference.plan, reference.stage, reference.index), ""
    except UserError as error:
        return "refused", {"what": error.what, "where": error.where, "hint": error.hint}, ""
    except Exception:
        return "failed", {}, traceback.format_exc()
