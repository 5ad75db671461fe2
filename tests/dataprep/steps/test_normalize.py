from __future__ import annotations

import random
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.batch import Batch
from dataprep.kernels.normalize import EDIT, REFORM, scan
from dataprep.kernels.texts import Texts
from dataprep.steps.normalize import NORMALIZE, NormalizeParams
from tests.dataprep.kernels.strategies import PIECES, sliced, text_lists
from tests.reference.normalize import normalize as slow

params = st.builds(
    NormalizeParams,
    unicode=st.sampled_from(["NFC", "NFKC", "NFD", "NFKD", None]),
    newlines=st.booleans(),
    strip_control=st.booleans(),
)
DEFAULT = NormalizeParams()


def apply(texts: Texts, params: NormalizeParams) -> Texts:
    return NORMALIZE.apply(Batch.of(texts), params)


def slowly(strings: list[str], how: NormalizeParams) -> list[str]:
    return [slow(string, how.unicode, how.newlines, how.strip_control) for string in strings]


@given(text_lists, params)
@example(["a\u0305\x00\u0332"], DEFAULT)  # in canonical order only as long as the NUL stands between
@example(["a\u0305\x00\u0332"], NormalizeParams(strip_control=False))
@example(["a\u0305\u0332"], DEFAULT)  # both allowed in NFC, out of order
@example(["e\x00\u0301", "\r\r\n\r", "\r", "\x0d\x0a"], DEFAULT)
@example(["x" * 31 + "\r", "x" * 32 + "\u0301", "\u0301" + "y" * 64 + "\ufeff"], DEFAULT)
def test_texts_are_those_of_the_slow_twin(strings: list[str], how: NormalizeParams) -> None:
    assert apply(sliced(strings), how).to_strings() == slowly(strings, how)


@given(text_lists, params)
def test_twice_is_once(strings: list[str], how: NormalizeParams) -> None:
    once = apply(Texts.from_strings(strings), how)
    assert apply(once, how).to_strings() == once.to_strings()


@given(text_lists, st.sampled_from(["NFC", "NFKC", "NFD", "NFKD"]))
def test_quick_check_never_passes_what_is_not_in_the_form(strings: list[str], form: Any) -> None:
    texts = sliced(strings)
    for string, flags in zip(strings, scan(texts.data, texts.offsets, form, False, False), strict=True):
        assert flags & REFORM or unicodedata.is_normalized(form, string)


def test_quick_check_passes_marks_that_are_in_order() -> None:
    """Scripts that live on combining marks stay on the fast road."""
    fine = ["\u0627\u064e\u0644\u0651", "\u0e19\u0e49\u0e33", "\u0928\u094d\u0926\u0940", "x\u0323\u0307"]
    assert all(unicodedata.is_normalized("NFC", text) for text in fine[:3])
    texts = Texts.from_strings(fine)
    assert scan(texts.data, texts.offsets, "NFC", True, True).tolist() == [0, 0, 0, REFORM]
    control = Texts.from_strings(["a\tb\n", "a\rb", "a\x0cb", "\x7f", "\x85", "\ufeff", "\u2028"])
    assert scan(control.data, control.offsets, None, True, True).tolist() == [0, *[EDIT] * 5, 0]


@pytest.mark.parametrize(
    ("text", "how", "wanted"),
    [
        ("a\r\nb\rc\n\r\nd", {}, "a\nb\nc\n\nd"),
        ("a\r\nb\rc", {"newlines": False}, "a\r\nb\rc"),
        ("a\u2028b\u2029c", {}, "a\u2028b\u2029c"),
        ("a\x85b", {}, "ab"),
        ("a\x85b", {"strip_control": False}, "a\x85b"),
        ("\ufeff\x00\x1b[1mhi\x7f\x9f\tx\x0b\x0c", {}, "[1mhi\tx"),
        ("\ufb01 \uff11 e\u0301", {}, "\ufb01 \uff11 \u00e9"),
        ("\ufb01 \uff11 e\u0301", {"unicode": "NFKC"}, "fi 1 \u00e9"),
        ("\u00e9", {"unicode": "NFD"}, "e\u0301"),
        ("e\u0301\r\x00", {"unicode": None, "newlines": False, "strip_control": False}, "e\u0301\r\x00"),
    ],
)
def test_rules_by_example(text: str, how: dict[str, Any], wanted: str) -> None:
    assert apply(Texts.from_strings(["x", text, "y"]), NormalizeParams(**how)).to_strings() == [
        "x",
        wanted,
        "y",
    ]


def test_unchanged_texts_are_not_copied() -> None:
    texts = sliced(["plain", "caf\u00e9 \u4e2d\n", ""])
    assert apply(texts, DEFAULT) is texts
    nothing = Texts.from_strings([])
    assert apply(nothing, DEFAULT) is nothing


def test_a_text_may_become_empty() -> None:
    assert apply(Texts.from_strings(["\x00\x01", "a"]), DEFAULT).to_strings() == ["", "a"]


def test_the_unicode_version_enters_the_key() -> None:
    assert NORMALIZE.depends(None) == {"unicode": unicodedata.unidata_version}


@pytest.mark.slow
def test_fifty_megabytes() -> None:
    draw = random.Random(5)
    pieces = [
        "".join(draw.choice(PIECES) for _ in range(400)) + " plain words to fill" * 50 for _ in range(300)
    ]
    strings = [draw.choice(pieces) * draw.randint(0, 4) for _ in range(17_000)]
    texts = Texts.from_strings(strings)
    assert texts.num_bytes > 45_000_000
    assert apply(texts, DEFAULT).to_strings() == slowly(strings, DEFAULT)
