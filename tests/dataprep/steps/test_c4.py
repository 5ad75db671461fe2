from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.c4 import C4, C4Params, checks, edit, rules_of
from tests.dataprep.steps.parity import ENGLISH, SOURCES, assert_agrees
from tests.reference.c4 import c4 as slow

DEFAULT = C4Params()
LINE = "This line has an end and five more words to it.\n"
GOOD = LINE * 5
LONG = f"A {'w' * 1000} it is.\n"
OFF = C4Params(
    remove_citations=False, filter_no_terminal_punct=False, filter_lorem_ipsum=False, filter_javascript=False,
    filter_curly_bracket=False, filter_policy=False, min_words_per_line=None, max_word_length=None,
    min_sentences=None,
)  # fmt: skip


def answers(strings: list[str], params: C4Params = DEFAULT) -> list[list[str]]:
    """For each text [reason] or [], then the new text: as datatrove would leave it."""
    texts, signals = edit(Batch.of(Texts.from_strings(strings)), params)
    found = checks(signals, params)
    rows = []
    for row, text in enumerate(texts.to_strings()):
        reasons = [check.reason for check in found if check.dropped[row]]
        rows.append(reasons[:1] or ["kept", text])
    return rows


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (GOOD, ["kept", GOOD.strip()]),
        (LINE * 4, ["too_few_sentences"]),
        ("", ["too_few_sentences"]),
        (GOOD + "And Lorem Ipsum it is.\n", ["lorem_ipsum"]),
        (GOOD + "And { it is.\n", ["curly_bracket"]),
        ("And { it is.\nLorem ipsum it is.", ["curly_bracket"]),
        ("Lorem ipsum { it is.", ["lorem_ipsum"]),
        ("{ no end\n{ it.\n" + GOOD, ["kept", GOOD.strip()]),  # seen only in lines that stay so far
        ("A JavaScript { line it is.\n" + GOOD, ["kept", GOOD.strip()]),
        ("Our privacy policy is here.\n" + GOOD, ["kept", GOOD.strip()]),
        ("Title\nTwo words.\nIt goes on...\n" + GOOD, ["kept", GOOD.strip()]),
        (f"A {'w' * 1001} it is.\n{LONG}{GOOD}", ["kept", LONG + GOOD.strip()]),
        ("It is [12] so.[edit]\n" + GOOD, ["kept", "It is  so.\n" + GOOD.strip()]),
        ("One. Two! Three? 'Four' is. Five!", ["kept", "One. Two! Three? 'Four' is. Five!"]),
    ],
)  # fmt: skip
def test_rules_by_example(text: str, wanted: list[str]) -> None:
    assert answers([GOOD, text]) == [["kept", GOOD.strip()], wanted]


@pytest.mark.parametrize(
    ("params", "dropped", "kept"),
    [
        ({"filter_no_terminal_punct": True}, "a b", "a b."),
        ({"remove_citations": True}, "[1]", "[a]"),
        ({"filter_javascript": True}, "x JAVASCRIPT y", "x java script y"),
        ({"filter_policy": True}, "it uses cookies", "it has cookies"),
        ({"min_words_per_line": 2}, "a", "a b"),
        ({"max_word_length": 3}, "a bcde", "abc d"),
    ],
)
def test_each_line_rule_alone(params: dict[str, Any], dropped: str, kept: str) -> None:
    assert answers([dropped, kept], OFF.model_copy(update=params)) == [["kept", ""], ["kept", kept]]
    assert answers([dropped, kept], OFF) == [["kept", dropped], ["kept", kept]]


def test_each_document_rule_alone() -> None:
    lorem, curly = "lorem ipsum", "a { b"
    for name, text, other in [
        ("filter_lorem_ipsum", lorem, curly),
        ("filter_curly_bracket", curly, lorem),
    ]:
        params = OFF.model_copy(update={name: True})
        assert answers([text, other], params) == [[name.removeprefix("filter_")], ["kept", other]]
    assert answers(["It. is", "It. is. so"], OFF.model_copy(update={"min_sentences": 3})) == [
        ["too_few_sentences"],
        ["kept", "It. is. so"],
    ]


