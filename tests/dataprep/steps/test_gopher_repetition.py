from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.gopher_repetition import GOPHER_REPETITION, GopherRepetitionParams, checks, measure
from tests.reference.repetition import counts
from tests.reference.zstd_lines import texts_of

DEFAULT = GopherRepetitionParams()
DOLMA = GopherRepetitionParams(definition="dolma")
LIMITS = [name for name in GopherRepetitionParams.model_fields if name != "definition"]
N_GRAMS = [*(f"top_{n}_gram" for n in (2, 3, 4)), *(f"duplicated_{n}_n_grams" for n in range(5, 11))]
NONE = dict.fromkeys(LIMITS)
PLAIN = (
    "Every word of this sentence is used once, for otherwise some rule would see it again.\n"
    "Another line says something else about cats, dogs and horses\nin three parts, none of them long.\n"
)


def reasons_of(texts: Texts, params: GopherRepetitionParams = DEFAULT) -> list[list[str]]:
    found = checks(measure(Batch.of(texts), params), params)
    return [[check.reason for check in found if check.dropped[row]] for row in range(len(texts))]


def reasons_of_words(text: str, words: list[str]) -> list[str]:
    """What the rules say of a text when its words come from elsewhere."""
    signals = {name: np.array([value]) for name, value in counts(text, words).items()}
    return [check.reason for check in checks(signals, DEFAULT) if check.dropped[0]]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (PLAIN, []),
        ("", ["empty"]),
        ("\n", ["dup_line_frac"]),
        (" ", []),
        (
            "some cats and some dogs\n\n" * 3 + PLAIN,
            ["dup_para_frac", "top_4_gram", "duplicated_9_n_grams", "duplicated_10_n_grams"],
        ),
        (PLAIN + "a\n\na\n\na\n\na\n\n", ["dup_para_frac", "dup_line_frac"]),
        ("yes " * 20, N_GRAMS),
        ("one of us", ["top_2_gram", "top_3_gram"]),
        ("nothing new under the old sun, they say of it. " * 2 + PLAIN,
         ["duplicated_9_n_grams", "duplicated_10_n_grams"]),
    ],
)  # fmt: skip
def test_reasons_by_example(text: str, wanted: list[str]) -> None:
    assert reasons_of(Texts.from_strings([PLAIN, text])) == [[], wanted]


@pytest.mark.parametrize(
    ("name", "limit", "above", "at"),
    [
        ("max_duplicate_paragraphs", 0.5, "a\n\na\n\na", "a\n\na"),
        ("max_duplicate_paragraph_characters", 0.25, "aa\n\naa", "aa\n\naa\n\n"),
        ("max_duplicate_lines", 0.5, "a\na\na", "a\na"),
        ("max_duplicate_line_characters", 0.4, "aaa\naaa", "aa\naa"),
        ("max_top_2_gram", 0.5, "a b c", "a b de"),
        ("max_top_3_gram", 0.5, "a b c d e", "a b c d ef"),
        ("max_top_4_gram", 0.5, "a b c d e fgh", "a b c d efghij"),
        ("max_duplicate_5_grams", 0.25, "a b c d e a b c d e", "a b c d e a b c d e "),
        (
            "max_duplicate_10_grams",
            0.25,
            "a b c d e f g h i j a b c d e f g h i j",
            "a b c d e f g h i j " * 2,
        ),
    ],
)
def test_each_threshold_alone_and_strictly(name: str, limit: float, above: str, at: str) -> None:
    params = GopherRepetitionParams(**(NONE | {name: limit}))
    dropped, kept = reasons_of(Texts.from_strings([above, at]), params)
    assert len(dropped) == 1 and kept == []


def test_null_switches_off_and_zero_as_in_datatrove() -> None:
    texts = Texts.from_strings(["a a a\na a a\n\na a a\n\na a a"])
    assert reasons_of(texts, GopherRepetitionParams(**NONE)) == [[]]
    zero = GopherRepetitionParams(**dict.fromkeys(LIMITS, 0.0))
    assert reasons_of(texts, zero) == [N_GRAMS]


