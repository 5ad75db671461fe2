from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.gopher_quality import GOPHER_QUALITY, GopherQualityParams, checks, measure
from tests.reference.quality import PUNCTUATION, counts
from tests.reference.zstd_lines import texts_of

DEFAULT = GopherQualityParams()
SENTENCE = "We have the same line of words that a reader would be happy with, and it goes to the end.\n"
GOOD = SENTENCE * 4
NONE = dict.fromkeys(
    [name for name in GopherQualityParams.model_fields if name not in ("definition", "stop_words")]
)


def reasons_of(texts: Texts, params: GopherQualityParams = DEFAULT) -> list[list[str]]:
    found = checks(measure(Batch.of(texts), params), params)
    return [[check.reason for check in found if check.dropped[row]] for row in range(len(texts))]


def reasons_of_words(text: str, words: Sequence[str]) -> list[str]:
    """What the rules say of a text when its words come from elsewhere."""
    signals = {name: np.array([value]) for name, value in counts(text, words, DEFAULT.stop_words).items()}
    return [check.reason for check in checks(signals, DEFAULT) if check.dropped[0]]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (GOOD, []),
        (SENTENCE * 2, ["gopher_short_doc"]),
        ("a b of to " * 20, ["gopher_below_avg_threshold"]),
        ("internationalization to of " + "internationalization " * 60, ["gopher_above_avg_threshold"]),
        (GOOD + "#" * 12, ["gopher_too_many_hashes"]),
        (GOOD + " ..." * 12, ["gopher_too_many_ellipsis"]),
        ("- the first of these words\n" * 20, ["gopher_too_many_bullets"]),
        ("\u2022 the first of these words\n" * 20, ["gopher_too_many_bullets"]),
        (GOOD + "and the end of it all...\n" * 3, ["gopher_too_many_end_ellipsis"]),
        (GOOD + "1234 " * 40, ["gopher_below_alpha_threshold"]),
        ("Many words without those eight little helpers. " * 10, ["gopher_enough_stop_words"]),
        ("", ["gopher_short_doc", "gopher_enough_stop_words"]),
        (" \n", ["gopher_short_doc", "gopher_enough_stop_words"]),
        (
            "# 1 ...\n" * 20,
            [
                "gopher_short_doc",
                "gopher_below_avg_threshold",
                "gopher_too_many_hashes",
                "gopher_too_many_ellipsis",
                "gopher_too_many_end_ellipsis",
                "gopher_below_alpha_threshold",
                "gopher_enough_stop_words",
            ],
        ),
    ],
)
def test_reasons_by_example(text: str, wanted: list[str]) -> None:
    assert reasons_of(Texts.from_strings([GOOD, text])) == [[], wanted]


def test_a_long_text() -> None:
    texts = Texts.from_strings([SENTENCE * 6000, SENTENCE * 5000])
    assert reasons_of(texts) == [["gopher_long_doc"], []]


@pytest.mark.parametrize(
    ("params", "below", "at"),
    [
        ({"min_words": 3}, "a b", "a b c"),
        ({"max_words": 2}, "a b c", "a b"),
        ({"min_mean_word_length": 2.5}, "ab ab", "ab abc"),
        ({"max_mean_word_length": 2.5}, "abc abc", "ab abc"),
        ({"max_symbol_word_ratio": 0.25}, "a b # #", "a b c #"),
        ({"max_symbol_word_ratio": 0.25}, "a ... ...", "a b c \u2026"),
        ({"max_bullet_lines_ratio": 0.5}, "- a\n- b\nc", "- a\nb"),
        ({"max_ellipsis_lines_ratio": 0.5}, "a...\nb...\nc", "a\u2026\nb"),
        ({"min_alphabetic_words_ratio": 0.5}, "a 1 2", "a 1"),
        ({"min_stop_words": 2}, "the the", "the to"),
        ({"min_stop_words": 1, "stop_words": ["fox", "\u4e2d"]}, "the to", "\u4e2d"),
    ],
)
def test_each_threshold_alone_and_strictly(params: dict[str, Any], below: str, at: str) -> None:
    dropped, kept = reasons_of(Texts.from_strings([below, at]), GopherQualityParams(**(NONE | params)))
    assert len(dropped) == 1 and kept == []


@pytest.mark.parametrize("off", [None, 0])
def test_null_or_zero_switches_off(off: int | None) -> None:
    params = GopherQualityParams(**dict.fromkeys(NONE, off))
    assert reasons_of(Texts.from_strings(["", "#", "...", "1"]), params) == [[], [], [], []]


def test_only_the_words_to_look_for_are_measured() -> None:
    changed = GopherQualityParams(min_words=7)
    assert measuring_parameters(GOPHER_QUALITY, changed) == measuring_parameters(GOPHER_QUALITY, DEFAULT)
    assert set(measuring_parameters(GOPHER_QUALITY, DEFAULT)) == {"definition", "stop_words"}
    assert GOPHER_QUALITY.depends(None) == {"unicode": unicodedata.unidata_version}


