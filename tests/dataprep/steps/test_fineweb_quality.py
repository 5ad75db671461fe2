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
from dataprep.steps.fineweb_quality import (
    FINEWEB_QUALITY,
    STOP_CHARACTERS,
    FineWebQualityParams,
    checks,
    measure,
)
from tests.dataprep.steps.parity import ENGLISH, SOURCES, assert_agrees
from tests.reference.fineweb import counts

DEFAULT = FineWebQualityParams()
ORIGINAL = FineWebQualityParams(definition="fineweb_original")
NONE: dict[str, Any] = dict.fromkeys(
    ["min_line_punct_ratio", "max_short_line_ratio", "max_char_dup_ratio", "max_newline_ratio"]
)
SHORT_AND_REPEATED = ["short_line_ratio", "char_dup_ratio"]
SHORT_LIST = ["short_line_ratio", "list_ratio"]
LONG = "{} this line is longer than thirty characters by far{}"


def lines(ended: int, plain: int, end: str = ".") -> str:
    """So many different long lines with an end, and without."""
    every = [LONG.format(number, end) for number in range(ended)]
    return "\n".join(every + [LONG.format(number, "") for number in range(ended, ended + plain)])


def reasons_of(strings: list[str], params: FineWebQualityParams = DEFAULT) -> list[list[str]]:
    found = checks(measure(Batch.of(Texts.from_strings(strings)), params), params)
    return [[check.reason for check in found if check.dropped[row]] for row in range(len(strings))]


@pytest.mark.parametrize(
    ("text", "wanted", "original"),
    [
        (lines(5, 5), [], []),
        ("", ["empty"], ["line_punct_ratio", "short_line_ratio"]),
        (" \n\n", ["empty"], ["line_punct_ratio", "short_line_ratio"]),
        (lines(1, 9), ["line_punct_ratio"], ["line_punct_ratio"]),
        (lines(3, 22), [], ["line_punct_ratio"]),  # 0.12 exactly
        (lines(5, 5, "\u3002"), [], ["line_punct_ratio"]),
        (lines(5, 5, '"'), ["line_punct_ratio"], []),
        (lines(5, 5, ". "), ["line_punct_ratio"], ["line_punct_ratio"]),  # not stripped
        (lines(3, 0) + "\nA short one." * 7, SHORT_AND_REPEATED, SHORT_AND_REPEATED),
        ("\n\n".join([lines(1, 0), LONG.format(2, "."), LONG.format(3, ".")]), [], []),
        (lines(5, 0) + "\n" * 12, [], ["short_line_ratio"]),  # blank lines are lines there
        (lines(8, 0) + "\n" + LONG.format(7, "."), ["char_dup_ratio"], ["char_dup_ratio"]),
        ("A list:\nA.\nB\nC", SHORT_LIST, SHORT_LIST),
    ],
)  # fmt: skip
def test_reasons_by_example(text: str, wanted: list[str], original: list[str]) -> None:
    assert reasons_of([lines(5, 5), text]) == [[], wanted]
    assert reasons_of([lines(5, 5), text], ORIGINAL) == [[], original]


@pytest.mark.parametrize("definition", ["datatrove", "fineweb_original"])
@pytest.mark.parametrize(
    ("params", "below", "at", "above", "drops_above"),
    [
        ({"min_line_punct_ratio": 0.5}, "a\nb\nc.", "a\nb.", "a.\nb.\nc", False),
        ({"max_short_line_ratio": 0.5, "short_line_length": 1}, "aa\nbb\nc", "aa\nb", "aa\nb\nc", True),
        ({"max_char_dup_ratio": 0.5}, "aa\nbb\naa", "aa\naa", "aa\naa\naa", True),
    ],
)
def test_at_a_limit_the_definitions_differ(
    definition: str, params: dict[str, Any], below: str, at: str, above: str, drops_above: bool
) -> None:
    limits = FineWebQualityParams(**(NONE | params), definition=definition)
    found = [bool(reasons) for reasons in reasons_of([below, at, above], limits)]
    assert found == [not drops_above, definition == "fineweb_original", drops_above]


