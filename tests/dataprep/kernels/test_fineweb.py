from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.fineweb import COUNTS, fineweb_counts
from dataprep.kernels.quality import WORDS, quality_counts
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.strategies import PIECES, long_text_lists, sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import fineweb as slow
from tests.reference.words import words

STOPS = ".!?\u3002\U0001f600"
lines = st.lists(
    st.sampled_from(["", " ", "a", "ab.", "ab.", "\u00e9\u3002", "\u3000", "x" * 9, "y" * 31, "A. B.", "\r"]),
    max_size=20,
).map("\n".join)
marked = st.lists(st.sampled_from([*PIECES, "abc", "U", "US", " ", " ", "."]), max_size=30).map("".join)


def counts_of(texts: Texts, length: int, blank_lines: bool) -> list[dict[str, int]]:
    counts = fineweb_counts(texts.data, texts.offsets, STOPS, length, blank_lines)
    return [dict(zip(COUNTS, row, strict=True)) for row in counts.tolist()]


@given(st.one_of(text_lists, st.lists(lines, max_size=5)), st.integers(0, 12), st.booleans())
@example(["a\na\n\n\na", "\n\n", "", " \n ", "a\r\na", "\u3000\n\u3000"], 0, True)
def test_counts_are_those_of_the_slow_twin(strings: list[str], length: int, blank_lines: bool) -> None:
    assert counts_of(sliced(strings), length, blank_lines) == [
        slow.counts(string, len(words(string)), STOPS, length, blank_lines) for string in strings
    ]


@given(st.lists(st.one_of(marked, st.text(max_size=40)), max_size=6))
@example(["J. US. Us. a. a.. a, a' 's' don't.", "e\u0301. \u00e9. a\u3002 a\u2014"])
def test_words_are_as_many_as_those_of_gopher_quality(strings: list[str]) -> None:
    texts = sliced(strings)
    expected = quality_counts(texts.data, texts.offsets, ["the"])[:, WORDS].tolist()
    assert [row["words"] for row in counts_of(texts, 30, False)] == expected


@given(long_text_lists)
def test_counts_of_long_texts(strings: list[str]) -> None:
    assert counts_of(sliced(strings), 30, False) == [
        slow.counts(string, len(words(string)), STOPS, 30, False) for string in strings
    ]


def test_counts_of_one_text() -> None:
    text = "A line, with its end.\n\nShort\nA line, with its end.\n \nand \u00e9"
    assert counts_of(Texts.from_strings([text]), 6, False) == [
        {
            "lines": 4,
            "ended_lines": 2,
            "short_lines": 2,
            "duplicate_characters": 21,
            "characters": 53,
            "newlines": 5,
            "words": 17,
        }
    ]


def test_many_lines_and_few() -> None:
    """The table of lines grows with a text, and is empty for the next one."""
    many = "\n".join(map(str, range(5000)))
    texts = Texts.from_strings([many, "1\n2", f"{many}\n{many}", "1\n1"])
    found = [row["duplicate_characters"] for row in counts_of(texts, 30, False)]
    assert found == [0, 0, len(many) - 4999, 1]


def test_no_texts() -> None:
    assert counts_of(Texts.from_strings([]), 30, False) == []


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "a ", "\n", "a\n", "ab cd.\n", ".", "\u4e2d\n", "a-b", "0\n1\n"])
def test_time_is_linear(unit: str) -> None:
    assert_linear(lambda texts: fineweb_counts(texts.data, texts.offsets, STOPS, 30, True), unit)


@pytest.mark.slow
def test_time_is_linear_in_different_lines() -> None:
    unit = "\n".join(f"line {number:09d}" for number in range(6000))
    assert_linear(lambda texts: fineweb_counts(texts.data, texts.offsets, STOPS, 30, True), unit)
