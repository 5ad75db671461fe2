from __future__ import annotations

import pytest
from hypothesis import example, given

from dataprep.kernels.abbreviations import ABBREVIATIONS
from dataprep.kernels.sentences import sentence_counts
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.strategies import long_text_lists, sliced, text_lists
from tests.dataprep.kernels.timing import assert_linear
from tests.reference import sentences as slow

EXAMPLES = [
    ("", 1),
    ("no mark at all", 1),
    ("One. Two! Three?", 3),
    ("One.", 1),
    ("One.  ", 2),  # the second space is a word, and no punctuation
    ("One. ", 1),
    ("One.\tTwo", 2),
    ("! One", 2),
    ('He said "Go." "Where?" she asked.', 3),  # an opening quote stays with the sentence before
    ("What?! Yes!!! No?", 3),
    ("Wait... what. ... Yes \u2026 no.", 2),
    ("Mr. J. Smith of the U.S. met Dr. Who at 5p.m. in St. Ives, e.g. here.", 1),
    ("(e.g. this) vs. that. See fig. 3.", 3),  # "fig." is no abbreviation here
    ("One.Two one.two 3.14 1. a.b.c", 3),
    ("NASA. ESA. A. B", 3),
    ("See https://a.example.org/b?c=d. It is there.", 2),
    ("$5. -3. +4", 3),
    ("\u0915\u094d\u092f\u093e \u0939\u0948\u0964 \u0939\u093e\u0901\u0964", 2),
    ("\u4f60\u597d\u3002\u518d\u89c1\u3002", 2),
    ("a! ! ! b", 2),
    ("One.\u00a0Two.\u3000Three", 3),
    ("\u00e4. b.", 1),
]


def counted(texts: Texts) -> list[int]:
    return sentence_counts(texts.data, texts.offsets).tolist()


@pytest.mark.parametrize(("text", "wanted"), EXAMPLES)
def test_sentences_by_example(text: str, wanted: int) -> None:
    assert counted(Texts.from_strings([text])) == [wanted]
    assert len(slow.sentences(text)) == wanted


@given(text_lists)
@example(["a. b", "x.Y.z Z.", "' .a' . b", '"a." b', "J.\x1cK", "a.\u2028b"])
def test_counts_are_those_of_the_slow_twin(strings: list[str]) -> None:
    assert counted(sliced(strings)) == [len(slow.sentences(string)) for string in strings]


@given(long_text_lists)
@example(["word " * 20 + "abbreviated etc. And e.g. here. " + "x" * 70 + "! " + "Mr. " * 30])
@example(["first One. Two three" + " abcdefgh. Ok" * 9 + " ijklmnopq. 1" + " r. é"])
def test_counts_of_long_texts(strings: list[str]) -> None:
    assert counted(sliced(strings)) == [len(slow.sentences(string)) for string in strings]


def test_abbreviations_are_those_of_spacy() -> None:
    spacy = pytest.importorskip("spacy")
    rules = spacy.blank("en").tokenizer.rules
    ours = {
        word[:-1]
        for word, tokens in rules.items()
        if word.endswith(".") and next(iter(tokens[-1].values())) != "." and word != "._."
    }
    assert ours == ABBREVIATIONS


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["a", ".", "a.", "A.b", "a. ", "! ", ".\u3002", "\u3002\u4e2d", "'.", "\n", "  "]
)
def test_time_is_linear(unit: str) -> None:
    assert_linear(lambda texts: sentence_counts(texts.data, texts.offsets), unit)
