"""What a step of the recipe is: three frozen records of plain functions, and what of them enters a key.

A step looks at documents as columns (`Texts`) and knows nothing of files, splits, passes or engines. Which
steps exist is the table `STEPS` in this package; a step's file exports one record, its parameters and
nothing that runs at import. Decisions only measure here: their algorithm is in `dataprep/decide/`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from dataprep.kernels.texts import Texts

Signals = dict[str, np.ndarray]
"""Integer columns, one row a document: int64[n], or uint64[n, 2] for 128-bit hashes."""

Reasons = dict[str, np.ndarray]
"""Reason of a drop -> bool[n], True = drop, in the order in which reasons are reported."""


class Params(BaseModel):
    """Parameters of a step: frozen, no unknown key, no coercion ("50" is not 50 and true is not 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def nothing() -> dict[str, str]:
    """`depends` of a step whose result depends on its own code alone."""
    return {}


def unicode_version() -> dict[str, str]:
    """`depends` of a step that reads the Unicode character database (it comes with the interpreter)."""
    return {"unicode": unicodedata.unidata_version}


@dataclass(frozen=True, slots=True)
class Transform:
    """A step that rewrites text. `apply(texts, params)` returns as many documents, in the same order."""

    name: str
    version: int
    params: type[Params]
    apply: Callable[[Texts, Any], Texts]
    depends: Callable[[], dict[str, str]] = nothing


@dataclass(frozen=True, slots=True)
class Rule:
    """A step that drops documents one by one.

    `measure(texts, params)` makes the signals and may look only at the parameters named in `measuring`;
    `decide(signals, params)` makes the ratios and compares, so that a changed threshold measures nothing.
    """

    name: str
    version: int
    params: type[Params]
    measure: Callable[[Texts, Any], Signals]
    decide: Callable[[Signals, Any], Reasons]
    measuring: frozenset[str] = field(default_factory=frozenset)
    depends: Callable[[], dict[str, str]] = nothing


@dataclass(frozen=True, slots=True)
class Decision:
    """A step that looks at all documents at once (deduplication); `decide/` holds what it does with them."""

    name: str
    version: int
    params: type[Params]
    measure: Callable[[Texts, Any], Signals]
    measuring: frozenset[str] = field(default_factory=frozenset)
    depends: Callable[[], dict[str, str]] = nothing


StepType = Transform | Rule | Decision


def measuring_parameters(step: StepType, params: Params) -> dict[str, Any]:
    """The part of `params` that changes what `apply` or `measure` return, as JSON values, for the key."""
    values = params.model_dump(mode="json")
    if isinstance(step, Transform):
        return values
    return {name: value for name, value in values.items() if name in step.measuring}
