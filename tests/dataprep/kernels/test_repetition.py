from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.repetition import (
    COUNTS,
    DOLMA_COUNTS,
    dolma_repetition_counts,
    repetition_counts,
)
from dataprep.kernels.split_words import find_chunks
from dataprep.kernels.texts import Texts
from dataprep.kernels.words import find_words
from tests.dataprep.kernels.strategies import PIECES, long_text_lists, sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import repetition as slow
from tests.reference.words import words

LINES = ["the end of it", "the end of it ", "\u4e2d\u6587", " ", "", "caf\u00e9 of the same old line here"]
few_words = st.lists(
    st.sampled_from(["a", "b", "ab", "bb", "\u00e9", "\u4e2d", "x" * 20, "y" * 20]), max_size=60
)
repetitive = st.one_of(
    few_words.map(" ".join),
    st.lists(st.sampled_from([*LINES, "\n"]), max_size=12).map("\n".join),
    st.lists(st.sampled_from([*PIECES, "a b ", "a b c d e f "]), max_size=80).map("".join),
    st.tuples(st.lists(st.sampled_from(["a ", "b ", "(", "\n"]), max_size=9), st.integers(1, 30)).map(
        lambda pair: "".join(pair[0]) * pair[1]
    ),
)


def counts_of(texts: Texts) -> list[dict[str, int]]:
    counts = repetition_counts(texts.data, texts.offsets, find_words(texts.data, texts.offsets))
    return [dict(zip(COUNTS, map(int, row), strict=True)) for row in counts]


def dolma_counts_of(texts: Texts) -> list[dict[str, int]]:
    counts = dolma_repetition_counts(texts.data, texts.offsets, find_chunks(texts.data, texts.offsets))
    return [dict(zip(DOLMA_COUNTS, map(int, row), strict=True)) for row in counts]


@given(st.one_of(text_lists, long_text_lists, st.lists(repetitive, max_size=4)))
@example(["\n", "\n\n", "a\n\na", "a\na\n\n\na\na\n", "\n\na\n\n", " \n\n a \n\n a", "a\n \na"])
@example(["a b c d e " * 9, "a b a b a b", "a b c d e f g h i j k " * 2, "a b c d e x a b c d e y"])
def test_counts_are_those_of_the_slow_twin(strings: list[str]) -> None:
    texts = sliced(strings)
    assert counts_of(texts) == [slow.counts(string, words(string)) for string in strings]
    assert dolma_counts_of(texts) == [slow.dolma_counts(string) for string in strings]


def test_counts_of_one_text() -> None:
    text = "to be or not\n\nto be or not\nto be\n"
    assert counts_of(Texts.from_strings([text])) == [
        {
            "characters": 33,
            "lines": 4,  # the last is empty
            "duplicate_lines": 1,
            "duplicate_line_characters": 12,
            "paragraphs": 2,
            "duplicate_paragraphs": 0,
            "duplicate_paragraph_characters": 0,
            "top_2_gram_characters": 15,  # "to be" three times
            "top_3_gram_characters": 16,  # "to be or" twice
            "top_4_gram_characters": 24,  # "to be or not" twice
            "duplicate_5_gram_characters": 11,  # "to be or not to" and, four words on, again
            "duplicate_6_gram_characters": 13,
            "duplicate_7_gram_characters": 0,
            "duplicate_8_gram_characters": 0,
            "duplicate_9_gram_characters": 0,
            "duplicate_10_gram_characters": 0,
        }
    ]


def test_counts_of_dolma_for_one_text() -> None:
    """Of "This is a test." its own test expects 0.5, 0.583 and 1.0 for the most common 2-, 3- and 4-gram
    (tests/python/test_gopher.py)."""
    (short,) = dolma_counts_of(Texts.from_strings(["This is a test."]))
    tops = [short[f"top_{n}_gram_characters"] / short["characters"] for n in (2, 3, 4)]
    assert tops == [0.5, 7 / 12, 1.0]
    (text,) = dolma_counts_of(Texts.from_strings(["a b c d e a b c d e\nx\nx\n\ny\n"]))
    assert text["lines"] == 6 and text["duplicate_lines"] == 4 and text["duplicate_line_characters"] == 2
    assert text["duplicate_5_gram_characters"] == 10 and text["all_5_gram_characters"] == 45


def test_the_most_common_is_the_first_of_equals() -> None:
    (counts,) = counts_of(Texts.from_strings(["ccc d a b a b ccc d"]))
    assert counts["top_2_gram_characters"] == 2 * len("ccc d")
    (once,) = counts_of(Texts.from_strings(["first of all"]))
    assert once["top_2_gram_characters"] == len("first of")


def test_words_are_compared_one_by_one() -> None:
    text = "a bc d e f. ab c d e f."
    assert slow.counts(text, words(text))["duplicate_5_gram_characters"] == 0
    assert slow.counts(text, words(text), "".join)["duplicate_5_gram_characters"] == 6
    assert counts_of(Texts.from_strings([text])) == [slow.counts(text, words(text))]


def test_no_texts() -> None:
    nothing = Texts.from_strings([])
    assert repetition_counts(
        nothing.data, nothing.offsets, find_words(nothing.data, nothing.offsets)
    ).shape == (0, 16)


def test_a_text_of_many_different_n_grams() -> None:
    """The tables grow, and long words are hashed whole."""
    generator = np.random.default_rng(5)
    numbers = generator.integers(0, 40_000, 60_000)
    text = " ".join(f"{'long' * (number % 9)}{number}" for number in numbers.tolist())
    assert counts_of(Texts.from_strings([text, text])) == [slow.counts(text, text.split())] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["a", "a ", "\n", "\n\n", "a\n", "the same line\n", "(", "\u4e2d", "to be or not to be. ", " \n"]
)
@pytest.mark.parametrize("dolma", [False, True])
def test_time_is_linear(unit: str, dolma: bool) -> None:
    find, count = (find_chunks, dolma_repetition_counts) if dolma else (find_words, repetition_counts)

    assert_linear(
        lambda texts: count(texts.data, texts.offsets, find(texts.data, texts.offsets)),
        unit,
    )
