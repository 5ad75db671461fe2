from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts
from dataprep.kernels.unescape import NULL, NUMBER, OTHER, STRING, unescape
from tests.dataprep.kernels.strategies import sliced, texts
from tests.reference import json_lines as twin

KINDS = {STRING: "string", NULL: "null", NUMBER: "number", OTHER: "other"}
PIECES = [
    *'/bfnrt\\"',
    "u0000",
    "u001f",
    "u00e9",
    "u07FF",
    "u0800",
    "uFFFF",
    "u4e2D",
    "ud83d\\uDE00",
    "uDBFF\\udfff",
]
json_strings = st.lists(
    st.one_of(
        st.sampled_from([f"\\{piece}" for piece in PIECES]), texts.map(lambda text: json.dumps(text)[1:-1])
    )
).map(lambda pieces: f'"{"".join(pieces)}"')
json_values = st.one_of(
    json_strings,
    texts.map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.sampled_from(["null", "true", "false", "[]", '["a"]', "{}", "-0", "1E+9", '""']),
)
nested = st.recursive(
    json_values,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(" ,\t".join).map(lambda items: f"[ {items}\r]"),
        st.lists(st.tuples(json_strings, inner), max_size=3).map(
            lambda pairs: "{\n" + ", ".join(f"{key} : {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=5,
)


@given(st.lists(nested, max_size=6), st.booleans())
def test_equals_python(values: list[str], keep_other: bool) -> None:
    out, kinds = unescape(sliced(values), keep_other)
    expected = [twin.unescape(value, keep_other) for value in values]
    assert [KINDS[kind] for kind in kinds.tolist()] == [kind for kind, _ in expected]
    assert out.to_strings() == [text for _, text in expected]


@pytest.mark.parametrize("code", [0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF])
def test_bounds_of_the_lengths_of_utf8(code: int) -> None:
    character = chr(code)
    out, _ = unescape(Texts.from_strings([json.dumps(f"a{character}b")]))
    assert out.to_strings() == [f"a{character}b"]


def test_no_values() -> None:
    out, kinds = unescape(Texts.from_strings([]))
    assert len(out) == 0 and kinds.size == 0
