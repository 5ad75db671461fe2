"""Arrow values to the text that is carried with a document, so that a field means the same in every format.

Strings are as they are (bytes that are not UTF-8 become null: no step could look at them). Numbers, true and
false are JSON; what JSON has no number for (NaN, infinity) is null. Dates and times are ISO 8601, those with
a zone in UTC: `2024-01-31`, `2024-01-31T10:20:30Z`. Lists, structs and maps are compact JSON text of such
values.
"""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def as_text(column: pa.Array) -> pa.StringArray:
    """The values [n] as text."""
    type_ = column.type
    if isinstance(column, pa.ExtensionArray):
        return as_text(column.storage)
    if pa.types.is_dictionary(type_):
        return as_text(column.dictionary_decode())
    if is_text(type_) or pa.types.is_fixed_size_binary(type_):
        return _checked(column)
    if pa.types.is_floating(type_):
        column = column.cast(pa.float64()) if pa.types.is_float16(type_) else column
        return pc.if_else(pc.is_finite(column), column.cast(pa.string()), pa.scalar(None, pa.string()))
    if pa.types.is_timestamp(type_):
        return _instants(column)
    if pa.types.is_nested(type_):
        return pa.array([None if each is None else _json(each) for each in column.to_pylist()], pa.string())
    return column.cast(pa.string())  # integers, decimals, true and false, dates, times


def is_text(type_: pa.DataType) -> bool:
    """Whether values are strings, or bytes that may be."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    bytes_ = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(is_kind(type_) for is_kind in (*kinds, *bytes_))


def _checked(column: pa.Array) -> pa.StringArray:
    values = column.cast(pa.binary())
    try:
        return values.cast(pa.string())  # checks, where a cast from string would not
    except pa.ArrowInvalid:
        return pa.array(
            [None if each is None else _decoded(each) for each in values.to_pylist()], pa.string()
        )


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _instants(column: pa.TimestampArray) -> pa.StringArray:
    if column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    text = pc.replace_substring(column.cast(pa.string()), " ", "T", max_replacements=1)
    return pc.replace_substring_regex(text, r"\.0+(Z?)$", r"\1")


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """A Python value of Arrow as one that JSON has."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return _decoded(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int) else str(value)
