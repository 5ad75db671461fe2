"""One entry of a recipe's `steps:`: a step, its parameters, and the sources it runs on.

`only`, `except` and `max_removed` belong to every step; the other keys are the step's own parameters,
validated by its own model. How an entry fits the rest of the recipe is checked in `checks.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from dataprep.recipe.fields import Text
from dataprep.steps import STEPS, find_step
from dataprep.steps.base import Params, Transform
from manifests.fields import Record
from manifests.problems import Problem, names_at, problems_of, refusal
from manifests.units import Ratio
from manifests.wording import describe, did_you_mean

M = TypeVar("M", bound=BaseModel)

OWN_FORM = "a step of your own is named package.module:function, in letters, digits and _"

MAX_REMOVED = 0.9
"""A step that drops a greater share of a source of 1,000 or more documents stops the run."""


class _Scope(Record):
    only: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    except_: Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(default=None, alias="except")
    max_removed: Ratio = MAX_REMOVED


@dataclass(frozen=True, slots=True)
class StepEntry:
    """A step of a recipe. `only` and `except_` name sources; at most one of them is given.

    max_removed   a greater share of a source dropped stops the run; None for a transform, which drops nothing
    """

    name: str
    only: tuple[str, ...] | None
    except_: tuple[str, ...] | None
    max_removed: float | None
    parameters: Params

    def options(self) -> dict[str, Any]:
        """Everything under the step's name, defaults included, as JSON values."""
        scope: dict[str, Any] = {
            "only": None if self.only is None else list(self.only),
            "except": None if self.except_ is None else list(self.except_),
        }
        if self.max_removed is not None:
            scope["max_removed"] = self.max_removed
        return {**self.parameters.model_dump(mode="json"), **scope}


def step_entry(value: Any) -> StepEntry:
    """Validate `{name: {parameters}}`. Raises a ValidationError whose locations count from `value`."""
    if isinstance(value, StepEntry):
        return value
    if not isinstance(value, Mapping) or len(value) != 1:
        raise refusal([Problem((), _not_one_step(value))])
    name, options = next(iter(value.items()))
    step = find_step(name)
    if step is None:
        own = "." in name or ":" in name
        message = OWN_FORM if own else f"unknown step{did_you_mean(name, list(STEPS))}"
        raise refusal([Problem((name,), message, about_key=True)])
    if options is None:  # `- exact_dedup:`
        options = {}
    if not isinstance(options, Mapping):
        message = f"expected a mapping of parameters (for none, {{}}), found {describe(options)}"
        raise refusal([Problem((name,), message)])

    problems: list[Problem] = []
    of_scope, of_step = names_at(_Scope, ()), names_at(step.params, ())
    for key in options:
        if key == "max_removed" and isinstance(step, Transform):
            message = f"{name} drops nothing, so this would do nothing"
            problems.append(Problem((name, key), message, about_key=True))
        elif key not in of_scope and key not in of_step:
            message = f"unknown parameter of {name}{did_you_mean(key, [*of_step, *of_scope])}"
            problems.append(Problem((name, key), message, about_key=True))
    scope = _validated(_Scope, {k: v for k, v in options.items() if k in of_scope}, name, problems)
    parameters = _validated(step.params, {k: v for k, v in options.items() if k in of_step}, name, problems)
    if problems or scope is None or parameters is None:
        raise refusal(problems)
    max_removed = None if isinstance(step, Transform) else scope.max_removed
    return StepEntry(name, scope.only, scope.except_, max_removed, parameters)


def _validated(model: type[M], data: dict[str, Any], name: str, problems: list[Problem]) -> M | None:
    """An instance of `model`, or None and what is wrong, added to `problems` as found under `name`."""
    try:
        # From JSON, where a strict model takes a list for a tuple.
        return model.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        for each in problems_of(error, model, data):
            problems.append(replace(each, loc=(name, *each.loc)))
        return None


def _not_one_step(value: Any) -> str:
    if isinstance(value, str) and value in STEPS:
        return f"expected a mapping; write {value}: {{}}"
    if isinstance(value, Mapping) and len(value) > 1:
        names = ", ".join(value)
        return f"expected one step, found the keys {names}; indent parameters further than the step's name"
    return f"expected a step and its parameters, such as exact_dedup: {{}}, found {describe(value)}"