@pytest.mark.parametrize(
    "wrong",
    [
        {"definition": "nemo"},
        {"min_words": -1},
        {"min_words": True},
        {"max_bullet_lines_ratio": 1.5},
        {"min_word": 5},
        {"min_mean_word_length": float("nan")},
        {"stop_words": [""]},
        {"stop_words": ["a"] * 65},
        {"min_words": 100, "max_words": 50},
        {"min_mean_word_length": 3.5, "max_mean_word_length": 3},
        {"min_stop_words": 9},
        {"stop_words": []},
        {"stop_words": [], "definition": "dolma"},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GopherQualityParams(**wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"min_words": 50, "max_words": 50},
        {"min_words": 50, "max_words": 0},
        {"min_stop_words": 9, "definition": "dolma"},
        {"stop_words": [], "min_stop_words": None},
    ],
)
def test_limits_that_leave_something_are_taken(right: dict[str, Any]) -> None:
    GopherQualityParams(**right)


DOLMA = GopherQualityParams(definition="dolma")
WORDS = "the words that have to be here " * 10


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (WORDS, []),
        (WORDS[:150], ["gopher_short_doc"]),
        ("the words that have to be here " * 15_000, ["gopher_long_doc"]),
        ("of a to be b c " * 20, ["gopher_below_avg_threshold"]),
        ("the internationalization internationalization " * 20, ["gopher_above_avg_threshold"]),
        (f"the of {'w' * 45} " * 20, []),  # the mean is more, the median is not
        (WORDS + "#tag " * 9, ["gopher_too_many_symbols"]),
        (WORDS + "end\u2026 " * 9, ["gopher_too_many_symbols"]),
        (WORDS + "###### " * 4 + "word... " * 9, []),
        ("* the words that have to be here\n" * 12, ["gopher_too_many_bullets"]),
        (" * the words that have to be here\n\u2022 apples\n" * 12, []),
        (
            "the words that have to be here\u2026\n" * 12,
            ["gopher_too_many_symbols", "gopher_too_many_end_ellipsis"],
        ),
        ("the words that have to be here...\n" * 12, []),
        (WORDS + "1234 " * 30, ["gopher_below_alpha_threshold"]),
        ("Many words without those eight little helpers. " * 10, ["gopher_enough_stop_words"]),
        ("Many words without that and without that more. " * 10, []),  # every time counts
        (
            "",
            [
                "gopher_short_doc",
                "gopher_below_avg_threshold",
                "gopher_below_alpha_threshold",
                "gopher_enough_stop_words",
            ],
        ),
    ],
)
def test_reasons_of_dolma_by_example(text: str, wanted: list[str]) -> None:
    assert reasons_of(Texts.from_strings([WORDS, text]), DOLMA) == [[], wanted]


def test_null_or_zero_switches_off_in_dolma() -> None:
    for off in (None, 0):
        params = GopherQualityParams(**dict.fromkeys(NONE, off), definition="dolma")
        assert reasons_of(Texts.from_strings(["", "#", "\u2026", "*"]), params) == [[], [], [], []]


def test_punctuation_is_that_of_datatrove() -> None:
    original = pytest.importorskip("datatrove.utils.text")
    assert original.PUNCTUATION_SET == PUNCTUATION


@pytest.mark.slow
@pytest.mark.parametrize("file", ["wiki/wiki_en.jsonl.zst", "qa_stackexchange/posts.jsonl.zst",
                                  "blogs/blogs_18f_rust.jsonl.zst", "books/books_en.parquet"])  # fmt: skip
def test_verdicts_are_those_of_datatrove(file: str, data_pack: Path) -> None:
    """With the original's words always; with ours nearly always."""
    pytest.importorskip("spacy")
    original = pytest.importorskip("datatrove.pipeline.filters.gopher_quality_filter")
    from datatrove.data import Document
    from datatrove.utils.text import split_into_words

    path = data_pack / file
    if path.suffix == ".parquet":
        strings = sorted(pq.read_table(path)["text"].to_pylist(), key=len)[:10]
    else:
        strings = texts_of(path, 400)
    rule = original.GopherQualityFilter()
    by_words: Counter[tuple[str, str]] = Counter()
    by_text: Counter[tuple[str, str]] = Counter()
    for string, ours in zip(strings, reasons_of(Texts.from_strings(strings)), strict=True):
        verdict = rule.filter(Document(text=string, id=""))
        first = "kept" if verdict is True else verdict[1]
        by_words[first, (reasons_of_words(string, split_into_words(string)) or ["kept"])[0]] += 1
        by_text[first, (ours or ["kept"])[0]] += 1
    for found, least in ((by_words, 0.995), (by_text, 0.97)):
        differ = {pair: count for pair, count in found.items() if pair[0] != pair[1]}
        assert sum(differ.values()) <= (1 - least) * len(strings), differ
