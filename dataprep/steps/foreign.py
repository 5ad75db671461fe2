"""What steps that run other people's code share: what `with:` and `on_error:` mean, how the code is called,
and how a document is named in an error.

Such code may raise, answer nonsense, print, or remember what it saw. So each answer is checked, the first
that cannot be used stops the run with the document's name, prints go to stderr, and one document of every
batch is asked about again: an answer that depends on more than its document would make the corpus depend on
how documents are split among workers.

Here is no import of anybody's code: see `functions.py` and `datatrove_classes.py`.
"""

from __future__ import annotations

import json
import operator
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from dataprep.batch import Batch
from dataprep.steps.base import Check, Params, Signals
from manifests.errors import UserError

FAILED = "failed"
"""The drop reason of a document that the code failed on, under `on_error: drop`."""

SHOWN_CHARACTERS = 60
_OURS = str(Path(__file__).parent)


class ForeignParams(Params):
    """with      keyword arguments for the code
    on_error  "drop": a document that the code fails on is dropped as `failed`, and the run goes on

    `on_error` is in no key: what a step leaves that did not fail is the same under both.
    """

    with_: dict[str, JsonValue] = Field(default_factory=dict, alias="with")
    on_error: Literal["stop", "drop"] = "stop"

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """`with` is no name for a field in Python, and is one everywhere else."""
        return {"with" if name == "with_" else name: value for name, value in handler(self).items()}


class Unusable(Exception):
    """An answer that is not what the step needs; the message goes on from the name of what answered."""


class Mistake(Unusable):
    """An answer that is wrong whatever the document: it stops the run, and never drops one."""


FAILURES = (Exception, SystemExit)
"""What counts as failing on a document. Code that ends the process would end the run without a word."""

NEVER_DROP = (OSError, MemoryError, Mistake)
"""Faults of the machine, after which the document would be kept on another day, and mistakes in the code."""

_STOPPED = "mend it and run the same command again; what is finished is kept"
_STOPPED_OR_DROPPED = f"{_STOPPED}; or drop such documents with `on_error: drop`"


@dataclass(frozen=True, slots=True)
class Failure:
    """Stands in a list of answers for a document that the code failed on: the type of the exception."""

    error: str


@dataclass(frozen=True, slots=True)
class Code:
    """Somebody's code, as a step calls it. Both ways to ask raise what the code raises.

    who      its name in messages
    one      the answer for one document: `one(batch, row, text)`
    many     the answers for all documents of a batch; None for code that takes one at a time
    drops    a document that it fails on is dropped, and does not stop the run
    same     whether two answers for one document are the same
    """

    who: str
    one: Callable[[Batch, int, str], Any]
    many: Callable[[Batch], Sequence[Any]] | None = None
    drops: bool = False
    same: Callable[[Any, Any], bool] = operator.eq

    def answers(self, batch: Batch) -> list[Any]:
        """One answer or `Failure` a document. Raises UserError for the first failure, unless it `drops`."""
        if not len(batch):
            return []
        with redirect_stdout(sys.stderr):
            answers = self._answers(batch)
            self._ask_again(batch, answers)
        return answers

    def _answers(self, batch: Batch) -> list[Any]:
        if self.many is None:
            return self._one_by_one(batch)
        try:
            return list(self.many(batch))
        except UserError:
            raise
        except FAILURES as error:
            together = error
        answers = self._one_by_one(batch)  # which of them was it?
        if not any(isinstance(answer, Failure) for answer in answers):
            raise UserError(
                f"{self.who} {told(together)} for {len(batch):,} documents together, and for none alone",
                hint="an answer must depend on its own document alone",
            ) from together
        return answers

    def _one_by_one(self, batch: Batch) -> list[Any]:
        answers = []
        for row, text in enumerate(batch.texts.to_strings()):
            try:
                answers.append(self.one(batch, row, text))
            except UserError:
                raise
            except FAILURES as error:
                if not self.drops or isinstance(error, NEVER_DROP):
                    raise UserError(
                        f"{self.who} {told(error)}",
                        where=document_name(batch, row),
                        hint=_STOPPED if isinstance(error, NEVER_DROP) else _STOPPED_OR_DROPPED,
                    ) from error
                answers.append(Failure(_type_of(error)))
        return answers

    def _ask_again(self, batch: Batch, answers: Sequence[Any]) -> None:
        """Ask once more, alone, for the document with the least hash among the shorter half."""
        lengths = batch.texts.lengths
        shorter = np.flatnonzero(lengths <= np.median(lengths))
        row = int(shorter[np.lexsort(batch.raw_hash[shorter].T[::-1])[0]])
        before, again = answers[row], self._one_by_one(batch.take(np.array([row])))[0]
        if isinstance(before, Failure) and isinstance(again, Failure):
            return
        if type(before) is not type(again) or not self.same(before, again):
            raise UserError(
                f"{self.who} gave two answers for one document: it depends on what came before, or on chance",
                where=document_name(batch, row),
                hint="an answer must depend on its own document alone; seed what is random with the text",
            )


def told(error: BaseException) -> str:
    """What happened, to go on from the name of the code: "raised ValueError: ... (steps.py:12)"."""
    if isinstance(error, Unusable):
        return str(error)
    frames = [
        each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_OURS)
    ]
    theirs = [each for each in frames if each.filename == frames[0].filename]  # not what it calls in turn
    at = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    message = " ".join(str(error).split())
    return f"raised {type(error).__name__}{': ' * bool(message)}{message[:300]}{at}"


def errors_of(answers: Sequence[Any]) -> pa.StringArray:
    """The signal `error`: what each document failed with, null for one that did not."""
    return pa.array([each.error if isinstance(each, Failure) else None for each in answers], pa.string())


def _type_of(error: BaseException) -> str:
    return "unusable answer" if isinstance(error, Unusable) else type(error).__name__


def document_name(batch: Batch, row: int) -> str:
    """How a person finds the document: its id if it has one, its hash if not, and how it begins."""
    text = batch.texts[row].decode("utf-8", errors="replace")
    start = json.dumps(text[:SHOWN_CHARACTERS], ensure_ascii=False)
    own = batch.ids[row].as_py()
    high, low = (int(half) for half in batch.raw_hash[row])
    name = f"document {json.dumps(own, ensure_ascii=False)}" if own is not None else "a document"
    more = "..." if len(text) > SHOWN_CHARACTERS else ""
    return f"{name} (raw hash {high:016x}{low:016x}), which begins {start}{more}"


def equal(column: pa.StringArray, value: str) -> Any:
    """bool [n]: where a string column holds `value`."""
    return pc.fill_null(pc.equal(column, value), False).to_numpy(zero_copy_only=False)


def has_failed(signals: Signals) -> Any:
    """bool [n]; False for a document that was not measured."""
    return pc.is_valid(signals["error"]).to_numpy(zero_copy_only=False)


def failed_check(who: str, signals: Signals, params: ForeignParams) -> list[Check]:
    """The check of `on_error: drop`. Raises when documents failed in a run that allowed it and this one does
    not: their columns are kept, and `on_error` is in no key."""
    errors = signals["error"]
    failed = has_failed(signals)
    if params.on_error == "drop":
        return [Check(FAILED, failed, errors, "any")]
    if failed.any():
        types = ", ".join(sorted(set(errors.filter(pa.array(failed)).to_pylist())))
        raise UserError(
            f"{who} failed on {int(failed.sum()):,} documents ({types}) in an earlier run that dropped them",
            hint="write `on_error: drop` again; or mend the code and raise its version",
        )
    return []
