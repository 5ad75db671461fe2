from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.boilerplate_lines import BOILERPLATE_LINES, BoilerplateLinesParams, checks, edit
from tests.dataprep.kernels.strategies import sliced
from tests.dataprep.kernels.strategies import texts as any_text
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import boilerplate as slow

DEFAULT = BoilerplateLinesParams()
OFF: dict[str, Any] = {
    "citation_numbers": False, "citation_marks": (), "numeric": False, "counters": (), "min_words": None,
    "max_uppercase_ratio": None, "line_starts": (), "line_ends": (), "phrases": (),
}  # fmt: skip

PIECES = [
    *"aB1 [].,-\n", "\n", "\n\n", " ", "  ", "\t", "\r\n", "\u2028", "word ", "Word", "NASA ", "12 ", "3.5k",
    "likes",
    "LIKES", "Comments: ", "(7)", "[1]", "[edit]", "[Citation needed]", "[12345]", "[[2]3]", "[ed", "it]",
    "read more",
    "Read  More...", "sign in", "sign  ", "Sign-in", "privacy policy", "cookies", "use ", "items in cart",
    "\u00bb",
    "\u2022 ", "\u00e9", "\u00c9", "\u4e2d", "\u4e2d\u6587", "\u0663", "\u00b2", "\u2167", "\u0301",
    "\u2019", "a b c d ",
    "A B C D ", "1 2 3 4 ", "e f g h i j k ", "- - - - ", "\u0391\u0392 ", "\u03b1\u03b2 ", "\u00a9",
    "share this",
]  # fmt: skip
strings = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), any_text)
string_lists = st.lists(strings, max_size=5)
some = st.lists(
    st.sampled_from(["edit", "likes", "word", "read more", "\u00a9", "a b", "NASA", "\u00e9"]), max_size=4
)
params = st.builds(
    BoilerplateLinesParams,
    citation_numbers=st.booleans(),
    citation_marks=some.map(tuple),
    numeric=st.booleans(),
    counters=st.one_of(st.just(DEFAULT.counters), some.map(tuple)),
    min_words=st.sampled_from([None, 0, 1, 2, 5]),
    max_uppercase_ratio=st.sampled_from([None, 0.0, 0.3, 0.5, 1.0]),
    line_starts=st.one_of(st.just(DEFAULT.line_starts), some.map(tuple)),
    line_ends=st.one_of(st.just(DEFAULT.line_ends), some.map(tuple)),
    phrases=st.one_of(st.just(DEFAULT.phrases), some.map(tuple)),
    max_phrase_words=st.sampled_from([None, 0, 1, 3, 10]),
)


def edited(texts: Texts, how: BoilerplateLinesParams = DEFAULT) -> list[tuple[str, dict[str, int]]]:
    new, signals = edit(Batch.of(texts), how)
    return [
        (text, {name: int(values[row]) for name, values in signals.items()})
        for row, text in enumerate(new.to_strings())
    ]


@given(string_lists, st.one_of(st.just(DEFAULT), params))
@example(["a " * 11 + "B " * 11, "A " * 12 + "b " * 11, "1 " * 20, "1 " * 20 + "\u00e9", "- " * 20], DEFAULT)
@example(["\u00c9 " * 20 + "e " * 20, "\u00c9 " * 21 + "e " * 20, "B " * 15 + "\u00e9 " * 15], DEFAULT)
@example(["[1]", " [1] [2] ", "[[1]1]", "[a[1]", "x [1", "[]", "[edit", "a [EDIT]b c"], DEFAULT)
def test_texts_and_counts_are_those_of_the_slow_twin(strings: list[str], how: BoilerplateLinesParams) -> None:
    assert edited(sliced(strings), how) == [slow.edited(string, how) for string in strings]


