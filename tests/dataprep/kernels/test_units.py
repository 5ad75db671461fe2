from __future__ import annotations

import re
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.marks import code_points
from dataprep.kernels.texts import Texts
from dataprep.kernels.unit_forms import CCNET_MARKS, Form
from dataprep.kernels.units import KINDS, Kind, Units, units
from tests.dataprep.kernels.strategies import PIECES, long_text_lists, sliced, text_lists, texts
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import units as slow

kinds = st.sampled_from(list(KINDS))
forms = st.sampled_from(get_args(Form))
lined = st.lists(
    st.one_of(st.sampled_from(PIECES), st.sampled_from(["\n", "\n", "\n \n", "one. ", "Two! ", "b", " "])),
    max_size=40,
).map("".join)
"""Texts of many short lines and sentences."""


def found(given_texts: Texts, kind: Kind, form: Form, min_chars: int) -> list[list[slow.Unit]]:
    measured = units(given_texts.data, given_texts.offsets, kind, form, min_chars)
    rows: list[list[slow.Unit]] = [[] for _ in range(len(given_texts))]
    for row, (high, low), start, end, chars in zip(
        measured.rows.tolist(),
        measured.hashes.tolist(),
        measured.starts.tolist(),
        measured.ends.tolist(),
        measured.chars.tolist(),
        strict=True,
    ):
        rows[row].append(((high, low), start, end, chars))
    return rows


def agree(strings: list[str], kind: Kind, form: Form, min_chars: int) -> None:
    wanted = [slow.units(string, kind, form, min_chars) for string in strings]
    assert found(sliced(strings), kind, form, min_chars) == wanted


@given(st.one_of(text_lists, st.lists(lined, max_size=5)), kinds, forms, st.integers(0, 5))
@example(["a\n\n \nb\r\n c \n\n", "", "\n", "\u0130\u023a"], "paragraphs", "ccnet", 0)
@example(["aa. Bb. cc. d", "aa.\n\nbb. cc.  \n D.", "aa. bb.", "aa. bb. cc.   "], "sentences3", "c4", 1)
@example(["a \t\n\r b\tc", "a\x1c\nb", "a \x00\nb"], "paragraphs", "ccnet", 0)
def test_units_are_those_of_the_slow_twin(strings: list[str], kind: Kind, form: Form, min_chars: int) -> None:
    agree(strings, kind, form, min_chars)


@given(long_text_lists, kinds, forms)
def test_units_of_long_texts(strings: list[str], kind: Kind, form: Form) -> None:
    agree(strings, kind, form, 3)


def test_many_units_of_many_texts() -> None:
    strings = [f"line {number} of Text\n" * 40 + "One. Two. Three. Four.\n" * 30 for number in range(40)]
    for kind in KINDS:
        agree(strings[:3], kind, "ccnet", 1)
        measured = units(*_parts(strings), kind, "ccnet", 1)
        assert measured.unit_offsets[-1] == len(measured) > 0
        assert (measured.numbers[measured.unit_offsets[:-1]] == 0).all()


def _parts(strings: list[str]) -> tuple[np.ndarray, np.ndarray]:
    texts = Texts.from_strings(strings)
    return texts.data, texts.offsets


def one(text: str, kind: Kind, form: Form = "exact", min_chars: int = 1) -> tuple[list[bytes], Units]:
    """The bytes that go with each unit."""
    measured = units(*_parts([text]), kind, form, min_chars)
    raw = text.encode()
    return [raw[a:b] for a, b in zip(measured.starts.tolist(), measured.ends.tolist(), strict=True)], measured


def test_what_goes_with_a_unit() -> None:
    assert one("  a\n\n12\n b \r\nc", "lines")[0] == [b"  a\n", b" b \r\n", b"c"]
    assert one("a\nb\n \n\nc\n\n", "paragraphs")[0] == [b"a\nb\n \n\n", b"c\n\n"]
    assert one("aa. bb. cc.\n\ndd. ", "sentences3")[0] == [b"aa. bb. cc.\n\n", b"bb. cc.\n\ndd. "]


def test_what_takes_no_part() -> None:
    assert one("---\n12:30\n}\n\u2026\n\u4e2d", "lines")[0] == ["\u4e2d".encode()]
    assert one("ab\nabc\n  \u00e9\u00e9\u00e9  ", "lines", min_chars=3)[0] == [
        b"abc\n",
        "  \u00e9\u00e9\u00e9  ".encode(),
    ]
    assert one("aa. bb.", "sentences3")[0] == []


EQUAL: list[tuple[Kind, Form, str, str, bool]] = [
    ("lines", "exact", " a b\t", "a b", True),
    ("lines", "exact", "a b", "a  b", False),
    ("lines", "exact", "A", "a", False),
    ("lines", "c4", " Hello World\r", "hello world", True),
    ("lines", "c4", "caf\u00c9", "caf\u00e9", True),
    ("lines", "c4", "page 1", "page 2", False),
    ("lines", "ccnet", "Page 1 of \u0663", "page 0 of 9", True),
    ("lines", "ccnet", "\u00abyes\u00bb\u2026", "yes", True),
    ("lines", "ccnet", "yes, yes", "yes yes", False),  # a comma of ASCII stays, as there
    ("lines", "ccnet", "\uff11 a", "0 a", True),
    ("lines", "ccnet", "caf\u00e9", "cafe", False),  # accents stay, as there
    ("lines", "ccnet", "a\x00\tb", "ab", True),
    ("paragraphs", "exact", "a\nb", "a b", False),
    ("paragraphs", "c4", "A \r\n\tb", "a b", True),
    ("sentences3", "exact", "aa. bb. cc.", "aa.\n\nbb.\ncc.", True),
    ("sentences3", "exact", "on aa. bb. cc.", "on\naa. bb. cc.", False),
    ("sentences3", "c4", "On aa. BB. cc.", "on\naa. bb. cc.", True),
]


@pytest.mark.parametrize(("kind", "form", "left", "right", "are_equal"), EQUAL)
def test_what_counts_as_equal(kind: Kind, form: Form, left: str, right: str, are_equal: bool) -> None:
    (first,), (second,) = one(left, kind, form)[1].hashes.tolist(), one(right, kind, form)[1].hashes.tolist()
    assert (first == second) == are_equal


def test_marks_are_those_of_ccnet() -> None:
    assert {*map(chr, code_points(CCNET_MARKS))} == set(slow.CCNET_MARKS)


@given(texts.filter(lambda text: "\u03a3" not in text))
def test_forms_are_those_of_the_tools(text: str) -> None:
    """As they say it: on whole lines, with `str.lower`, which knows a final sigma; `\\d` for digits."""
    line = text.replace("\n", " ").strip()
    assert slow.form_of(line, "c4", False) == line.lower()
    gone = dict.fromkeys([*map(ord, slow.CCNET_MARKS), *range(32), *range(127, 160)])
    assert slow.form_of(line, "ccnet", False) == re.sub(r"\d", "0", line.lower()).translate(gone)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "a\n", "\n", "aa. ", "  ", " \n", ".\u3002", "\u00c9"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_time_is_linear(kind: Kind, unit: str) -> None:
    assert_linear(lambda texts: units(texts.data, texts.offsets, kind, "ccnet", 1), unit)
