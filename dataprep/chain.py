"""The steps of a recipe as one source sees them, and what each of their columns depends on.

A chain is the list of steps that apply to a source, in recipe order. Transforms and edits change the text for
the steps below them; rules, edits and decisions measure columns. Every set of columns has components: all
that changes its bytes. With the split's own digest they make its key (promise 3, "pay once"), so an
unchanged column is never computed again.

A step that takes parts out of texts by what all documents say (a CorpusEdit) divides the chain: its units are
measured, all documents are looked at, and then its link has a `cut`, the result for one split. Only then can
what stands below it be measured. One that only drops documents divides nothing.

An expensive step sees only the documents that its gates, the rules and edits above it, did not drop. So their
verdicts, and with them their thresholds, are part of its components.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dataprep.readers import READERS, ReadOptions
from dataprep.recipe import Recipe, StepEntry
from dataprep.steps import step_of
from dataprep.steps.base import (
    CorpusEdit,
    Edit,
    Params,
    Rule,
    StepType,
    Transform,
    consulted,
    measuring_parameters,
    needed_fields,
    rewrites,
)

BASE = "base"
FINAL = "final"
BASE_VERSION = 1
FINAL_VERSION = 1
"""What `base` (hashes of the text as read) and `final` (hashes after all transforms) hold; see
stages/measure.py."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What a CorpusEdit takes out of one split: an entry of the cache, and a digest of what it says."""

    digest: str
    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a chain. `label` is unique in the recipe: the name, with `#2` when it stands there twice.
    `cut` is None for all but a CorpusEdit that has looked at all documents."""

    label: str
    step: StepType
    params: Params
    cut: Cut | None = None

    @property
    def rewrites(self) -> bool:
        return rewrites(self.step, self.params)

    @property
    def drops(self) -> bool:
        """Whether it drops documents one by one, so that expensive steps below need not see them."""
        return isinstance(self.step, Rule | Edit | CorpusEdit)

    @property
    def is_expensive(self) -> bool:
        return isinstance(self.step, Transform | Rule | Edit) and self.step.expensive

    @property
    def is_gate(self) -> bool:
        """Whether what it drops is known while the chain is walked: of a CorpusEdit that changes no text it
        is not."""
        return self.drops and (self.rewrites or not isinstance(self.step, CorpusEdit))

    @property
    def units(self) -> str:
        """The name of the columns that a CorpusEdit measures before it cuts."""
        return f"{self.label} units"

    @property
    def has_columns(self) -> bool:
        return not isinstance(self.step, Transform) or self.is_expensive

    def describe(self, carry: Sequence[str]) -> dict[str, Any]:
        """What of this step changes the bytes of its own columns, or of the text below it. `carry`: the
        fields that the records carry."""
        return self._described(measuring_parameters(self.step, self.params), carry)

    def verdict(self, carry: Sequence[str]) -> dict[str, Any]:
        """What of this step changes which documents it drops."""
        described = self._described(self.params.model_dump(mode="json"), carry)
        looked_up = consulted(self.step, self.params)
        return {**described, "consults": looked_up} if looked_up else described

    def _described(self, parameters: dict[str, Any], carry: Sequence[str]) -> dict[str, Any]:
        described = {
            "step": self.step.name,
            "version": self.step.version,
            "parameters": parameters,
            "depends": dict(self.step.depends(self.params)),
        }
        if self.cut is not None:
            described["cut"] = self.cut.digest
        fields = needed_fields(self.step, self.params, carry)
        return {**described, "fields": list(fields)} if fields else described

    @property
    def before_cut(self) -> Link:
        return replace(self, cut=None)


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Columns that are computed and kept together, of the text as the first `position` links leave it."""

    name: str
    position: int
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
        Link(label, step_of(entry.name), entry.parameters)
        for label, entry in zip(labels(recipe.steps), recipe.steps, strict=True)
        if applies(entry, source)
    )


def rewriting(chain: Sequence[Link], options: ReadOptions) -> list[tuple[Link, dict[str, Any]]]:
    """The links that change the text, each with what of it, and of its gates, changes the bytes. Every
    CorpusEdit among them has its cut."""
    return [(link, described) for link, described in _described(chain, options) if link.rewrites]


def _described(chain: Sequence[Link], options: ReadOptions) -> Iterator[tuple[Link, dict[str, Any]]]:
    """Every link with its own components.

    A gate's verdicts are those of the text at its place. The steps above that rewrite are components already,
    in order, so it is enough to say how many of them stand above the gate.
    """
    gates: list[dict[str, Any]] = []
    rewrites_above = 0
    for link in chain:
        described = link.describe(options.carry)
        if link.is_expensive:
            described["gates"] = list(gates)
        yield link, described
        if link.is_gate:
            gates.append({**link.verdict(options.carry), "rewrites_above": rewrites_above})
        rewrites_above += link.rewrites


def reader_components(format: str, options: ReadOptions) -> dict[str, Any]:
    """What of reading changes the records."""
    reader = READERS[format]
    return {
        "format": format,
        "version": reader.version,
        "options": {
            name: value
            for name, value in options.components().items()
            if name != "members" or format == "archive"  # it says nothing of other formats
        },
        "depends": dict(reader.depends()),
    }


def column_sets(chain: Sequence[Link], format: str, options: ReadOptions) -> list[ColumnSet]:
    """The column sets of a chain: `base`, one for each step that has columns, `final`; those below a
    CorpusEdit only if it has its cut."""
    reader = reader_components(format, options)
    sets = [ColumnSet(BASE, 0, {"reader": reader, "base": BASE_VERSION})]
    above: list[dict[str, Any]] = []
    for position, (link, described) in enumerate(_described(chain, options)):
        if isinstance(link.step, CorpusEdit):
            units = link.before_cut.describe(options.carry)
            components = {"reader": reader, "above": list(above), "columns": units}
            sets.append(ColumnSet(link.units, position, components))
            if not link.rewrites:
                continue
            if link.cut is None:
                return sets
        if link.has_columns:
            components = {"reader": reader, "above": list(above), "columns": described}
            sets.append(ColumnSet(link.label, position, components))
        if link.rewrites:
            above.append(described)
    sets.append(ColumnSet(FINAL, len(chain), {"reader": reader, "above": above, "final": FINAL_VERSION}))
    return sets


def chain_to_json(chain: Sequence[Link]) -> list[dict[str, Any]]:
    """A chain as a task carries it."""
    return [
        {
            "label": link.label,
            "step": link.step.name,
            "parameters": link.params.model_dump(mode="json"),
            "cut": None if link.cut is None else asdict(link.cut),
        }
        for link in chain
    ]


def chain_from_json(values: Sequence[Mapping[str, Any]]) -> tuple[Link, ...]:
    """The inverse of `chain_to_json`, in a worker."""
    links = []
    for value in values:
        step = step_of(value["step"])
        # From JSON text, since strict models take a list for a tuple only there.
        params = step.params.model_validate_json(json.dumps(value["parameters"]))
        cut = None if value["cut"] is None else Cut(**value["cut"])
        links.append(Link(value["label"], step, params, cut))
    return tuple(links)