def test_reasons_of_dolma() -> None:
    texts = Texts.from_strings(["", PLAIN, "a line\n\nof two\na line\n", "\n \n \n"])
    found = reasons_of(texts, DOLMA)
    assert found[:2] == [[], []]
    assert found[2][:2] == ["dup_line_frac", "dup_line_char_frac"]
    assert found[3] == ["dup_line_frac", "dup_line_char_frac"]
    signals = measure(Batch.of(texts), DOLMA)
    assert not any("para" in name for name in signals)
    assert len(checks(signals, DOLMA)) == 11


def test_only_the_definition_is_measured() -> None:
    changed = GopherRepetitionParams(max_duplicate_lines=0.7)
    assert measuring_parameters(GOPHER_REPETITION, changed) == {"definition": "datatrove"}
    assert GOPHER_REPETITION.depends(None) == {"unicode": unicodedata.unidata_version}


@pytest.mark.parametrize(
    "wrong",
    [
        {"definition": "gopher"},
        {"max_top_2_gram": -0.1},
        {"max_duplicate_lines": 1.5},
        {"max_duplicate_lines": True},
        {"max_top_5_gram": 0.1},
        {"max_top_2_gram": float("nan")},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GopherRepetitionParams(**wrong)


def spread(strings: list[str], count: int) -> list[str]:
    """Some of the strings, evenly; the original takes seconds for a long one."""
    some = [string for string in strings if 0 < len(string) < 30_000]
    return some[:: max(1, len(some) // count)][:count]


def sample(data_pack: Path, kind: str) -> list[str]:
    if kind == "chapters":
        books = pq.read_table(data_pack / "books" / "books_en.parquet")["text"].to_pylist()
        return spread([chapter for book in books for chapter in re.split(r"\n(?=## )", book)], 40)
    if kind == "code":
        return spread(pq.read_table(data_pack / "code" / "code.parquet")["text"].to_pylist(), 120)
    return spread(texts_of(data_pack / kind, 10**6), 120)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("wiki/wiki_en.jsonl.zst", 0.995),
        ("chapters", 0.995),
        ("qa_stackexchange/posts.jsonl.zst", 0.99),
        ("dictionaries/foldoc_jargon.jsonl.zst", 0.995),
        ("docs_versions/django_docs_4_versions.jsonl.zst", 0.99),
        ("code", 0.97),
        ("books/books_fr_de_hu_uk_el_ja.jsonl.zst", 0.97),
        ("wiki/wiki_zh.jsonl.zst", 0.0),  # other words: see test_chinese.py
    ],
)
def test_verdicts_are_those_of_datatrove(kind: str, least: float, data_pack: Path) -> None:
    """With the original's words always; with ours nearly always. Verdicts are first reasons here."""
    pytest.importorskip("spacy")
    original = pytest.importorskip("datatrove.pipeline.filters.gopher_repetition_filter")
    from datatrove.data import Document
    from datatrove.utils.text import split_into_words

    strings = sample(data_pack, kind)
    rule = original.GopherRepetitionFilter()
    by_words: Counter[tuple[str, str]] = Counter()
    by_text: Counter[tuple[str, str]] = Counter()
    for string, ours in zip(strings, reasons_of(Texts.from_strings(strings)), strict=True):
        verdict = rule.filter(Document(text=string, id=""))
        first = "kept" if verdict is True else verdict[1]
        with_words = (reasons_of_words(string, split_into_words(string)) or ["kept"])[0]
        by_words[first, with_words] += 1
        by_text[first, (ours or ["kept"])[0]] += 1
    for found, wanted in ((by_words, 0.995), (by_text, least)):
        differ = {pair: count for pair, count in found.items() if pair[0] != pair[1]}
        assert sum(differ.values()) <= (1 - wanted) * len(strings), differ
