"""Parameters of an own step (`own.py` says what they mean). Nothing of anybody's code is imported here."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from dataprep.steps.base import refuse_crossed
from dataprep.steps.foreign import FAILED, ForeignParams
from manifests.problems import Problem, refusal
from manifests.wording import describe

TRUE = "true"
"""Stands in the signal for True, which is the only reason that is declared."""

DROPPED = "dropped"
MAX_REASONS = 20
SCORE_UNITS = 1_000_000
MAX_SCORE = 9e12  # in millionths it still fits an int64
_SLUG = re.compile(r"[a-z][a-z0-9_]{0,39}")

Score = Annotated[float, Field(ge=-MAX_SCORE, le=MAX_SCORE, allow_inf_nan=False)]


class OwnParams(ForeignParams):
    """See the module's docstring.

    fields   carried fields that a batch has beside `text` and `id`
    reasons  what the function may return; null is one reason, `dropped`
    """

    version: Annotated[int, Field(ge=1)]
    does: Literal["transform", "drop", "score"]
    input: Literal["text", "batch"] = "text"
    fields: Annotated[tuple[str, ...], Field(strict=False)] = ()
    reasons: Annotated[tuple[str, ...], Field(strict=False, min_length=1, max_length=MAX_REASONS)] | None = (
        None
    )
    min_score: Score | None = None
    max_score: Score | None = None

    @field_validator("fields")
    @classmethod
    def _columns(cls, fields: tuple[str, ...]) -> tuple[str, ...]:
        for field in fields:
            if field in ("text", "id"):
                raise ValueError(
                    f'every batch has a column "{field}", of the text and the id of each document'
                )
        if len(set(fields)) < len(fields):
            raise ValueError("lists a field twice")
        return fields

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
        if self.fields and self.input != "batch":
            message = "only input: batch has it, and this step has input: text"
            raise refusal([Problem(("fields",), message, about_key=True)])
        refuse_crossed(self, ("min_score", "max_score"))
        return self
