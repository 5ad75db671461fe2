from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts
from dataprep.kernels.word_list import DOTTED_I, has_word
from tests.dataprep.kernels.strategies import sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference.word_list import has_word as slow

WORDS = ["bad", "bad thing", "badly", "\u0441\u043b\u043e\u0432\u043e", "\u03c3\u03bf\u03c6\u03cc\u03c2",
         "a-b", "_x", "\u60aa", "s&m", "ist", "k"]  # fmt: skip
PARTS = ["bad", "BAD", " ", "thing", "ly", "_", "-", "a", "b", "\u0421\u041b\u041e\u0412\u041e",
         "\u03a3\u03a9\u03a6\u038c\u03a3", "\u03a3\u039f\u03a6\u038c\u03a3", "_X", "\u60aa", "S&M", "\u0130",
         "st", "\u0301", "\u212a", "\n", "."]  # fmt: skip
mixed = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


def found(texts: Texts, words: list[str], apart: bool) -> list[bool]:
    return has_word(texts.data, texts.offsets, words, apart).tolist()


@given(st.lists(mixed, max_size=6), st.lists(st.sampled_from(WORDS), max_size=5), st.booleans())
@example(["a bad thing", "bad thingy", "abad", "bad_", "BAD", "bad"], ["bad thing", "bad"], True)
@example(["\u0130bad", "bad\u0130", "\u0130st", "\u212a"], ["bad", "ist", "k"], True)
def test_hits_are_those_of_the_slow_twin(strings: list[str], words: list[str], apart: bool) -> None:
    assert found(sliced(strings), words, apart) == [slow(string, words, apart) for string in strings]


@given(text_lists, st.booleans())
def test_any_text(strings: list[str], apart: bool) -> None:
    words = ["the", "word", "n't", "a", "\u4e2d", "."]
    assert found(sliced(strings), words, apart) == [slow(string, words, apart) for string in strings]


def test_one_letter_alone_has_two_in_lower_case() -> None:
    assert [c for c in map(chr, range(0x110000)) if len(c.lower()) > 1] == [chr(DOTTED_I)]


def test_no_words_and_no_texts() -> None:
    assert found(Texts.from_strings(["a", ""]), [], True) == [False, False]
    assert found(Texts.from_strings([]), ["a"], True) == []


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "a ", "\n", "bad", "bad thin ", "\u60aa", "s&"])
@pytest.mark.parametrize("apart", [False, True])
def test_time_is_linear(unit: str, apart: bool) -> None:
    words = ["bad thing", "aaaaaaaaab", "s&s&t", "\u60aa\u60ab"]
    assert_linear(lambda texts: has_word(texts.data, texts.offsets, words, apart), unit)
