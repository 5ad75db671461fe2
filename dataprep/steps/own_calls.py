"""How an own step calls its function: what it passes, and what it takes for an answer.

An answer is bytes of UTF-8 (transform), a reason or None (drop), or millionths (score). Anything else that
the function returns raises here, and is told as what the function did (`foreign.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.batch import Batch
from dataprep.columns import texts_to_arrow
from dataprep.steps.foreign import Code, Mistake, Unusable
from dataprep.steps.functions import find_function
from dataprep.steps.own_params import DROPPED, MAX_SCORE, SCORE_UNITS, TRUE, OwnParams
from manifests.errors import UserError
from manifests.wording import describe, did_you_mean

NOISE = 1e-3  # by which a score may differ in another batch: sums of floats depend on how they are grouped

Accept = Callable[[Any], Any]


def code_of(name: str, params: OwnParams) -> Code:
    function, accept = find_function(name), _ACCEPT[params.does](params)

    def text(batch: Batch, row: int, text: str) -> Any:
        return accept(function(text, **params.with_))

    def many(batch: Batch) -> list[Any]:
        returned = function(record_batch(batch, params.fields), **params.with_)
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


def record_batch(batch: Batch, fields: Sequence[str]) -> pa.RecordBatch:
    """text (large_string), id (string), and the carried fields that are asked for (string)."""
    for field in fields:
        if field not in batch.fields:
            raise UserError(
                f"the step reads the field {field}, which its source does not carry",
                hint=f"add it to the source: `carry: [{field}]`",
            )
    columns = {field: batch.fields[field] for field in fields}
    return pa.RecordBatch.from_pydict({"text": texts_to_arrow(batch.texts), "id": batch.ids, **columns})


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

    def accept(value: Any) -> str | None:
        if value is None or (isinstance(value, str | bool | np.bool_) and not value):
            return None
        if isinstance(value, bool | np.bool_):
            if len(declared) > 1:
                raise Mistake(
                    f"returned True; with several reasons, return one of them: {', '.join(declared)}"
                )
            return TRUE
        if not isinstance(value, str):
            raise Unusable(f"returned {_kind(value)}, expected None, True, False or a reason")
        if value not in declared:
            raise Mistake(f"returned the reason {quoted(value)}{did_you_mean(value, declared)}")
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


def quoted(value: str) -> str:
    return describe(value).removeprefix("the text ")


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
