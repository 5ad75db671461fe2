from __future__ import annotations

import collections
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.extraction.client import Client, Settings
from dataprep.extraction.outcomes import DROPPED, Outcome
from dataprep.kernels.texts import Texts
from dataprep.readers import ReadOptions
from dataprep.steps import extract_text as module
from dataprep.steps.base import measuring_parameters
from dataprep.steps.extract_text import EXTRACT_TEXT, ExtractTextParams, checks, depends, edit, extract
from manifests.errors import UserError
from tests.dataprep.extraction.test_client import LIMITS, PLANTED
from tests.dataprep.readers.reading import read_file

PAGE = (
    "<!DOCTYPE html><html><head><title>A title</title></head><body><nav><a href=/>Home</a></nav>"
    "<article><h1>Heading</h1><p>The first paragraph of the article, which is long enough to be one.</p>"
    "<ol><li>point one<li>point two</ol></article><script>var x = '<p>no</p>'</script></body></html>"
)
FROM_RESILIPARSE = (
    "Heading\n\nThe first paragraph of the article, which is long enough to be one.\n\n"
    "  1. point one\n  2. point two"
)


def of(pages: Sequence[str], **params: Any) -> tuple[list[str], list[int]]:
    texts, signals = edit(Batch.of(Texts.from_strings(pages)), ExtractTextParams(**params))
    return texts.to_strings(), signals["outcome"].tolist()


def reasons(outcomes: Sequence[int]) -> list[list[str]]:
    found = checks({"outcome": np.array(outcomes, dtype=np.uint8)}, ExtractTextParams())
    return [[check.reason for check in found if check.dropped[row]] for row in range(len(outcomes))]


def test_the_text_of_a_page() -> None:
    texts, outcomes = of([PAGE])
    assert texts == [FROM_RESILIPARSE] and outcomes == [Outcome.OK]


@pytest.mark.parametrize(
    ("options", "has"),
    [
        ({"main_content": False}, "Home"),
        ({"list_bullets": False}, "be one.\n\n  point one"),
        ({"formatting": False}, "Heading The first"),
    ],
)
def test_options_of_resiliparse(options: dict[str, bool], has: str) -> None:
    (text,), _ = of([PAGE], resiliparse=module.Resiliparse(**options))
    assert has in text and has not in FROM_RESILIPARSE


def test_what_is_no_page_stays_as_it_is() -> None:
    plain = ["text of a WET\nwith lines", "", "  \n", "a < b and <p> in the middle"]
    assert of([*plain, PAGE])[1] == [Outcome.NOT_HTML] * 4 + [Outcome.OK]
    assert of(plain)[0] == plain
    texts, outcomes = of(plain, sniff=False)
    assert texts[0].split() == plain[0].split()
    assert outcomes == [Outcome.OK, Outcome.EMPTY, Outcome.EMPTY, Outcome.OK]


def test_pages_without_text_are_dropped() -> None:
    texts, outcomes = of(["<html><body></body></html>", "<p> </p>", "<script>x</script>"])
    assert texts == ["", "", ""] and outcomes == [Outcome.EMPTY] * 3


def test_pages_that_are_not_tried() -> None:
    pages = ["<p>" + "x" * 200, "<i>" * 30 + "x", "<br>" * 50 + "x", "<p>x"]
    texts, outcomes = of(pages, max_bytes=202, max_depth=29, max_tags=49)
    assert outcomes == [Outcome.TOO_LARGE, Outcome.TOO_DEEP, Outcome.TOO_MANY_TAGS, Outcome.OK]
    assert texts == ["", "", "", "x"]
    assert of(pages, max_bytes=203, max_depth=30, max_tags=50)[1] == [Outcome.OK] * 4


def test_every_outcome_but_two_has_a_reason() -> None:
    expected = [
        [] if each in (Outcome.OK, Outcome.NOT_HTML) else [f"extract_{each.name.lower()}"] for each in Outcome
    ]
    assert reasons([int(each) for each in Outcome]) == expected
    assert len(DROPPED) == len(Outcome) - 2


