from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.quality import COUNTS, quality_counts
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.strategies import long_text_lists, sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import quality as slow
from tests.reference.words import words

STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with", "word", "\u4e2d", "n't", ".")


def counts_of(texts: Texts) -> list[dict[str, int]]:
    counts = quality_counts(texts.data, texts.offsets, STOP_WORDS)
    return [dict(zip(COUNTS, map(int, row), strict=True)) for row in counts]


@given(text_lists)
@example(["..\n...", "\u2026\r\n", ". ..\n", "\n\n", "-", " \u2022 a\r\r\n- b\u2028-\x1c\u2022"])
@example(["#.#....#\u2026......", "the the The to.to to", "\xa0...\xa0\n \u2026 \x85x"])
def test_counts_are_those_of_the_slow_twin(strings: list[str]) -> None:
    assert counts_of(sliced(strings)) == [
        slow.counts(string, words(string), STOP_WORDS) for string in strings
    ]


@given(long_text_lists)
@example(["a" * 62 + "...." * 40, "b\r\n" * 50, "a" * 63 + "\r\n" + "- c", "\u2026" * 30, "\x85" * 40])
def test_counts_of_long_texts(strings: list[str]) -> None:
    assert counts_of(sliced(strings)) == [
        slow.counts(string, words(string), STOP_WORDS) for string in strings
    ]


@given(
    st.lists(st.text("ab\x00\u00e9", min_size=1, max_size=12), min_size=1, max_size=64),
    st.lists(st.text("ab\x00\u00e9", min_size=1, max_size=12), max_size=40),
)
def test_any_stop_words(stop_words: list[str], some: list[str]) -> None:
    texts = Texts.from_strings([" ".join(some), "b", " ".join(some + stop_words[:2])])
    expected = [len(set(words(text)) & set(stop_words)) for text in texts.to_strings()]
    assert quality_counts(texts.data, texts.offsets, stop_words)[:, 4].tolist() == expected


def test_counts_of_one_text() -> None:
    text = "The #1 word...\n- (to) be \u2026\n\n\u2022 caf\u00e9, $5 to\n"
    assert counts_of(Texts.from_strings([text])) == [
        {
            "words": 17,  # The # 1 word ... - ( to ) be (ellipsis) (bullet) cafe , $ 5 to
            "non_symbol_words": 9,  # the bullet is outside the set of punctuation
            "non_symbol_characters": 20,
            "alphabetic_words": 6,
            "stop_words": 3,  # word, to, be; "The" is not "the"
            "hashes": 1,
            "ellipses": 2,
            "lines": 4,
            "bullet_lines": 2,
            "ellipsis_lines": 2,
        }
    ]


def test_64_stop_words_and_none() -> None:
    many = [f"word{index}" for index in range(64)]
    texts = Texts.from_strings([" ".join(many), "word0 word0 word63", "word64", ""])
    assert quality_counts(texts.data, texts.offsets, many)[:, 4].tolist() == [64, 2, 0, 0]
    assert quality_counts(texts.data, texts.offsets, many * 2)[:, 4].tolist() == [64, 2, 0, 0]
    assert quality_counts(texts.data, texts.offsets, [])[:, 4].tolist() == [0, 0, 0, 0]


def test_no_texts() -> None:
    nothing = Texts.from_strings([])
    assert quality_counts(nothing.data, nothing.offsets, STOP_WORDS).shape == (0, 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["a", "a ", "\n", ". ", "..", "'s", "-", "\u2026", "\u4e2d", "a-b", "a.b", "\r", "the "]
)
def test_time_is_linear(unit: str) -> None:
    assert_linear(lambda texts: quality_counts(texts.data, texts.offsets, STOP_WORDS), unit)