def test_list_ratio_is_strict_in_both() -> None:
    for definition in ("datatrove", "fineweb_original"):
        limits = FineWebQualityParams(**(NONE | {"max_newline_ratio": 0.5}), definition=definition)
        assert reasons_of(["a b\nc\nd", "a b\nc d\n"], limits) == [[], []]
        assert reasons_of(["a b\nc\n", "a\nb"], limits) == [["list_ratio"], []]


def test_documents_without_any_stop_character() -> None:
    limits = FineWebQualityParams(**(NONE | {"min_line_punct_ratio": 0.5}), line_punct_exclude_zero=True)
    assert reasons_of(["a\nb", "a\nb\nc."], limits) == [[], ["line_punct_ratio"]]


def test_own_stop_characters() -> None:
    limits = FineWebQualityParams(**(NONE | {"min_line_punct_ratio": 1.0}), stop_characters=[";"])
    assert reasons_of(["a;", "a."], limits) == [[], ["line_punct_ratio"]]


def test_null_switches_off() -> None:
    assert reasons_of(["", "a\na\na\na"], FineWebQualityParams(**NONE)) == [["empty"], []]
    assert reasons_of(["", "a\na"], FineWebQualityParams(**NONE, definition="fineweb_original")) == [[], []]


def test_what_is_measured() -> None:
    changed = FineWebQualityParams(max_char_dup_ratio=0.5, line_punct_exclude_zero=True)
    assert measuring_parameters(FINEWEB_QUALITY, changed) == measuring_parameters(FINEWEB_QUALITY, DEFAULT)
    assert set(measuring_parameters(FINEWEB_QUALITY, DEFAULT)) == {
        "definition", "stop_characters", "short_line_length",
    }  # fmt: skip
    assert FINEWEB_QUALITY.depends(None) == {"unicode": unicodedata.unidata_version}


@pytest.mark.parametrize(
    "wrong",
    [
        {"definition": "fineweb"},
        {"min_line_punct_ratio": 1.5},
        {"short_line_length": -1},
        {"stop_characters": [".."]},
        {"stop_characters": [""]},
        {"max_newline_ratio": float("nan")},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FineWebQualityParams(**wrong)


def reasons_of_datatrove(strings: list[str]) -> list[str]:
    pytest.importorskip("spacy")
    original = pytest.importorskip("datatrove.pipeline.filters.fineweb_quality_filter")
    from datatrove.data import Document

    rule = original.FineWebQualityFilter()
    verdicts = [rule.filter(Document(text=string, id="")) for string in strings]
    return ["kept" if verdict is True else verdict[1] for verdict in verdicts]


def reasons_with_their_words(strings: list[str]) -> list[str]:
    from datatrove.utils.text import split_into_words

    stops = STOP_CHARACTERS["datatrove"]
    found = []
    for string in strings:
        signals = counts(string, len(split_into_words(string)), stops, 30, blank_lines=False)
        judged = checks({name: np.array([value]) for name, value in signals.items()}, DEFAULT)
        found.append(next((check.reason for check in judged if check.dropped[0]), "kept"))
    return found


@pytest.mark.slow
def test_verdicts_are_those_of_datatrove(data_pack: Path) -> None:
    def both(strings: list[str]) -> tuple[list[str], list[str]]:
        return [(found or ["kept"])[0] for found in reasons_of(strings)], reasons_of_datatrove(strings)

    assert_agrees(ENGLISH, data_pack, both, share=0.97)


@pytest.mark.slow
def test_with_their_words_verdicts_are_always_those_of_datatrove(data_pack: Path) -> None:
    def both(strings: list[str]) -> tuple[list[str], list[str]]:
        return reasons_with_their_words(strings), reasons_of_datatrove(strings)

    assert_agrees(SOURCES, data_pack, both, share=0.995, characters=100_000)