@given(string_lists, st.one_of(st.just(DEFAULT), params))
def test_twice_is_once(strings: list[str], how: BoilerplateLinesParams) -> None:
    once = [text for text, _ in edited(Texts.from_strings(strings), how)]
    assert [text for text, _ in edited(Texts.from_strings(once), how)] == once


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One two.[1] Three[edit] four[citation needed].", "One two. Three four."),
        ("In [2024] and [1234] and []", "In [2024] and [1234] and []"),
        ("Kept line\n\n12 / 05 / 2024\n3,4\nanother line", "Kept line\n\nanother line"),
        (
            "3 likes\n1.2k Views\n2B downloads\nComments (12)\n3 likely\n3 more likes",
            "3 likely\n3 more likes",
        ),
        ("Home\n\u2022 About\nContact us\n---\n}", "Contact us\n---\n}"),
        ("\u4e2d\u6587\u4e00\u53e5\n\u4e2d", "\u4e2d\u6587\u4e00\u53e5"),
        ("BREAKING NEWS today\nNASA and ESA\nNASA said so today", "NASA said so today"),
        ("Sign in or register\nPlease sign in here", "Please sign in here"),
        ("The story goes on \u2026 Read more \u00bb\nRead more about it", "Read more about it"),
        ("You have 0 items in cart now\nOur Privacy Policy", ""),
        ("We wrote at length about how any privacy policy of ours came to be", None),
        ("[1]\n[2]\n\nText stays here", "\nText stays here"),
        ("last line stays\n3 likes", "last line stays"),
        ("with an end\n3 likes\n", "with an end\n"),
        ("", ""),
    ],
)
def test_by_example(text: str, wanted: str | None) -> None:
    expected = text if wanted is None else wanted
    assert edited(Texts.from_strings([text]))[0][0] == expected == slow.edited(text, DEFAULT)[0]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"citation_numbers": True}, "a b[1]"),
        ({"citation_marks": ["note"]}, "a b[Note]"),
        ({"numeric": True}, "1 2\na b"),
        ({"counters": ["stars"]}, "5 stars\na b"),
        ({"min_words": 2}, "a\na b"),
        ({"max_uppercase_ratio": 0.9}, "A B\na b"),
        ({"line_starts": ["x y"]}, "x y z\na b"),
        ({"line_ends": ["y z"]}, "x y z\na b"),
        ({"phrases": ["y"]}, "x y z\na b"),
    ],
)
def test_each_rule_alone(rule: dict[str, Any], text: str) -> None:
    texts = Texts.from_strings([text])
    assert edited(texts, BoilerplateLinesParams(**(OFF | rule)))[0][0] == "a b"
    new, _ = edit(Batch.of(texts), BoilerplateLinesParams(**OFF))
    assert new is texts


def test_signals_and_limit() -> None:
    texts = Texts.from_strings(["Five words are in here\n3 likes", "Two words", ""])
    signals = edit(Batch.of(texts), DEFAULT)[1]
    assert signals["counter_lines"].tolist() == [1, 0, 0]
    assert signals["removed_bytes"].tolist() == [8, 0, 0] and signals["text_bytes"].tolist() == [30, 9, 0]

    def dropped(**limit: float) -> list[bool]:
        return checks(signals, BoilerplateLinesParams(**limit))[0].dropped.tolist()

    assert dropped() == [False] * 3
    assert dropped(max_removed_ratio=0.26) == [True, False, False]
    assert dropped(max_removed_ratio=0.27) == [False] * 3
    assert "max_removed_ratio" not in measuring_parameters(BOILERPLATE_LINES, DEFAULT)
    assert len(measuring_parameters(BOILERPLATE_LINES, DEFAULT)) == 10
    assert BOILERPLATE_LINES.depends(DEFAULT) == {"unicode": unicodedata.unidata_version}


@pytest.mark.parametrize(
    "wrong",
    [
        {"phrases": [""]},
        {"phrases": [" a"]},
        {"phrases": ["a  b"]},
        {"phrases": ["a\nb"]},
        {"citation_marks": ["[edit]"]},
        {"min_words": -1},
        {"max_uppercase_ratio": 1.5},
        {"numeric": 1},
        {"counters": "likes"},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BoilerplateLinesParams(**wrong)


UNITS = [
    "a",
    "a ",
    "\n",
    "[",
    "[1]",
    "]",
    "[1",
    "A ",
    "1 ",
    "read more ",
    "read  ",
    "\u00c9 ",
    "\u4e2d",
    "a\n",
    "- ",
    "[[1]",
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear(unit: str) -> None:
    for how in (DEFAULT, BoilerplateLinesParams(max_phrase_words=None)):
        assert_linear(lambda texts, how=how: edit(Batch.of(texts), how), unit)
