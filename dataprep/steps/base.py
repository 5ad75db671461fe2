"""What a step of the recipe is: five frozen records of plain functions, and what of them enters a key.

A step looks at documents as columns (`Batch`) and knows nothing of files, splits, passes or engines. Which
steps exist is the table `STEPS` in this package; a step's file exports one record, its parameters and
nothing that runs at import. Decisions only measure here: their algorithm is in `dataprep/decide/`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts

Signals = dict[str, Any]
"""Columns of one value a document, by name: numpy integers or booleans [n], uint64 [n, 2] for 128-bit
hashes, or an Arrow string array. Shares and scores are integers in stated units (millionths), so that no
machine rounds them another way."""

Mask = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]

NOT_MEASURED = "not_measured"
"""The reason of a document that an expensive step did not see, since a step above dropped it. No step gives
it."""


class Params(BaseModel):
    """Parameters of a step: frozen, no unknown key, no coercion ("50" is not 50 and true is not 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def refuse_crossed(params: Params, *pairs: tuple[str, str], zero_is_off: bool = False) -> None:
    """ValueError where a least value is above the greatest one that goes with it: nothing would stay."""
    for least, most in pairs:
        low, high = getattr(params, least), getattr(params, most)
        if low is not None and high is not None and low > high and not (zero_is_off and high == 0):
            raise ValueError(f"{least} {low:g} is above {most} {high:g}, so nothing would stay")


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """One rule over n documents: a threshold with a name.

    reason   becomes the drop reason
    dropped  bool [n]
    values   [n] what was judged: numpy numbers (NaN where there is nothing to judge) or an Arrow array
    drops    what drops a document, as people read it: "< 50"; "" when the check is switched off
    """

    reason: str
    dropped: Mask
    values: Any
    drops: str


def below(reason: str, values: npt.NDArray[Any], limit: float | None) -> Check:
    """Drops what is less than `limit`; None switches the check off."""
    if limit is None:
        return Check(reason, np.zeros(len(values), dtype=bool), values, "")
    return Check(reason, values < limit, values, f"< {limit:g}" if limit < 1e6 else f"< {limit:,}")


def above(reason: str, values: npt.NDArray[Any], limit: float | None) -> Check:
    """Drops what is more than `limit`; None switches the check off."""
    if limit is None:
        return Check(reason, np.zeros(len(values), dtype=bool), values, "")
    return Check(reason, values > limit, values, f"> {limit:g}" if limit < 1e6 else f"> {limit:,}")


def ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """part / whole, NaN for a whole of 0: neither above nor below anything."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def nothing(params: Any) -> Mapping[str, str]:
    """`depends` and `consults` of a step whose result depends on its own code alone."""
    return {}


def no_fields(params: Any) -> tuple[str, ...]:
    """`needs` of a step that looks at no carried field."""
    return ()


def no_more(params: Any) -> Mapping[str, Any]:
    """`also_measuring` of a step whose `measuring` says it all."""
    return {}


def always(params: Any) -> bool:
    """`rewrites` of an Edit whatever its parameters."""
    return True


def unicode_version(params: Any) -> Mapping[str, str]:
    """`depends` of a step that reads the Unicode character database (it comes with the interpreter)."""
    return {"unicode": unicodedata.unidata_version}


@dataclass(frozen=True, slots=True)
class Transform:
    """A step that rewrites text. `apply(batch, params)` returns as many texts, in the same order; each
    depends on its own document alone."""

    name: str
    version: int
    params: type[Params]
    apply: Callable[[Batch, Any], Texts]
    depends: Callable[[Any], Mapping[str, str]] = nothing
    expensive: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A step that drops documents one by one.

    `measure(batch, params)` makes the signals and may look only at the parameters named in `measuring`;
    `checks(signals, params)` makes the ratios and compares, so that a changed threshold measures nothing.
    `depends(params)` gives the versions and digests of what else the signals depend on, `consults(params)`
    those of what else `checks` looks at, such as a file of names. `needs(params)` names the carried fields
    that `measure` looks at. An `expensive` step sees only the documents that the steps above it did not drop.
    """

    name: str
    version: int
    params: type[Params]
    measure: Callable[[Batch, Any], Signals]
    checks: Callable[[Signals, Any], Sequence[Check]]
    measuring: frozenset[str] = field(default_factory=frozenset)
    depends: Callable[[Any], Mapping[str, str]] = nothing
    needs: Callable[[Any], tuple[str, ...]] = no_fields
    consults: Callable[[Any], Mapping[str, str]] = nothing
    expensive: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """A step that rewrites text and drops documents by what it saw on the way.

    `edit(batch, params)` returns the texts and the signals, and may look only at the parameters named in
    `measuring`; `checks` and the rest are as for a Rule. Where `rewrites(params)` is False, `edit` returns
    the texts that it was given: the step is then a rule, and what is below it does not depend on it. A step
    that `sees_all_fields` may look at whatever the records carry. At the parameters named in `stopping` it
    looks only to stop the run early: what it returns is the same whatever they are, so they are in no key.
    """

    name: str
    version: int
    params: type[Params]
    edit: Callable[[Batch, Any], tuple[Texts, Signals]]
    checks: Callable[[Signals, Any], Sequence[Check]]
    measuring: frozenset[str] = field(default_factory=frozenset)
    depends: Callable[[Any], Mapping[str, str]] = nothing
    needs: Callable[[Any], tuple[str, ...]] = no_fields
    consults: Callable[[Any], Mapping[str, str]] = nothing
    expensive: bool = False
    rewrites: Callable[[Any], bool] = always
    sees_all_fields: bool = False
    stopping: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Decision:
    """A step that looks at all documents at once (deduplication); `decide/` holds what it does with them.

    Which columns `measure` makes may depend on the parameters. Those that it looks at only for some values
    (a field to group by) are not in `measuring`, but in `also_measuring(params)`, as JSON values.
    """

    name: str
    version: int
    params: type[Params]
    measure: Callable[[Batch, Any], Signals]
    measuring: frozenset[str] = field(default_factory=frozenset)
    depends: Callable[[Any], Mapping[str, str]] = nothing
    needs: Callable[[Any], tuple[str, ...]] = no_fields
    also_measuring: Callable[[Any], Mapping[str, Any]] = no_more


class Ragged(Protocol):
    """What the documents of a batch have any number of."""

    @staticmethod
    def join(parts: Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
        """Arrays of all batches of a split by name, documents numbered through: what is kept in files."""


@dataclass(frozen=True, slots=True)
class CorpusEdit:
    """A step that takes parts out of texts, or drops documents, by what the texts of all documents say (line
    deduplication, decontamination).

    1. `measure(batch, params)` makes what a document may have any number of: units with hashes of what they
       say, or hits (None where the stages look at the texts themselves), and columns by document.
    2. The stages of the step (`stages/decisions.py`) look at those of all documents, and leave for each split
       what is to be cut, and columns by document of their own.
    3. `cut(batch, params, rows, starts, ends)` takes these bytes out of the texts that were measured (`rows`:
       which text of the batch; ascending by row and start), and returns the new texts and signals of what
       happened.
    4. `checks(signals, params)` drops documents, as for a Rule, by the signals of `cut` and the columns of
       the stages.

    Where `rewrites(params)` is False nothing is cut, and what stands below does not wait for the stages. The
    rest is as for a Decision.
    """

    name: str
    version: int
    params: type[Params]
    measure: Callable[[Batch, Any], tuple[Ragged | None, Signals]]
    cut: Callable[[Batch, Any, Int64s, Int64s, Int64s], tuple[Texts, Signals]]
    checks: Callable[[Signals, Any], Sequence[Check]]
    measuring: frozenset[str] = field(default_factory=frozenset)
    depends: Callable[[Any], Mapping[str, str]] = nothing
    needs: Callable[[Any], tuple[str, ...]] = no_fields
    also_measuring: Callable[[Any], Mapping[str, Any]] = no_more
    rewrites: Callable[[Any], bool] = always
    takes_copies: bool = True
    """Whether what it cuts stands in other documents too: a text may lose all of itself to a copy."""


StepType = Transform | Rule | Edit | Decision | CorpusEdit


def rewrites(step: StepType, params: Params) -> bool:
    """Whether the steps below see another text than this one did."""
    return isinstance(step, Transform) or (isinstance(step, Edit | CorpusEdit) and step.rewrites(params))


def measuring_parameters(step: StepType, params: Params) -> dict[str, Any]:
    """The part of `params` that changes what `apply`, `edit` or `measure` return, as JSON values, for the
    key."""
    values = params.model_dump(mode="json")
    if isinstance(step, Transform):
        return values
    measured = {name: value for name, value in values.items() if name in step.measuring}
    more = step.also_measuring(params) if isinstance(step, Decision | CorpusEdit) else {}
    return measured | dict(more)


def consulted(step: StepType, params: Params) -> dict[str, str]:
    """Versions and digests of what the step's verdicts depend on, beside its signals and parameters."""
    return dict(step.consults(params)) if isinstance(step, Rule | Edit) else {}


def needed_fields(step: StepType, params: Params, carry: Sequence[str]) -> tuple[str, ...]:
    """The fields that the step looks at, of records that carry `carry`."""
    if isinstance(step, Edit) and step.sees_all_fields:
        return tuple(carry)
    return () if isinstance(step, Transform) else step.needs(params)
