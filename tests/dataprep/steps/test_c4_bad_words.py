from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.c4_bad_words import C4_BAD_WORDS, C4BadWordsParams, checks, depends, measure
from manifests.errors import UserError
from tests.dataprep.steps.parity import SOURCES, assert_agrees

WORDS = [
    "data",
    "do not",
    "Python",
    "water-",
    "\u0432\u043e\u0434\u0430",
    "stra\u00dfe",
    "(c)",
    "_",
    "\u4eba",
]


def dropped(strings: list[str], params: C4BadWordsParams) -> list[bool]:
    (check,) = checks(measure(Batch.of(Texts.from_strings(strings)), params), params)
    assert check.reason == "bad_word"
    return check.dropped.tolist()


def test_words_stand_alone_in_any_case() -> None:
    params = C4BadWordsParams(words=["Bad", "very bad thing"])
    assert dropped(["a BAD one", "badly", "(bad)", "x_bad", "", "bad"], params) == [
        True,
        False,
        True,
        False,
        False,
        True,
    ]
    assert dropped(["badly"], params.model_copy(update={"whole_words": False})) == [True]


def test_words_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("  bad \n\nworse\n", encoding="utf-8")
    params = C4BadWordsParams(words_file=str(path))
    assert dropped(["so bad", "worse", "", "good"], params) == [True, True, False, False]
    same = C4BadWordsParams(words=["worse", "bad"])
    assert depends(params) == depends(same) and depends(params)["unicode"] == unicodedata.unidata_version
    path.write_text("bad\n", encoding="utf-8")
    assert depends(params) != depends(same)
    path.write_bytes(b"\xef\xbb\xbfbad\r\nworse\r\n")  # as some editors write it
    assert depends(params) == depends(same)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    with pytest.raises(UserError, match="cannot read a list: no such file"):
        depends(C4BadWordsParams(words_file=str(path)))
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(UserError, match="a list is not UTF-8"):
        depends(C4BadWordsParams(words_file=str(path)))


def test_a_share_is_spared_by_hash() -> None:
    strings = [f"bad {number}" for number in range(2000)]
    spared = [not out for out in dropped(strings, C4BadWordsParams(words=["bad"], keep_fraction=0.1))]
    assert 150 < sum(spared) < 250
    assert not any(dropped(strings, C4BadWordsParams(words=["bad"], keep_fraction=1.0)))
    assert all(dropped(strings, C4BadWordsParams(words=["bad"])))
    again = dropped(strings[::-1], C4BadWordsParams(words=["bad"], keep_fraction=0.1))
    assert [not out for out in again[::-1]] == spared


def test_what_is_measured() -> None:
    params = C4BadWordsParams(words=["a"], keep_fraction=0.5)
    assert set(measuring_parameters(C4_BAD_WORDS, params)) == {
        "definition",
        "whole_words",
    }  # words: `depends`


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"words": ["a"], "words_file": "b"},
        {"words": []},
        {"words": [" "]},
        {"words": ["a"], "keep_fraction": 2.0},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        C4BadWordsParams(**wrong)


@pytest.mark.parametrize("whole_words", [True, False])
def test_verdicts_are_always_those_of_datatrove(whole_words: bool, data_pack: Path) -> None:
    """With its expressions, which the filter makes of a list that it downloads."""
    original = pytest.importorskip("datatrove.pipeline.filters.c4_filters").C4BadWordsFilter()
    from datatrove.data import Document

    every = "|".join(re.escape(word.lower()) for word in WORDS)
    original._badwords_regex["en"] = re.compile(rf"(?:\W|^)({every})(?:\W|$)" if whole_words else every)
    params = C4BadWordsParams(words=WORDS, whole_words=whole_words)
    assert_agrees(
        SOURCES,
        data_pack,
        lambda s: (dropped(s, params), [original.filter(Document(text=t, id="")) is not True for t in s]),
        share=1.0,
    )
