"""A step of your own: an entry named `package.module:function` calls that function once a document, or once a
batch of them.

    - mycorpus.steps:shout: {version: 1, does: transform, with: {mark: "!"}, only: [web]}

does: transform   the function returns the new text
      drop        it returns None, False or "" to keep a document, True or one of `reasons` to drop it
      score       it returns a number; `min_score` and `max_score` drop, and changing them calls nothing again

The function's `version` stands in the recipe and is in the key: raise it when the function's answers change.
`reasons` and `on_error` are in no key: the step looks at them only to stop early. How a step is written:
docs/guides/own-steps.md.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from dataprep.batch import Batch
from dataprep.columns import Texts, texts_to_arrow
from dataprep.steps.base import Check, Edit, Signals, above, below, unicode_version
from dataprep.steps.foreign import (
    FAILED,
    Code,
    Failure,
    ForeignParams,
    Mistake,
    Unusable,
    equal,
    errors_of,
    failed_check,
)
from dataprep.steps.functions import check_arguments, find_function, is_function_name
from manifests.errors import UserError
from manifests.problems import Problem, refusal
from manifests.wording import describe, did_you_mean

TRUE = "true"
"""Stands in the signal for True, which is the only reason that is declared."""

DROPPED = "dropped"
MAX_REASONS = 20
SCORE_UNITS = 1_000_000
MAX_SCORE = 9e12  # in millionths it still fits an int64
NOISE = 1e-3  # by which a score may differ in another batch: sums of floats depend on how they are grouped
_SLUG = re.compile(r"[a-z][a-z0-9_]{0,39}")

Score = Annotated[float, Field(ge=-MAX_SCORE, le=MAX_SCORE, allow_inf_nan=False)]


class OwnParams(ForeignParams):
    """See the module's docstring. `reasons` of null is one reason, `dropped`."""

    version: Annotated[int, Field(ge=1)]
    does: Literal["transform", "drop", "score"]
    input: Literal["text", "batch"] = "text"
    reasons: Annotated[tuple[str, ...], Field(strict=False, min_length=1, max_length=MAX_REASONS)] | None = (
        None
    )
    min_score: Score | None = None
    max_score: Score | None = None

    @field_validator("reasons")
    @classmethod
    def _slugs(cls, reasons: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for reason in reasons or ():
            if _SLUG.fullmatch(reason) is None:
                raise ValueError(f'expected words such as "too_short", found {describe(reason)}')
            if reason in (FAILED, TRUE):
                raise ValueError(f'"{reason}" has a meaning of its own; choose another word')
        if len(set(reasons or ())) < len(reasons or ()):
            raise ValueError("lists a reason twice")
        return reasons

    @model_validator(mode="after")
    def _nothing_is_ignored(self) -> OwnParams:
        for name, does in (("reasons", "drop"), ("min_score", "score"), ("max_score", "score")):
            if getattr(self, name) is not None and self.does != does:
                message = f"only does: {does} has it, and this step has does: {self.does}"
                raise refusal([Problem((name,), message, about_key=True)])
        return self


@lru_cache
def own_step(name: str) -> Edit | None:
    """The step that calls the function of that name; None for a name of another form."""
    if not is_function_name(name):
        return None
    return Edit(
        name=name,
        version=1,  # of how functions are called; a function's own version is a parameter
        params=OwnParams,
        edit=partial(edit, name),
        checks=partial(checks, name),
        measuring=frozenset({"version", "does", "input", "with"}),
        depends=partial(depends, name),
        expensive=True,
        rewrites=rewrites,
    )


def rewrites(params: OwnParams) -> bool:
    return params.does == "transform"


def depends(name: str, params: OwnParams) -> Mapping[str, str]:
    """Import the function, so that a run with a wrong name does not start. Its version is a parameter."""
    check_arguments(name, find_function(name), params.with_)
    return unicode_version(params)


def edit(name: str, batch: Batch, params: OwnParams) -> tuple[Texts, Signals]:
    """Signals: `error` (see `errors_of`); drop: `reason`, "" for a document that stays; score: `score_ppm`,
    int64."""
    answers = _code(name, params).answers(batch)
    errors = {"error": errors_of(answers)}
    if params.does == "transform":
        return _rewritten(batch.texts, answers), errors
    if params.does == "drop":
        reasons = ["" if isinstance(answer, Failure) else answer for answer in answers]
        return batch.texts, {"reason": pa.array(reasons, pa.string()), **errors}
    scores = [0 if isinstance(answer, Failure) else answer for answer in answers]
    return batch.texts, {"score_ppm": np.array(scores, dtype=np.int64), **errors}


def checks(name: str, signals: Signals, params: OwnParams) -> Sequence[Check]:
    """The declared reasons in their order, or the two limits of a score; `failed` is last."""
    found: list[Check] = []
    if params.does == "drop":
        found += _reason_checks(name, signals["reason"], params.reasons or (DROPPED,))
    elif params.does == "score":
        scores = signals["score_ppm"] / SCORE_UNITS
        scores[~equal(signals["error"], "")] = np.nan
        found += [below("low_score", scores, params.min_score), above("high_score", scores, params.max_score)]
    return [*found, *failed_check(name, signals, params)]


def _reason_checks(name: str, column: pa.StringArray, declared: Sequence[str]) -> list[Check]:
    """Raises for a reason of a kept column that the recipe listed when it was made and lists no more."""
    known = {*declared, "", *((TRUE,) if len(declared) == 1 else ())}
    gone = sorted({each for each in pc.unique(column).to_pylist() if each is not None} - known)
    if gone:
        raise UserError(
            f"{name} gave {_quoted(gone[0])} as a reason to drop documents, and `reasons:` does not list it",
            where=f"step {name}",
            hint="list it again; or raise the function's version, so that it is called again",
        )
    rows = {reason: equal(column, reason) for reason in declared}
    if len(declared) == 1:
        rows[declared[0]] |= equal(column, TRUE)
    return [Check(reason, dropped, column, f"is {reason}") for reason, dropped in rows.items()]


# --- calling ------------------------------------------------------------------------------------------------
Accept = Callable[[Any], Any]


def _code(name: str, params: OwnParams) -> Code:
    function, accept = find_function(name), _ACCEPT[params.does](params)

    def text(batch: Batch, row: int, text: str) -> Any:
        return accept(function(text, **params.with_))

    def many(batch: Batch) -> list[Any]:
        returned = function(record_batch(batch), **params.with_)
        if not isinstance(returned, pa.Array | pa.ChunkedArray):
            raise Unusable(f"returned {_kind(returned)}, expected a pyarrow array")
        if len(returned) != len(batch):
            raise Unusable(f"returned {len(returned):,} values for {len(batch):,} documents")
        return [accept(value) for value in returned.to_pylist()]

    def alone(batch: Batch, row: int, text: str) -> Any:
        return many(batch.take(np.array([row])))[0]

    drops = params.on_error == "drop"
    same = _close if params.does == "score" else operator.eq
    if params.input == "text":
        return Code(name, text, None, drops, same)
    return Code(name, alone, many, drops, same)


def record_batch(batch: Batch) -> pa.RecordBatch:
    """text (large_string), id (string), and the carried fields (string), by name."""
    columns: dict[str, Any] = {"text": texts_to_arrow(batch.texts), "id": batch.ids}
    for field, values in batch.fields.items():
        if field in columns:
            raise UserError(
                f'the carried field "{field}" has the name of a column that every batch has',
                hint="the record's text and id need not be carried",
            )
        columns[field] = values
    return pa.RecordBatch.from_pydict(columns)


# --- answers ------------------------------------------------------------------------------------------------
def _accept_text(params: OwnParams) -> Accept:
    def accept(value: Any) -> bytes:
        if not isinstance(value, str):
            raise Unusable(f"returned {_kind(value)}, expected the new text")
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise Unusable(
                f"returned text with a lone surrogate (U+{ord(value[error.start]):04X}), which is not UTF-8"
            ) from error

    return accept


def _accept_reason(params: OwnParams) -> Accept:
    declared = params.reasons or (DROPPED,)

    def accept(value: Any) -> str:
        if value is None or value is False or (isinstance(value, np.bool_) and not value):
            return ""
        if isinstance(value, bool | np.bool_):
            if len(declared) > 1:
                raise Mistake(
                    f"returned True; with several reasons, return one of them: {', '.join(declared)}"
                )
            return TRUE
        if not isinstance(value, str):
            raise Unusable(f"returned {_kind(value)}, expected None, True, False or a reason")
        if value and value not in declared:
            raise Mistake(f"returned the reason {_quoted(value)}{did_you_mean(value, declared)}")
        return value

    return accept


def _accept_score(params: OwnParams) -> Accept:
    def accept(value: Any) -> int:
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            raise Unusable(f"returned {_kind(value)}, expected a number")
        score = float(value)
        if not abs(score) <= MAX_SCORE:  # NaN is not
            raise Unusable(f"returned {score}, expected a number between -{MAX_SCORE:g} and {MAX_SCORE:g}")
        return round(score * SCORE_UNITS)

    return accept


def _close(one: int, other: int) -> bool:
    return abs(one - other) <= NOISE * max(SCORE_UNITS, abs(one))


_ACCEPT = {"transform": _accept_text, "drop": _accept_reason, "score": _accept_score}


def _rewritten(texts: Texts, answers: Sequence[Any]) -> Texts:
    """The new texts; the old one where the function failed; the same object where nothing changes."""
    old = list(texts)
    new = [
        before if isinstance(after, Failure) else after for before, after in zip(old, answers, strict=True)
    ]
    return texts if new == old else Texts.from_bytes(new)


def _quoted(value: str) -> str:
    return describe(value).removeprefix("the text ")


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
