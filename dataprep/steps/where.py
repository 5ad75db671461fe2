"""where: keeps documents by what their records say of them: licence, date, score, whatever a source carries.

    - where: {fields: {license: {in: [CC0-1.0, MIT]}, date: {from: "2020-01-01", before: "2024-01-01"}}}

Every condition on every field must hold. Of a value, which is text (see `carry`), a condition looks at:

in, not_in    the text, against a list; numbers, true and false in the list stand for their JSON text
min, max      the number that the text is, both ends included
from, before  the date of the calendar that the text begins with (year, month and day, or a year or month
              alone, which is its first day), as it is written, whatever the zone; `from` is included,
              `before` is not
matches       the text, in which RE2 must find the expression
present       whether there is a value

A value that is null, or no number or date where one is asked for, is missing. What that means is `missing`.

The values themselves are the signals, so changed conditions measure nothing again.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from dataprep.batch import Batch
from dataprep.steps.base import Check, Mask, Params, Rule, Signals, refuse_crossed

_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0])
"""Of each month; none before the first and after the twelfth."""
_DATE = r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2}([T ].*)?)?)?$"


def _expression(pattern: str) -> str:
    try:
        pc.match_substring_regex(pa.array(["x"]), pattern)
    except pa.ArrowInvalid as error:
        raise ValueError(f"no regular expression of RE2: {str(error).splitlines()[0]}") from error
    return pattern


def _date(text: str) -> str:
    if re.match(r"\A[0-9]{4}(-[0-9]{2}){0,2}\Z", text) is not None:
        try:
            return datetime.date.fromisoformat(_full(text)).isoformat()
        except ValueError:
            pass
    raise ValueError(f'expected a date such as 2024-01-31 or 2024, found the text "{text}"')


def _full(date: str) -> str:
    """A year or month as its first day."""
    return date + "-01-01"[len(date) - 10 :] if len(date) < 10 else date


Listed = Annotated[tuple[str | int | float | bool, ...], Field(strict=False, min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Date = Annotated[str, AfterValidator(_date)]


class Condition(Params):
    """What must hold for the values of one field; see the module's docstring."""

    in_: Listed | None = Field(default=None, alias="in")
    not_in: Listed | None = None
    min: Number | None = None
    max: Number | None = None
    from_: Date | None = Field(default=None, alias="from")
    before: Date | None = None
    matches: Annotated[str, AfterValidator(_expression)] | None = None
    present: bool | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Condition:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if not given:
            raise ValueError("asks nothing of the field")
        if self.present is False and len(given) > 1:
            raise ValueError("present: false leaves no value of which anything else can be asked")
        refuse_crossed(self, ("min", "max"))
        if self.from_ is not None and self.before is not None and self.from_ >= self.before:
            raise ValueError(f"no date is {self.from_} or later and before {self.before}")
        return self

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """`in` and `from` are no names for fields in Python, and are everywhere else."""
        return {name.removesuffix("_"): value for name, value in handler(self).items()}


class WhereParams(Params):
    """fields   field -> what must hold for its values
    missing  whether a document without a value that a condition looks at is dropped or kept
    """

    fields: Annotated[dict[str, Condition], Field(min_length=1)]
    missing: Literal["drop", "keep"] = "drop"

    @property
    def names(self) -> tuple[str, ...]:
        """The fields, in the order in which they are judged."""
        return tuple(sorted(self.fields))


def needs(params: WhereParams) -> tuple[str, ...]:
    return params.names


def measure(batch: Batch, params: WhereParams) -> Signals:
    """The carried values of each field."""
    return {name: batch.fields[name] for name in params.names}


def checks(signals: Signals, params: WhereParams) -> Sequence[Check]:
    """One reason a field, `where_` and its name in letters, digits and underscores."""
    found: list[Check] = []
    for name in params.names:
        values, condition = signals[name], params.fields[name]
        dropped = np.zeros(len(values), dtype=bool)
        for holds in _judged(values, condition):
            dropped |= _mask(pc.fill_null(pc.invert(holds), params.missing == "drop"))
        found.append(Check(_reason(name, found), dropped, values, _drops(condition)))
    return found


