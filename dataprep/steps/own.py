"""A step of your own: an entry named `package.module:function` calls that function once a document, or once a
batch of them.

    - mycorpus.steps:shout: {version: 1, does: transform, with: {mark: "!"}, only: [web]}

does: transform   the function returns the new text
      drop        it returns None, False or "" to keep a document, True or one of `reasons` to drop it
      score       it returns a number; `min_score` and `max_score` drop, and changing them calls nothing again

The function's `version` stands in the recipe and is in the key: raise it when the function's answers change.
`reasons` and `on_error` are not, so a new reason calls nothing again. How a step is written:
docs/guides/own-steps.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.batch import Batch
from dataprep.columns import Texts
from dataprep.steps.base import Check, Edit, Signals, above, below, unicode_version
from dataprep.steps.foreign import Failure, equal, errors_of, failed_check, has_failed
from dataprep.steps.functions import check_arguments, find_function, is_function_name
from dataprep.steps.own_calls import code_of, quoted
from dataprep.steps.own_params import DROPPED, SCORE_UNITS, TRUE, OwnParams
from manifests.errors import UserError


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
        measuring=frozenset({"version", "does", "input", "fields", "with"}),
        depends=partial(depends, name),
        needs=needs,
        expensive=True,
        rewrites=rewrites,
        stopping=frozenset({"reasons", "on_error"}),
    )


def rewrites(params: OwnParams) -> bool:
    return params.does == "transform"


def needs(params: OwnParams) -> tuple[str, ...]:
    return params.fields


def depends(name: str, params: OwnParams) -> Mapping[str, str]:
    """Import the function, so that a run with a wrong name does not start. Its version is a parameter."""
    _checked(name, json.dumps(params.with_))
    return unicode_version(params)


@lru_cache(maxsize=256)  # every split of a plan asks
def _checked(name: str, arguments: str) -> None:
    check_arguments(name, find_function(name), json.loads(arguments))


def edit(name: str, batch: Batch, params: OwnParams) -> tuple[Texts, Signals]:
    """Signals: `error` (see `errors_of`); drop: `reason`, null for a document that stays; score:
    `score_ppm`, int64."""
    answers = code_of(name, params).answers(batch)
    errors = {"error": errors_of(answers)}
    if params.does == "transform":
        return _rewritten(batch.texts, answers), errors
    if params.does == "drop":
        reasons = [None if isinstance(answer, Failure) else answer for answer in answers]
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
        scores[has_failed(signals)] = np.nan
        found += [below("low_score", scores, params.min_score), above("high_score", scores, params.max_score)]
    return [*found, *failed_check(name, signals, params)]


def _reason_checks(name: str, column: pa.StringArray, declared: Sequence[str]) -> list[Check]:
    """Raises for a reason of a kept column that the recipe listed when it was made and lists no more."""
    known = {*declared, *((TRUE,) if len(declared) == 1 else ())}
    gone = sorted(set(pc.unique(column).drop_null().to_pylist()) - known)
    if gone:
        raise UserError(
            f"{name} gave {quoted(gone[0])} as a reason to drop documents, and `reasons:` does not list it",
            where=f"step {name}",
            hint="list it again; or raise the function's version, so that it is called again",
        )
    rows = {reason: equal(column, reason) for reason in declared}
    if len(declared) == 1:
        rows[declared[0]] |= equal(column, TRUE)
    return [Check(reason, dropped, column, f"is {reason}") for reason, dropped in rows.items()]


def _rewritten(texts: Texts, answers: Sequence[Any]) -> Texts:
    """The new texts; the old one where the function failed; the same object where nothing changes."""
    old = list(texts)
    new = [
        before if isinstance(after, Failure) else after for before, after in zip(old, answers, strict=True)
    ]
    return texts if new == old else Texts.from_bytes(new)
