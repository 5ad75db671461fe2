from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.removal import without
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.strategies import sliced
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import units as slow

Cut = tuple[str, list[tuple[int, int]]]
letters = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(["a", "\u00e9", "\n", "\n", " ", "\u2003", "\u4e2d"])).map("".join),
)


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    text = draw(letters)
    place = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(place, place), max_size=5))
    return text, sorted((min(pair), max(pair)) for pair in pairs)


def cut(texts: Texts, wanted: list[Cut]) -> list[str]:
    """Ranges in characters."""
    ranges = [
        (row, len(text[:start].encode()), len(text[:end].encode()))
        for row, (text, pairs) in enumerate(wanted)
        for start, end in pairs
    ]
    rows, starts, ends = np.array(ranges, dtype=np.int64).reshape(-1, 3).T
    return without(texts, rows, starts, ends).to_strings()


@given(st.lists(cuts(), max_size=4))
@example([("a\n\nb\nc\n", [(3, 5), (5, 7)]), ("\n\nb", [(2, 3)]), ("a", [])])
@example([("x\n \n y", [(0, 2), (4, 5)]), ("  a", [(0, 1), (0, 2)])])
def test_texts_are_those_of_the_slow_twin(wanted: list[Cut]) -> None:
    texts = sliced([text for text, _ in wanted])
    assert cut(texts, wanted) == [slow.without(text, pairs) for text, pairs in wanted]


@given(cuts())
def test_black_characters_go_if_and_only_if_a_range_covers_them(one: Cut) -> None:
    text, pairs = one
    gone = {place for start, end in pairs for place in range(start, end)}
    kept = [c for place, c in enumerate(text) if place not in gone and not c.isspace()]
    (left,) = cut(sliced([text]), [one])
    assert [c for c in left if not c.isspace()] == kept


EXAMPLES = [
    ("a\nb\nc", "b\n", "a\nc"),
    ("a\n\nb\n\nc", "b\n", "a\n\n\nc"),
    ("a\n\nb\n\nc", "b\n\n", "a\n\nc"),
    ("a\nb", "b", "a"),
    ("a\n\nb\n \n", "b\n", "a"),
    ("a\n\n  b", "a\n", "  b"),
    ("A. B. C. D. E.", "B. C. D. ", "A. E."),
    ("A. B. C. D.\n\nE.", "B. C. D.\n\n", "A.\n\nE."),
    ("A.\n\nB. C. D. E.", "B. C. D. ", "A.\n\nE."),
    (" A. B. C. D.", "A. B. C. ", "D."),
    ("A. B. C. ", "A. B. C. ", ""),
]


@pytest.mark.parametrize(("text", "gone", "left"), EXAMPLES)
def test_white_space_around_a_cut(text: str, gone: str, left: str) -> None:
    at = text.index(gone)
    assert cut(Texts.from_strings([text]), [(text, [(at, at + len(gone))])]) == [left]


def test_texts_without_a_range_are_the_same_object() -> None:
    texts = sliced(["a", " "])
    none = np.zeros(0, dtype=np.int64)
    assert without(texts, none, none, none) is texts


@pytest.mark.parametrize(
    "ranges",
    [
        [(2, 0, 1)],
        [(-1, 0, 1)],
        [(0, 0, 4)],
        [(0, -1, 1)],
        [(0, 1, 0)],
        [(0, 0, 1)],  # a part of a character
        [(0, 1, 2)],
        [(1, 0, 1), (0, 0, 2)],
        [(1, 1, 2), (1, 0, 1)],
    ],
)
def test_wrong_ranges_are_refused(ranges: list[tuple[int, int, int]]) -> None:
    rows, starts, ends = np.array(ranges, dtype=np.int64).T
    with pytest.raises(ValueError, match="range"):
        without(Texts.from_strings(["\u00e9b", "abc"]), rows, starts, ends)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a\n\n", "a", "\n", " \n", "a \u2003"])
@pytest.mark.parametrize("first", ["", "x\n"])
def test_time_is_linear(unit: str, first: str) -> None:
    """Also where every line goes and the blank ones between stay."""
    size = len(unit.encode())

    def run(texts: Texts) -> object:
        count = (texts.num_bytes - len(first)) // size
        whole = Texts.from_bytes([first.encode() + unit.encode() * count])
        starts = len(first) + size * np.arange(count)
        return without(whole, np.zeros(count, dtype=np.int64), starts, starts + 1)

    assert_linear(run, unit)
