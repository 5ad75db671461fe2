from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts
from dataprep.kernels.words import ALPHABETIC, NON_SYMBOL, WIDE, find_words, word_spans
from tests.dataprep.kernels.strategies import long_text_lists, sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import words as slow
from tests.reference.quality import PUNCTUATION


def words_of(texts: Texts) -> list[list[str]]:
    spans, offsets = word_spans(texts.data, texts.offsets)
    every = [texts.data[start:end].tobytes().decode() for start, end in spans.tolist()]
    return [every[first:last] for first, last in itertools.pairwise(offsets)]


@given(text_lists)
def test_words_are_those_of_the_slow_twin(strings: list[str]) -> None:
    assert words_of(sliced(strings)) == [slow.words(string) for string in strings]


@settings(max_examples=300)
@given(long_text_lists)
def test_words_of_long_texts(strings: list[str]) -> None:
    assert words_of(sliced(strings)) == [slow.words(string) for string in strings]


@given(
    st.lists(
        st.lists(st.sampled_from("aB9.,'-:$%sntld)(/ "), min_size=1, max_size=200).map("".join), max_size=3
    )
)
@example(["x" * 62 + ".", "x" * 63 + ".", "x" * 61 + "'s", "x" * 60 + "'ll", "x" * 60 + " J.", "a b. " * 30])
@example(["he'l", "l o", "don'", "t x", "I'v", "e y"])  # a contraction of one text does not end in the next
def test_words_of_marks_between_letters(strings: list[str]) -> None:
    assert words_of(sliced(strings)) == [slow.words(string) for string in strings]


@given(st.one_of(text_lists, long_text_lists))
def test_traits_are_those_of_the_word(strings: list[str]) -> None:
    texts = sliced(strings)
    expected = [
        ALPHABETIC * any(character.isalpha() for character in word)
        | NON_SYMBOL * (not PUNCTUATION.issuperset(word))
        | WIDE * (not word.isascii())
        for words in words_of(texts)
        for word in words
    ]
    assert find_words(texts.data, texts.offsets).traits.tolist() == expected


@given(text_lists)
def test_words_leave_out_white_space_alone(strings: list[str]) -> None:
    assert ["".join(words) for words in words_of(sliced(strings))] == ["".join(s.split()) for s in strings]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        ("(Hello), world!", "( Hello ) , world !"),
        ("It's the dogs' bone; don't we\u2019ll they'd've",
         "It 's the dogs ' bone ; do n't we \u2019ll they 'd 've"),
        ("'s n't O'Neill", "' s n't O'Neill"),
        ("end. J. Smith of the U.S. NASA. 3.14. x=1.", "end . J. Smith of the U.S. NASA . 3.14 . x=1 ."),
        ("wait... what...ever \u2026and", "wait ... what ... ever \u2026 and"),
        ("well-known 3-year covid-19 1990-95 a--b a----b -x",
         "well - known 3 - year covid-19 1990 - 95 a -- b a----b -x"),
        ("1,000 red,green one.Two one.two", "1,000 red , green one . Two one.two"),
        ("10:30 key:value a/b 1/2 <p>x</p>", "10:30 key : value a / b 1/2 < p > x</p >"),
        ("$5 5$ 50% %d +5 5+ +x", "$ 5 5 $ 50 % % d +5 5 + + x"),
        ("see https://a-b.example.org:8080/x-y?z=a, me@a-b.org www.a-b.com/c",
         "see https://a-b.example.org:8080/x-y?z=a , me@a-b.org www.a-b.com/c"),
        ("a-b.C a-b.c0 a-b..cd a-b.cd:x", "a - b . C a - b.c0 a - b .. cd a - b.cd : x"),
        ("\u4e2d\u6587a\u3042 \u0e01\u0e49\u0e02 \u5b57\u3002",
         "\u4e2d \u6587 a \u3042 \u0e01\u0e49 \u0e02 \u5b57 \u3002"),
        ("hi\U0001f600there \u00a9", "hi \U0001f600 there \u00a9"),
        ("a_b _x_ #tag @me c:\\dir", "a_b _ x _ # tag @me c:\\dir"),
    ],
)  # fmt: skip
def test_rules_by_example(text: str, wanted: str) -> None:
    assert words_of(Texts.from_strings([text])) == [wanted.split()]
    assert slow.words(text) == wanted.split()


@pytest.mark.parametrize(
    "pair",
    ["\u0e01\u0e02", "\u0e81\u0e82", "\u1000\u1001", "\uaa60\uaa61", "\u1780\u1781", "\u3042\u30a2",
     "\uff71\uff72", "\u3105\u3106", "\u3400\u4e00", "\uf900\uf901", "\U00020000\U0002f800"],
)  # fmt: skip
def test_scripts_without_spaces_are_cut_by_letter(pair: str) -> None:
    assert words_of(Texts.from_strings([f"a{pair}b"])) == [["a", *pair, "b"]]


def test_an_initial_at_the_front_is_whole_whatever_the_text_before() -> None:
    texts = Texts.from_strings(["ABP", "P. James", "\u00c9P. James", "Q", "\u00c9. James"])
    assert words_of(texts.slice(1, 3))[0] == ["P.", "James"]
    assert words_of(texts.slice(4, 5)) == [["\u00c9.", "James"]]


def test_a_text_of_2_gib_is_refused() -> None:
    with pytest.raises(ValueError, match="2147483647 bytes"):
        find_words(np.empty(2**31, dtype=np.uint8), np.array([0, 2**31]))


def test_many_words_outgrow_the_first_buffer() -> None:
    assert len(words_of(Texts.from_strings(["a " * 5000]))[0]) == 5000


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["a", "-", ".", "..a", "a-", "'s", "\u4e2d", "+", "a.", "@", "http://", "a.bc", "((", "\n"]
)
def test_time_is_linear_in_one_long_chunk(unit: str) -> None:
    assert_linear(lambda texts: word_spans(texts.data, texts.offsets), unit)
