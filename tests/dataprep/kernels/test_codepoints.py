from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.codepoints import CodePointSet, texts_with_code_points
from dataprep.kernels.texts import Texts
from tests.reference import tokens as twin

RANGES = [(0x80, 0x81), (0x7FD, 0x802), (0xD7FF, 0xD7FF), (0xFFFF, 0x10001), (0x10FFFF, 0x10FFFF)]
WANTED = {code for first, last in RANGES for code in range(first, last + 1)}
NEAR = sorted({chr(code + shift) for code in WANTED for shift in (-1, 0, 1) if code + shift < 0x110000})
characters = (
    st.sampled_from([*(c for c in NEAR if not "\ud800" <= c <= "\udfff"), "a", " ", "\x7f"]) | st.characters()
)


@given(st.lists(st.text(characters, max_size=6), max_size=6), st.integers(0, 2), st.integers(0, 2))
def test_equals_the_slow_twin(texts: list[str], skip: int, drop: int) -> None:
    chosen = Texts.from_strings(texts).slice(skip, len(texts) - drop)
    found = texts_with_code_points(chosen.data, chosen.offsets, CodePointSet(RANGES))
    assert found.tolist() == twin.texts_with_code_points(chosen.to_strings(), WANTED)


@pytest.mark.parametrize("code", [0x80, 0x7FD, 0x802, 0xD7FF, 0xFFFF, 0x10001, 0x10FFFF])
def test_a_set_of_one_code_point_finds_it_and_its_neighbours_do_not(code: int) -> None:
    texts = Texts.from_strings(["x" + chr(code) + "y", "x" + chr(code - 1) + "y", "\x7f", ""])
    found = texts_with_code_points(texts.data, texts.offsets, CodePointSet([(code, code)]))
    assert found.tolist() == [True, False, False, False]


def test_the_empty_set_is_in_no_text_and_ascii_is_refused() -> None:
    texts = Texts.from_strings(["a\u0301", "\U0010ffff"])
    assert not texts_with_code_points(texts.data, texts.offsets, CodePointSet([])).any()
    with pytest.raises(ValueError, match="nothing below"):
        CodePointSet([(0x7F, 0x90)])
