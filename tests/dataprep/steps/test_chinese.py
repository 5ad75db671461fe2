"""Chinese text: our words are single characters. What that changes beside datatrove, by reason.

With the same words on both sides, verdicts are datatrove's. With datatrove's own Chinese words (jieba's, one
to four characters each) those of `gopher_repetition` differ in both directions; here they are listed, and in
docs/reference/statistics.md.
"""

from __future__ import annotations

import io
import json
import warnings
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import zstandard

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from tests.reference.words import words

pytestmark = pytest.mark.slow

FILES = {
    "wiki": ["wiki/wiki_zh.jsonl.zst"],
    "news": ["news_ntrex128/ntrex128_a.jsonl.zst", "news_ntrex128/ntrex128_b.jsonl.zst"],
    "manuals": ["manpages/manpages.jsonl.zst"],
}
FILTERS = {
    "gopher_quality": ("gopher_quality_filter", "GopherQualityFilter"),
    "gopher_repetition": ("gopher_repetition_filter", "GopherRepetitionFilter"),
    "fineweb_quality": ("fineweb_quality_filter", "FineWebQualityFilter"),
}


@cache
def documents(data_pack: Path, source: str) -> list[str]:
    """Up to 1,000 Chinese documents from all over a source, none too long for the original."""
    found = []
    for file in FILES[source]:
        with (data_pack / file).open("rb") as compressed:
            stream = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
            for line in io.TextIOWrapper(stream, encoding="utf-8", newline="\n"):
                record = json.loads(line)
                if record["lang"].startswith("zh") and 0 < len(record["text"]) < 30_000:
                    found.append(record["text"])
    return found[:: max(1, len(found) // 1000)][:1000]


def first_reasons(name: str, strings: list[str]) -> list[str]:
    step: Any = STEPS[name]
    params = step.params()
    checks = step.checks(step.measure(Batch.of(Texts.from_strings(strings)), params), params)
    return [
        next((check.reason for check in checks if check.dropped[row]), "kept") for row in range(len(strings))
    ]


def reasons_of_datatrove(name: str, strings: list[str], language: str) -> list[str]:
    from datatrove.data import Document

    file, kind = FILTERS[name]
    rule = getattr(import_module(f"datatrove.pipeline.filters.{file}"), kind)(language=language)
    verdicts = [rule.filter(Document(text=string, id="")) for string in strings]
    return ["kept" if verdict is True else verdict[1] for verdict in verdicts]


@pytest.mark.parametrize("source", FILES)
@pytest.mark.parametrize("name", FILTERS)
def test_with_our_words_verdicts_are_those_of_datatrove(
    name: str, source: str, data_pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The original filter, but for where it asks for words: it gets those of our slow twin."""
    file, _ = FILTERS[name]
    original = pytest.importorskip(f"datatrove.pipeline.filters.{file}")
    monkeypatch.setattr(original, "split_into_words", lambda text, language: words(text))
    strings = documents(data_pack, source)
    theirs = reasons_of_datatrove(name, strings, "eng")
    differ = Counter(
        pair for pair in zip(theirs, first_reasons(name, strings), strict=True) if len({*pair}) > 1
    )
    assert differ.total() <= 0.005 * len(strings), differ


@pytest.fixture
def _jieba(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its invalid escapes, and of pkg_resources
        jieba = pytest.importorskip("jieba")
        jieba.dt.tmp_dir = str(tmp_path)  # of the cache that it writes
        jieba.dt.initialize()


DIFFER: dict[tuple[str, str], tuple[dict[str, int], dict[str, int]]] = {
    ("gopher_quality", "manuals"): (
        {"gopher_below_alpha_threshold": 6},  # code and tables: fewer, longer words with a letter
        {"gopher_below_avg_threshold": 2},  # one character is the shortest word there is
    ),
    ("gopher_repetition", "wiki"): (
        # Three or four long words are much of a short article, even once.
        {"top_3_gram": 8, "top_4_gram": 49, "duplicated_5_n_grams": 1, "duplicated_7_n_grams": 1},
        # Four characters come again (a name, "year month"), and five more often than five words.
        {"top_3_gram": 33, "top_4_gram": 77, "duplicated_5_n_grams": 22, "duplicated_6_n_grams": 3},
    ),
    ("gopher_repetition", "news"): (
        {},
        {"top_4_gram": 2, "duplicated_5_n_grams": 4, "duplicated_6_n_grams": 1, "duplicated_9_n_grams": 1},
    ),
    ("gopher_repetition", "manuals"): (
        {"duplicated_5_n_grams": 4, "duplicated_9_n_grams": 2},
        {"top_3_gram": 2},
    ),
}
"""(step, source) -> how many documents datatrove alone drops, and how many we alone, by first reason; of
1,000 articles, 246 news and 547 manual pages. Where nothing stands, no verdict differs."""


@pytest.mark.parametrize("source", FILES)
@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.usefixtures("_jieba")
def test_with_words_of_jieba_verdicts_differ_by_these_reasons(
    name: str, source: str, data_pack: Path
) -> None:
    strings = documents(data_pack, source)
    theirs, ours = reasons_of_datatrove(name, strings, "zho_Hani"), first_reasons(name, strings)
    pairs = list(zip(theirs, ours, strict=True))
    found = (
        Counter(reason for reason, other in pairs if other == "kept" != reason),
        Counter(reason for other, reason in pairs if other == "kept" != reason),
    )
    assert found == DIFFER.get((name, source), ({}, {}))
