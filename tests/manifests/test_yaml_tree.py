"""The dialect: what scalars mean, where nodes are, and what is refused in which line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.errors import UserError
from manifests.strict import load_yaml
from manifests.yaml_tree import MAX_DEPTH, MAX_NODES, read_tree, resolve


def tree(text: str) -> Any:
    root, findings = read_tree(text, "c.yaml")
    assert findings == []
    assert root is not None
    return root


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("Null", None),
        ("true", True), ("False", False),
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"),
        ("0", 0), ("-17", -17), ("+3", 3), ("0x1F", 31), ("0o17", 15),
        ("010", "010"), ("1_000", "1_000"), ("0b1", "0b1"), ("1" * 50, "1" * 50),
        ("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e-3", 0.001), ("1E3", 1000.0), ("-2.5e+2", -250.0),
        ("1.0.0", "1.0.0"), ("1:30", "1:30"), ("2026-01-01", "2026-01-01"), ("e3", "e3"), (".", "."),
        ("-", "-"), ("infinity", "infinity"), ("nan", "nan"), ("1e", "1e"),
    ],
)  # fmt: skip
def test_unquoted_scalars(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e999", "-1e999"])
def test_numbers_are_finite(text: str) -> None:
    with pytest.raises(ValueError, match="number"):
        resolve(text)


def test_quotes_and_blocks_are_text() -> None:
    node = tree("a: \"1.0\"\nb: 'true'\nc: |\n  3\nd: !!str 1.10\ne: ! 5\n")
    assert node.plain() == {"a": "1.0", "b": "true", "c": "3\n", "d": "1.10", "e": "5"}


def test_keys_are_text_as_written() -> None:
    assert tree("on: 1\n1.10: 2\ntrue: 3\n010: 4\nnull: 5\n").plain() == {
        "on": 1, "1.10": 2, "true": 3, "010": 4, "null": 5,
    }  # fmt: skip


def test_nodes_know_their_place_and_spelling() -> None:
    node = tree("a: 1.10\nb:\n  - x\n  - c:\n      d: [1,\n        2]\n")
    assert node.at(("a",)).spelling == "1.10"
    where = {
        loc: str(node.place_of(loc))
        for loc in [("a",), ("b",), ("b", 0), ("b", 1, "c"), ("b", 1, "c", "d", 1)]
    }
    assert where == {
        ("a",): "c.yaml:1",
        ("b",): "c.yaml:2",
        ("b", 0): "c.yaml:3",
        ("b", 1, "c"): "c.yaml:4",
        ("b", 1, "c", "d", 1): "c.yaml:6",
    }


def test_a_scalar_on_the_next_line_is_there_and_its_key_here() -> None:
    node = tree("a:\n  5\n")
    assert str(node.place_of(("a",))) == "c.yaml:2"
    assert str(node.place_of(("a",), key=True)) == "c.yaml:1"


def test_aliases_are_written_out() -> None:
    node = tree("a: &x [1, {b: 2}]\nc: *x\nd: {e: *x}\n")
    assert node.plain() == {"a": [1, {"b": 2}], "c": [1, {"b": 2}], "d": {"e": [1, {"b": 2}]}}
    assert str(node.place_of(("c", 1, "b"))) == "c.yaml:1"  # where the value is written
    assert tree("a: &x 1\na2: &x 2\nb: *x\n").plain()["b"] == 2  # an anchor may be set anew


def test_aliases_may_not_multiply() -> None:
    fits = "a: &a [" + "1, " * 999 + "]\nb: [" + "*a, " * 90 + "]\n"
    assert len(tree(fits).plain()["b"]) == 90
    with pytest.raises(UserError, match="more than 100,000 values"):
        read_tree(fits.replace("*a, " * 90, "*a, " * 100), "c.yaml")
    assert MAX_NODES == 100_000


def test_depth_is_bounded_with_and_without_aliases() -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    json.dumps(tree(deep).plain())
    for text in ("[" + deep + "]", "- &a " + deep[1:-1] + "\n- [*a]\n", "[" * 5000):
        with pytest.raises(UserError, match="nested more than 50 deep"):
            read_tree(text, "c.yaml")


def test_faults_that_can_be_read_past_come_together() -> None:
    text = "a: 1\na: 2\nb: .nan\nc: !x 3\n? [d]\n: 4\n? {e: 1}\n: 5\n? *f\n: 6\ng: 7\n".replace(
        "a: 1", "a: &f 1"
    )
    root, findings = read_tree(text, "c.yaml")
    assert root is not None
    assert root.plain() == {"a": 1, "b": None, "c": None, "g": 7}
    assert [str(each) for each in findings] == [
        'c.yaml:2: the key "a" is given twice (first on line 1)',
        "c.yaml:3: b: .nan is not a finite number",
        "c.yaml:4: c: the tag !x is not supported",
        "c.yaml:5: a key must be text, not a mapping or a list",
        "c.yaml:7: a key must be text, not a mapping or a list",
        "c.yaml:9: a key must be text, not an alias",
    ]


def test_a_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    node = load_yaml(tmp_path / "c.yaml")
    assert node.plain() == {"a": 1, "b": 2}
    assert str(node.place_of(("b",))).endswith("c.yaml:2")


_TEXT = st.text(st.characters(max_codepoint=0xFFFD, exclude_categories=["Cs", "Cc"]), max_size=10)
_NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXT,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(value=_JSON)
def test_json_means_in_yaml_what_it_means_in_json(value: Any) -> None:
    found = tree(json.dumps(value, ensure_ascii=False)).plain()
    assert found == value
    assert json.dumps(found) == json.dumps(value)  # 1 and 1.0 differ here


def test_small_floats_are_not_lost() -> None:
    assert math.isclose(tree("lr: 1e-5").plain()["lr"], 1e-5)