def test_numbers_of_outcomes_are_kept_in_columns_and_stay() -> None:
    assert [each.name for each in sorted(Outcome)] == [
        "OK", "NOT_HTML", "EMPTY", "TOO_LARGE", "TOO_MANY_TAGS", "TOO_DEEP", "FAILED", "CRASHED",
        "OUT_OF_TIME", "OUT_OF_MEMORY",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def planted() -> Iterator[Client]:
    client = Client(Settings(PLANTED, {}, **LIMITS))
    yield client
    client.close()


def test_a_page_that_crashes_the_parser(planted: Client) -> None:
    batch = Batch.of(Texts.from_strings(["one", "crash", "two", "raise"]))
    texts, signals = extract(batch, ExtractTextParams(sniff=False), planted)
    assert texts.to_strings() == ["ONE", "", "TWO", ""]
    assert signals["outcome"].tolist() == [Outcome.OK, Outcome.CRASHED, Outcome.OK, Outcome.FAILED]


def test_what_is_in_the_key() -> None:
    values = measuring_parameters(EXTRACT_TEXT, ExtractTextParams())
    assert set(values) == set(ExtractTextParams.model_fields)
    assert EXTRACT_TEXT.expensive
    assert depends(ExtractTextParams())["resiliparse"].count(".") >= 1
    packages = {"trafilatura", "lxml", "justext", "lxml_html_clean"}
    assert set(depends(ExtractTextParams(engine="trafilatura"))) == packages


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise module.PackageNotFoundError(name)

    monkeypatch.setattr(module, "version", missing)
    for engine, extra in (("resiliparse", "warc"), ("trafilatura", "extract")):
        with pytest.raises(UserError, match=engine) as error:
            depends(ExtractTextParams.model_validate({"engine": engine}))
        assert error.value.hint == f"pip install 'headrace[{extra}]'"


@pytest.mark.parametrize(
    "params",
    [
        {"engine": "other"},
        {"engine": "trafilatura", "resiliparse": {"links": True}},
        {"trafilatura": {"fast": True}},
        {"max_bytes": 0},
        {"cpu_seconds": 1.5},
        {"resiliparse": {"bold": True}},
    ],
)
def test_wrong_parameters(params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExtractTextParams.model_validate(params)


def test_trafilatura() -> None:
    paragraph = "<p>" + "This sentence is part of a paragraph that is long enough to be kept. " * 6 + "</p>"
    article = f"<article><h1>Heading</h1>{paragraph * 3}</article>"
    page = f"<html><body><nav><a href=/>Home</a></nav>{article}</body></html>"
    (text, nothing), outcomes = of([page, "<html><body></body></html>"], engine="trafilatura")
    assert outcomes == [Outcome.OK, Outcome.EMPTY] and nothing == ""
    assert "long enough to be kept" in text and "Home" not in text and "<p>" not in text


def words(text: str) -> collections.Counter[str]:
    return collections.Counter(re.findall(r"\w+", text.lower()))


def overlap(found: str, expected: str) -> tuple[float, float]:
    """Precision and recall of the words of one text against those of another."""
    ours, theirs = words(found), words(expected)
    same = sum((ours & theirs).values())
    return same / max(1, sum(ours.values())), same / max(1, sum(theirs.values()))


@pytest.mark.parametrize(("engine", "least"), [("resiliparse", 0.80), ("trafilatura", 0.80)])
def test_the_main_content_of_six_pages(data_pack: Path, engine: str, least: float) -> None:
    """Pages for which the authors of readability wrote down what is content. One of the six is a page with
    little but a comment thread, where what is content is anyone's guess; so the mean is judged."""
    with (data_pack / "html" / "html_pages.jsonl.zst").open("rb") as file:
        data = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    pages = [page for page in map(json.loads, data.splitlines()) if "expected_main_html" in page["meta"]]
    assert len(pages) == 6
    texts, outcomes = of([page["text"] for page in pages], engine=engine)
    everything = {"main_content": False, "alt_texts": False}
    expected, _ = of(
        ["<html>" + page["meta"]["expected_main_html"] for page in pages],
        resiliparse=module.Resiliparse(**everything),
    )
    assert set(outcomes) == {Outcome.OK}
    scores = [overlap(text, wanted) for text, wanted in zip(texts, expected, strict=True)]
    precision, recall = np.mean(scores, axis=0)
    assert precision > least and recall > least, scores


def test_the_text_is_close_to_that_of_the_wet(data_pack: Path) -> None:
    """The WET of the data pack holds all text of a page, as Common Crawl's does."""
    options = ReadOptions(id="url")
    pages = read_file("warc", data_pack / "warc" / "pages.warc.gz", options).documents[::13]
    wet = {
        own_id: text
        for _, own_id, text in read_file("wet", data_pack / "warc" / "pages.warc.wet.gz", options).documents
    }
    everything = module.Resiliparse(main_content=False, alt_texts=False)
    texts, outcomes = of([page for _, _, page in pages], resiliparse=everything)
    assert set(outcomes) == {Outcome.OK}
    scores = [overlap(text, wet[own_id]) for text, (_, own_id, _) in zip(texts, pages, strict=True)]
    precision, recall = np.median(scores, axis=0)
    assert precision > 0.95 and recall > 0.95, scores
    main, _ = of([page for _, _, page in pages])
    shares = [len(text) / len(whole) for text, whole in zip(main, texts, strict=True)]
    assert 0.2 < np.median(shares) < 1.0, shares


@pytest.mark.parametrize("engine", ["resiliparse", "trafilatura"])
def test_odd_pages_end_in_an_outcome(data_pack: Path, engine: str) -> None:
    """Fragments that html5lib tests its parser with, and the synthetic pages of readability."""
    folder = data_pack / "messy" / "html"
    cases = (folder / "encoding_tests1.dat").read_text("latin-1").split("#data\n")
    pages = [path.read_text("utf-8") for path in sorted(folder.glob("*.html"))]
    assert len(pages) == 9
    texts, outcomes = of([*cases, *pages], engine=engine, sniff=False)
    assert set(outcomes) <= {Outcome.OK, Outcome.EMPTY}
    assert outcomes[-9:].count(Outcome.OK) >= 8
    if engine == "resiliparse":
        assert ["orem ipsum dolor" in text.replace("\n", " ") for text in texts[-9:]] == [False, *[True] * 8]
        assert texts[-9].strip() == "Test"
