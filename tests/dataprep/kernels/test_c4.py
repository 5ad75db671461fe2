from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.c4 import COUNTS, LineRules, c4_lines
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.strategies import PIECES, long_text_lists, sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference.c4 import c4 as slow

DEFAULT = LineRules(
    by_sentence=False, remove_citations=True, terminal_punctuation=True, lorem_ipsum=True, javascript=True,
    curly_bracket=True, policy=True, min_line_words=3, max_word_length=1000,
)  # fmt: skip
OFF = LineRules(False, False, False, False, False, False, False, -1, -1)
rules = st.builds(
    LineRules,
    *[st.booleans()] * 7,
    min_line_words=st.integers(-1, 4),
    max_word_length=st.sampled_from([-1, 0, 1, 3, 8, 1000]),
)
PHRASES = [
    "lorem ipsum", "Lorem Ipsum", "lorem", "ipsum", "javascript", "JavaScript", "java", "script", "{", "}",
    "terms of use", "Terms Of Use", "privacy policy", "cookie policy", "uses cookies", "use of cookies",
    "use cookies", "COO\u212aIES", "coo\u212aie policy", "use ", "of ", "cookie", "cookies", " policy", "s ",
    "[1]", "[12]", "[]", "[edit]", "[citation needed]", "[\u0663]", "[", "]", "[x]", "a b c. ", "It is so.",
    "j\u0130", "lorem \u0130psum", "\x00", ". ", ".\n", "\n", " ", "\x85", "\u2028", "\r\n", "\u00e9", "...",
]  # fmt: skip
pieces = st.lists(st.sampled_from(PHRASES + PIECES[:30]), max_size=30).map("".join)


def edited(texts: Texts, how: LineRules) -> list[tuple[str, dict[str, int]]]:
    data, offsets, counts, changed = c4_lines(texts.data, texts.offsets, how)
    new = Texts(data, offsets).to_strings()
    assert changed.tolist() == [a != b for a, b in zip(texts.to_strings(), new, strict=True)]
    return [
        (text, dict(zip(COUNTS, row, strict=True))) for text, row in zip(new, counts.tolist(), strict=True)
    ]


@given(st.one_of(text_lists, st.lists(pieces, max_size=5)), rules)
@example(["a b c.[1]", "[1] a b c.", "a b c. [1]", "[[1]] a b c."], DEFAULT)
@example(["a b c.\n{ a b c.\nlorem ipsum x.", "a b c\n{\na b c."], DEFAULT)
@example(["java[1]script is here.\nuse\tcookies a b.", "use\x00cookies a b."], DEFAULT)
@example(["\n\n a \n", "[1]\n[2]", " \u3000 [1] x"], replace(OFF, remove_citations=True))
@example(["a.B.c.D. E! F", "One.  Two. [1] \u201cx\u201d", ""], replace(OFF, by_sentence=True))
@example(["{", "x{", "12345678{", "1234567{8"], replace(OFF, curly_bracket=True))
def test_edits_are_those_of_the_slow_twin(strings: list[str], how: LineRules) -> None:
    assert edited(sliced(strings), how) == [slow(string, how) for string in strings]


@given(long_text_lists, rules)
@example(["a b " + "x" * 70 + " [1] é" * 30 + "" + "{" * 65], DEFAULT)
def test_edits_of_long_texts(strings: list[str], how: LineRules) -> None:
    assert edited(sliced(strings), how) == [slow(string, how) for string in strings]


@given(
    st.lists(st.sampled_from(["x" * 8, "x" * 9, "é" * 8, "é" * 9, "y", "　", " ", "	"]), max_size=40),
    st.integers(-1, 3),
)
def test_overlong_words_anywhere(parts: list[str], min_words: int) -> None:
    how = replace(OFF, min_line_words=min_words, max_word_length=8)
    for text in ("".join(parts), " ".join(parts)):
        assert edited(Texts.from_strings([text]), how) == [slow(text, how)]


@pytest.mark.parametrize(
    "phrase",
    [
        "javascript",
        "terms of use",
        "privacy policy",
        "cookie policy",
        "uses cookies",
        "use of cookies",
        "use cookies",
        "Use Coo\u212aies",
    ],
)
@pytest.mark.parametrize("room", range(9))
def test_phrases_anywhere_in_a_line(phrase: str, room: int) -> None:
    texts = [f"{'x' * before}{phrase}{'y' * room}" for before in range(9)] + [f"x{phrase[:-1]} {phrase[1:]}"]
    how = replace(OFF, javascript=True, policy=True)
    assert [text for text, _ in edited(Texts.from_strings(texts), how)] == [""] * 9 + [texts[-1]]


def test_one_document() -> None:
    text = (
        "A title without a mark\n"
        "  This line [citation needed] stays.[2] \n"
        "Two words.\n"
        "We use cookies on this site.\n"
        "Enable JavaScript to see this.\n"
        "This one trails off...\n"
        "Is this one also kept? It is!\n"
    )
    new, counts = edited(Texts.from_strings([text]), DEFAULT)[0]
    assert new == "This line  stays.\nIs this one also kept? It is!"
    assert counts == {"lines": 7, "kept_lines": 2, "sentences": 3, "lorem_ipsum": 0, "curly_bracket": 0}


def test_nothing() -> None:
    assert edited(Texts.from_strings([]), DEFAULT) == []
    assert edited(Texts.from_strings(["", ""]), DEFAULT) == [("", dict.fromkeys(COUNTS, 0))] * 2


@pytest.mark.slow
@pytest.mark.parametrize("by_sentence", [False, True])
@pytest.mark.parametrize(
    "unit", ["a", "a ", "\n", "It is so.\n", "A.b", ".", "[1]", "[", "[1", "{", "ja", "\u00e9", "x. ", "coo"]
)
def test_time_is_linear(unit: str, by_sentence: bool) -> None:
    how = replace(DEFAULT, by_sentence=by_sentence, curly_bracket=False)
    assert_linear(lambda texts: c4_lines(texts.data, texts.offsets, how), unit)
