from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest

from dataprep.readers.values import as_text

UTC = dt.UTC
MOMENT = dt.datetime(2024, 1, 31, 10, 20, 30)


@pytest.mark.parametrize(
    ("values", "type_", "expected"),
    [
        (["a", None, ""], pa.string(), ["a", None, ""]),
        (["a", None, ""], pa.large_string(), ["a", None, ""]),
        (["a", None], pa.string_view(), ["a", None]),
        ([b"a", None, b"\xff", "\u00e9".encode()], pa.binary(), ["a", None, None, "\u00e9"]),
        ([b"a", b"\xff"], pa.large_binary(), ["a", None]),
        ([b"ab", b"\xff\xff"], pa.binary(2), ["ab", None]),
        (["a", None, "a"], pa.dictionary(pa.int8(), pa.string()), ["a", None, "a"]),
        ([1, None, -3], pa.int8(), ["1", None, "-3"]),
        ([2**64 - 1], pa.uint64(), ["18446744073709551615"]),
        ([1.5, None, float("nan"), float("inf"), 2.0], pa.float64(), ["1.5", None, None, None, "2"]),
        ([0.1], pa.float32(), ["0.1"]),
        ([1.5], pa.float16(), ["1.5"]),
        ([decimal.Decimal("1.50")], pa.decimal128(5, 2), ["1.50"]),
        ([True, None, False], pa.bool_(), ["true", None, "false"]),
        ([dt.date(2024, 1, 31), None], pa.date32(), ["2024-01-31", None]),
        ([dt.date(2024, 1, 31)], pa.date64(), ["2024-01-31"]),
        ([MOMENT], pa.timestamp("s"), ["2024-01-31T10:20:30"]),
        ([MOMENT, None], pa.timestamp("ns"), ["2024-01-31T10:20:30", None]),
        ([MOMENT.replace(microsecond=120)], pa.timestamp("us"), ["2024-01-31T10:20:30.000120"]),
        ([MOMENT.replace(tzinfo=UTC)], pa.timestamp("ms", "Europe/Berlin"), ["2024-01-31T10:20:30Z"]),
        ([MOMENT.replace(tzinfo=UTC)], pa.timestamp("us", "UTC"), ["2024-01-31T10:20:30Z"]),
        ([dt.time(1, 2, 3)], pa.time32("s"), ["01:02:03"]),
        ([[1, None, 2], None, []], pa.list_(pa.int8()), ["[1,null,2]", None, "[]"]),
        (
            [{"a": "\u00e9", "b": [b"x", b"\xff"]}, {"a": None, "b": None}],
            pa.struct({"a": pa.string(), "b": pa.list_(pa.binary())}),
            ['{"a":"\u00e9","b":["x",null]}', '{"a":null,"b":null}'],
        ),
        ([[("k", 1.0), ("l", float("inf"))]], pa.map_(pa.string(), pa.float64()), ['[["k",1.0],["l",null]]']),
        (
            [[MOMENT, None]],
            pa.list_(pa.timestamp("s")),
            ['["2024-01-31T10:20:30",null]'],
        ),
        ([None, None], pa.null(), [None, None]),
    ],
    ids=str,
)
def test_values(values: list[Any], type_: pa.DataType, expected: list[str | None]) -> None:
    if pa.types.is_dictionary(type_):
        column = pa.array(values, pa.string()).dictionary_encode()
    else:
        column = pa.array(values, type_)
    text = as_text(column)
    assert text.type == pa.string()
    assert text.to_pylist() == expected
    assert as_text(column.slice(1)).to_pylist() == expected[1:]


def test_an_extension_type_is_its_storage() -> None:
    storage = pa.array([b"0123456789abcdef"], pa.binary(16))
    assert as_text(pa.ExtensionArray.from_storage(pa.uuid(), storage)).to_pylist() == ["0123456789abcdef"]
