"""The steps of a recipe as one source sees them, and what each of their columns depends on.

A chain is the list of steps that apply to a source, in recipe order. A transform changes the text for the
steps below it; rules and decisions measure columns. Every set of columns has components: all that changes
its bytes. With the split's own digest they make its key (promise 3, "pay once"), so an unchanged column is
never computed again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.readers import READERS, ReadOptions
from dataprep.recipe import Recipe, StepEntry
from dataprep.steps import STEPS
from dataprep.steps.base import Params, StepType, Transform, measuring_parameters, needed_fields

BASE = "base"
FINAL = "final"
BASE_VERSION = 1
FINAL_VERSION = 1
"""What `base` (hashes of the text as read) and `final` (hashes after all transforms) hold; see
stages/measure.py."""


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a chain. `label` is unique in the recipe: the name, with `#2` when it stands there
    twice."""

    label: str
    step: StepType
    params: Params

    def describe(self) -> dict[str, Any]:
        """What of this step changes the bytes of its own columns, or of the text below it."""
        described = {
            "step": self.step.name,
            "version": self.step.version,
            "parameters": measuring_parameters(self.step, self.params),
            "depends": dict(self.step.depends(self.params)),
        }
        fields = needed_fields(self.step, self.params)
        return {**described, "fields": list(fields)} if fields else described


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Columns that are computed and kept together. `above` transforms of the chain have run on the text."""

    name: str
    above: int
    components: dict[str, Any]


def labels(entries: Sequence[StepEntry]) -> list[str]:
    """One label an entry of the recipe."""
    seen: dict[str, int] = {}
    result = []
    for entry in entries:
        seen[entry.name] = seen.get(entry.name, 0) + 1
        result.append(entry.name if seen[entry.name] == 1 else f"{entry.name}#{seen[entry.name]}")
    return result


def applies(entry: StepEntry, source: str) -> bool:
    if entry.only is not None:
        return source in entry.only
    return entry.except_ is None or source not in entry.except_


def chain_of(recipe: Recipe, source: str) -> tuple[Link, ...]:
    """The steps that apply to `source`, in recipe order."""
    return tuple(
        Link(label, STEPS[entry.name], entry.parameters)
        for label, entry in zip(labels(recipe.steps), recipe.steps, strict=True)
        if applies(entry, source)
    )


def transforms_of(chain: Sequence[Link]) -> list[Link]:
    return [link for link in chain if isinstance(link.step, Transform)]


def reader_components(format: str, options: ReadOptions) -> dict[str, Any]:
    """What of reading changes the records."""
    reader = READERS[format]
    return {
        "format": format,
        "version": reader.version,
        "options": options.components(),
        "depends": dict(reader.depends()),
    }


def column_sets(chain: Sequence[Link], format: str, options: ReadOptions) -> list[ColumnSet]:
    """All column sets of a chain: `base`, one a measuring step, `final`."""
    reader = reader_components(format, options)
    sets = [ColumnSet(BASE, 0, {"reader": reader, "base": BASE_VERSION})]
    above: list[dict[str, Any]] = []
    for link in chain:
        if isinstance(link.step, Transform):
            above.append(link.describe())
        else:
            components = {"reader": reader, "above": list(above), "columns": link.describe()}
            sets.append(ColumnSet(link.label, len(above), components))
    sets.append(ColumnSet(FINAL, len(above), {"reader": reader, "above": above, "final": FINAL_VERSION}))
    return sets


def chain_to_json(chain: Sequence[Link]) -> list[dict[str, Any]]:
    """A chain as a task carries it."""
    return [
        {"label": link.label, "step": link.step.name, "parameters": link.params.model_dump(mode="json")}
        for link in chain
    ]


def chain_from_json(values: Sequence[Mapping[str, Any]]) -> tuple[Link, ...]:
    """The inverse of `chain_to_json`, in a worker."""
    links = []
    for value in values:
        step = STEPS[value["step"]]
        # From JSON text, since strict models take a list for a tuple only there.
        links.append(
            Link(value["label"], step, step.params.model_validate_json(json.dumps(value["parameters"])))
        )
    return tuple(links)