def test_sentences_instead_of_lines() -> None:
    params = C4Params(split_paragraph=False, min_sentences=2)
    text = "The first one is here. No!\nAnd the second one,\nit ends here. The rest has no end"
    assert answers([text], params) == [["kept", "The first one is here. And the second one,\nit ends here."]]
    assert answers(["The only one is here. No!"], params) == [["too_few_sentences"]]


def test_unchanged_texts_are_the_same_object() -> None:
    batch = Batch.of(Texts.from_strings([GOOD.strip(), "{ a b c."]))
    texts, signals = edit(batch, DEFAULT)
    assert texts is batch.texts and signals["curly_bracket"].tolist() == [0, 1]


def test_a_document_that_ended_early_is_not_short_of_sentences() -> None:
    texts = Texts.from_strings(["{ a b c.", "a b c."])
    found = {
        check.reason: check.dropped.tolist() for check in checks(edit(Batch.of(texts), DEFAULT)[1], DEFAULT)
    }
    assert found == {
        "lorem_ipsum": [False, False], "curly_bracket": [True, False], "too_few_sentences": [False, True],
    }  # fmt: skip


def test_all_but_the_number_of_sentences_is_measured() -> None:
    assert "min_sentences" not in measuring_parameters(C4, DEFAULT)
    assert set(measuring_parameters(C4, DEFAULT)) == set(C4Params.model_fields) - {"min_sentences"}
    assert C4.depends(DEFAULT) == {"unicode": unicodedata.unidata_version}


@pytest.mark.parametrize(
    "wrong", [{"definition": "dolma"}, {"min_sentences": -1}, {"max_word_length": 1.5}, {"filter_policy": 1}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        C4Params(**wrong)


def answers_of_datatrove(strings: list[str], params: C4Params) -> list[list[str]]:
    pytest.importorskip("spacy")
    original = pytest.importorskip("datatrove.pipeline.filters.c4_filters")
    from datatrove.data import Document

    renamed = {"min_sentences": "min_num_sentences"}
    arguments = {
        renamed.get(name, name): -1 if value is None else value
        for name, value in params.model_dump(exclude={"definition"}).items()
    }
    rule = original.C4QualityFilter(**arguments)
    rows = []
    for string in strings:
        document = Document(text=string, id="")
        verdict = rule.filter(document)
        rows.append(["kept", document.text] if verdict is True else [verdict[1]])
    return rows


def answers_with_their_words(strings: list[str], params: C4Params) -> list[list[str]]:
    from datatrove.utils.text import split_into_sentences

    rows = []
    for string in strings:
        text, counts = slow(string, rules_of(params), split_into_sentences)
        found = checks({name: np.array([value]) for name, value in counts.items()}, params)
        reasons = [check.reason for check in found if check.dropped[0]]
        rows.append(reasons[:1] or ["kept", text])
    return rows


VARIANTS = [
    DEFAULT,
    C4Params(filter_no_terminal_punct=False),  # as for FineWeb
    C4Params(split_paragraph=False, filter_curly_bracket=False),
]


PROSE = [source for source in ENGLISH if not source.startswith("code")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "sources"), [(VARIANTS[0], ENGLISH), (VARIANTS[1], ENGLISH), (VARIANTS[2], PROSE)]
)
def test_verdicts_and_texts_are_those_of_datatrove(
    params: C4Params, sources: list[str], data_pack: Path
) -> None:
    assert_agrees(
        sources, data_pack, lambda s: (answers(s, params), answers_of_datatrove(s, params)), share=0.97
    )


@pytest.mark.slow
@pytest.mark.parametrize("params", VARIANTS)
def test_with_their_words_verdicts_are_always_those_of_datatrove(params: C4Params, data_pack: Path) -> None:
    assert_agrees(
        SOURCES,
        data_pack,
        lambda s: (answers_with_their_words(s, params), answers_of_datatrove(s, params)),
        share=0.995,
        characters=100_000,
    )