def _judged(values: pa.StringArray, condition: Condition) -> Iterator[pa.BooleanArray]:
    """For each condition whether it holds, null where there is no value that it looks at."""
    if condition.present is not None:
        yield pc.equal(pc.is_valid(values), condition.present)
    if condition.in_ is not None:
        yield _among(values, condition.in_)
    if condition.not_in is not None:
        yield pc.invert(_among(values, condition.not_in))
    if condition.matches is not None:
        yield pc.match_substring_regex(values, condition.matches)
    if condition.min is not None or condition.max is not None:
        numbers = _where(values, _NUMBER).cast(pa.float64())
        if condition.min is not None:
            yield pc.greater_equal(numbers, condition.min)
        if condition.max is not None:
            yield pc.less_equal(numbers, condition.max)
    if condition.from_ is not None or condition.before is not None:
        dates = _dates(values)
        if condition.from_ is not None:
            yield pc.greater_equal(dates, condition.from_)
        if condition.before is not None:
            yield pc.less(dates, condition.before)


def _among(values: pa.StringArray, listed: Sequence[str | float]) -> pa.BooleanArray:
    wanted = pa.array([_text(each) for each in listed], pa.string())
    return pc.if_else(pc.is_valid(values), pc.is_in(values, wanted), pa.scalar(None, pa.bool_()))


def _where(values: pa.StringArray, pattern: str) -> pa.StringArray:
    """The values that match, null for the others."""
    return pc.if_else(pc.match_substring_regex(values, pattern), values, pa.scalar(None, pa.string()))


def _dates(values: pa.StringArray) -> pa.StringArray:
    """Year-month-day, which sorts as dates do; null for what is none, such as 2020-99 and 2021-02-29."""
    dates = pc.utf8_slice_codeunits(_where(values, _DATE), 0, 10)
    ends = pa.array(["-01-01", "-01"], pa.string())
    lengths = pc.binary_length(dates)
    for length, end in zip((4, 7), ends, strict=True):
        dates = pc.if_else(pc.equal(lengths, length), pc.binary_join_element_wise(dates, end, ""), dates)
    year, month, day = (
        pc.utf8_slice_codeunits(dates, start, stop).cast(pa.int32()).fill_null(0).to_numpy()
        for start, stop in ((0, 4), (5, 7), (8, 10))
    )
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    days = _DAYS[np.minimum(month, 13)] + ((month == 2) & is_leap)
    is_date = pa.array((year > 0) & (day > 0) & (day <= days))
    return pc.if_else(is_date, dates, pa.scalar(None, pa.string()))


def _mask(values: pa.BooleanArray) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False)
    return mask


def _reason(name: str, before: Sequence[Check]) -> str:
    slug = "where_" + (re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "field")
    taken = {check.reason for check in before}
    return next(each for each in (slug, *(f"{slug}_{n}" for n in range(2, 99))) if each not in taken)


def _drops(condition: Condition) -> str:
    """What drops a document, in words."""
    listed = ((condition.in_, "not "), (condition.not_in, ""))
    words = [sign + " or ".join(map(_text, each)) for each, sign in listed if each is not None]
    bounds = {
        "< {}": condition.min,
        "> {}": condition.max,
        "before {}": condition.from_,
        "{} or later": condition.before,
        "without a match of {}": condition.matches,
    }
    words += [sentence.format(bound) for sentence, bound in bounds.items() if bound is not None]
    if condition.present is not None:
        words.append("missing" if condition.present else "present")
    return "; ".join(words)


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)


WHERE = Rule(name="where", version=2, params=WhereParams, measure=measure, checks=checks, needs=needs)
