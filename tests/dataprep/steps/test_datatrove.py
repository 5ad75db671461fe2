from __future__ import annotations

import contextlib
import importlib
import random
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import datatrove_classes as classes
from dataprep.steps.base import Signals, measuring_parameters, rewrites
from dataprep.steps.datatrove import DATATROVE, DatatroveParams, edit
from manifests.errors import UserError
from tests.dataprep.steps.test_own import recipe_with
from tests.reference.zstd_lines import texts_of

pytest.importorskip("datatrove")

ARGUMENTS: dict[str, dict[str, Any]] = {
    "RegexFilter": {"regex_exp": r"\b(19|20)\d\d\b"},
    "GopherQualityFilter": {"min_doc_words": 20, "stop_words": ["the", "und", "de"]},
    "C4QualityFilter": {"min_num_sentences": 2},
}
PACKAGES = {
    "FTFYFormatter": "ftfy",
    "Trafilatura": "lxml_html_clean",  # what trafilatura 1 and 2 import and do not always install
    "FastTextClassifierFilter": "fasteners",
}
WORDS = {"C4QualityFilter", "FineWebQualityFilter", "GopherQualityFilter", "GopherRepetitionFilter"}
LOADABLE = [name for name in classes.KNOWN if name != "FastTextClassifierFilter"]


def kind_of(name: str) -> classes.Kind:
    return "filter" if name.endswith("Filter") else "formatter" if name.endswith("Formatter") else "extractor"


def needs(name: str) -> None:
    """Skip where a package that the class needs is not installed."""
    for package in (PACKAGES.get(name, "datatrove"), *(("spacy",) if name in WORDS else ())):
        pytest.importorskip(package)


def params(name: str, arguments: dict[str, Any] | None = None, **options: Any) -> DatatroveParams:
    given = ARGUMENTS.get(name, {}) if arguments is None else arguments
    return DatatroveParams.model_validate({kind_of(name): name, "with": given, **options})


def answers(name: str, texts: Sequence[str], **options: Any) -> list[tuple[str, str | None]]:
    """The new text and the reason of each document, through the step."""
    found, signals = edit(Batch.of(Texts.from_strings(texts)), params(name, **options))
    assert signals["error"].null_count == len(texts)
    return list(zip(found.to_strings(), signals["reason"].to_pylist(), strict=True))


def direct(name: str, texts: Sequence[str]) -> list[tuple[str, str | None]]:
    """The same from datatrove itself: one instance for all documents, a new one each where it remembers."""
    from datatrove.data import Document

    kind, arguments = kind_of(name), ARGUMENTS.get(name, {})

    def make() -> Any:
        module = importlib.import_module(f"datatrove.pipeline.{kind}s")
        return getattr(module, name)(**{key: classes._tuples(value) for key, value in arguments.items()})

    instance = make()
    found: list[tuple[str, str | None]] = []
    for number, text in enumerate(texts):
        if name == "PIIFormatter":
            instance = make()
        if kind == "filter":
            document = Document(text=text, id=str(number))
            answer = instance.filter(document)
            keeps, reason = answer if isinstance(answer, tuple) else (answer, "dropped")
            found.append((document.text, None) if keeps else (text, reason))
        elif kind == "formatter":
            found.append((instance.format(text), None))
        else:
            importlib.import_module("trafilatura.deduplication").LRU_TEST.clear()
            extracted = instance.extract(text)
            found.append((extracted, None) if extracted else (text, "nothing_extracted"))
    return found


PARAGRAPH = "The miller of the old mill by the river keeps the books and the wheel, and did for years.\n"
PAGE = f"<html><body><article><h1>A</h1><p>{PARAGRAPH * 2}</p><p>{PARAGRAPH * 3}</p></article></body></html>"
SAMPLES = [
    "",
    "One word.",
    PARAGRAPH * 4,
    "".join(f"{PARAGRAPH[:-1]} Number {number} of them is not like the others.\n" for number in range(9)),
    "- a point\n" * 40,
    "Call me at anna@mail.example.net or ben@mail.example.net, from 8.8.8.8 or 9.9.9.9 or 10.0.0.1.",
    "schÃ¶n &amp; gut \x1b[31mred\x1b[0m",
    "====\ntext\n****\n----\nmore",
    "Zwei und drei. " * 30 + "{",
    PAGE,
    "lorem ipsum dolor sit amet. " * 9,
    "Made in 1999.",
]


# --- the same as datatrove ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LOADABLE)
def test_answers_are_those_of_datatrove(name: str) -> None:
    needs(name)
    DATATROVE.depends(params(name))
    assert answers(name, SAMPLES) == direct(name, SAMPLES)


@pytest.mark.parametrize("name", LOADABLE)
def test_answers_do_not_depend_on_order(name: str) -> None:
    needs(name)
    order = list(range(len(SAMPLES))) * 3  # trafilatura would leave a paragraph out after some times
    random.Random(3).shuffle(order)
    wanted = answers(name, SAMPLES)
    assert answers(name, [SAMPLES[place] for place in order]) == [wanted[place] for place in order]


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADABLE)
def test_answers_on_real_text_are_those_of_datatrove(name: str, data_pack: Path) -> None:
    needs(name)
    if kind_of(name) == "extractor":
        texts = texts_of(data_pack / "html" / "html_pages.jsonl.zst", 60)
    else:
        files = (
            "wiki/wiki_en.jsonl.zst",
            "qa_stackexchange/posts.jsonl.zst",
            "blogs/blogs_18f_rust.jsonl.zst",
        )
        texts = [
            text for file in (*files, "chat/ubuntu_irc.jsonl.zst") for text in texts_of(data_pack / file, 40)
        ]
        texts = [text[:20_000] for text in texts]
    wanted = direct(name, texts)
    assert answers(name, texts) == wanted
    order = np.random.default_rng(5).permutation(len(texts)).tolist()
    assert answers(name, [texts[place] for place in order]) == [wanted[place] for place in order]
    assert any(reason or text != new for text, (new, reason) in zip(texts, wanted, strict=True))


def test_the_table_is_right_about_what_remembers() -> None:
    """One instance of PIIFormatter would answer otherwise, so the table is not idle."""
    from datatrove.pipeline.formatters import PIIFormatter

    text = "Write to anna@mail.example.net."
    instance = PIIFormatter()
    assert instance.format(text) != instance.format(text)
    assert len(set(answers("PIIFormatter", [text] * 3))) == 1


def test_the_table_is_right_about_trafilatura() -> None:
    needs("Trafilatura")
    from datatrove.pipeline.extractors import Trafilatura

    instance = Trafilatura()
    assert len({instance.extract(PAGE) for _ in range(9)}) > 1
    assert len(set(answers("Trafilatura", [PAGE] * 9))) == 1


def test_the_table_knows_every_class() -> None:
    for kind in classes.METHODS:
        module = importlib.import_module(f"datatrove.pipeline.{kind}s")
        for name in dir(module):
            if isinstance(getattr(module, name), type):
                assert kind_of(name) == kind and (name in classes.KNOWN) != (name in classes.REFUSED)


# --- reasons ------------------------------------------------------------------------------------------------
def reasons(name: str, texts: Sequence[str], **options: Any) -> list[list[str]]:
    given = params(name, **options)
    _, signals = edit(Batch.of(Texts.from_strings(texts)), given)
    found = DATATROVE.checks(signals, given)
    assert [check.reason for check in found] == sorted(check.reason for check in found)
    return [[check.reason for check in found if check.dropped[row]] for row in range(len(texts))]


def test_reasons() -> None:
    assert reasons("C4ParagraphFilter", ["a", (PARAGRAPH[:-1] * 3 + "\n") * 3]) == [["< 3 paragraphs"], []]
    assert reasons("RegexFilter", ["in 1999", "in 99"]) == [["dropped"], []]
    needs("GopherRepetitionFilter")
    assert reasons("GopherRepetitionFilter", ["", "a\na\na", "x\n\nx\n\nx"]) == [
        ["empty"],
        ["dup_line_frac"],
        ["dup_para_frac"],
    ]


def test_too_many_reasons() -> None:
    import pyarrow as pa

    column = pa.array([f"reason {number}" for number in range(21)])
    signals: Signals = {"reason": column, "error": pa.nulls(21, pa.string())}
    with pytest.raises(UserError, match="gives 21 reasons, more than 20"):
        DATATROVE.checks(signals, params("RegexFilter"))


def test_documents_that_were_not_measured_have_no_reason() -> None:
    import pyarrow as pa

    nulls = pa.nulls(2, pa.string())
    assert DATATROVE.checks({"reason": nulls, "error": nulls}, params("RegexFilter")) == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors() -> None:
    needs("GopherQualityFilter")
    without = {"min_doc_words": None, "min_avg_word_length": None, "max_avg_word_length": None}
    batch = Batch.of(Texts.from_strings(["fine word of the mill to be", ""]), ["a", "b"])
    with pytest.raises(UserError, match="datatrove's GopherQualityFilter raised ZeroDivisionError") as caught:
        edit(batch, params("GopherQualityFilter", without))
    assert 'document "b"' in str(caught.value.where)
    _, signals = edit(batch, params("GopherQualityFilter", without, on_error="drop"))
    assert signals["error"].to_pylist() == [None, "ZeroDivisionError"]


def test_a_filter_sees_id_and_carried_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    import datatrove.pipeline.filters as filters

    def keep(document: Any) -> tuple[bool, str]:
        return False, f"{document.id} {sorted(document.metadata.items())}"

    class SpyFilter(filters.RegexFilter):
        def __init__(self) -> None:
            super().__init__("x")

        filter = staticmethod(keep)

    monkeypatch.setattr(filters, "SpyFilter", SpyFilter, raising=False)
    batch = Batch.of(Texts.from_strings(["a", "b"]), ["1", None], {"url": ["u", None], "n": ["5", "true"]})
    _, signals = edit(batch, params("SpyFilter"))
    assert signals["reason"].to_pylist() == ["1 [('n', '5'), ('url', 'u')]", " [('n', 'true')]"]


# --- keys and planning --------------------------------------------------------------------------------------
def test_versions_are_in_the_key() -> None:
    needs("GopherQualityFilter")
    found = DATATROVE.depends(params("GopherQualityFilter"))
    assert found["unicode"] == unicodedata.unidata_version
    assert {"datatrove", "spacy"} <= set(found)
    assert set(DATATROVE.depends(params("RegexFilter"))) == {"unicode", "datatrove"}
    key = measuring_parameters(DATATROVE, params("RegexFilter", on_error="drop"))
    assert key == {
        "filter": "RegexFilter",
        "formatter": None,
        "extractor": None,
        "with": ARGUMENTS["RegexFilter"],
    }


def test_what_rewrites() -> None:
    rewriting = {name for name in classes.KNOWN if rewrites(DATATROVE, params(name))}
    assert rewriting == {
        "C4QualityFilter", "FastTextClassifierFilter", "FTFYFormatter", "PIIFormatter",
        "SymbolLinesFormatter", "Trafilatura",
    }  # fmt: skip
    assert rewrites(DATATROVE, params("SomeNewFilter"))
    batch = Batch.of(Texts.from_strings(["a"]))
    assert edit(batch, params("RegexFilter"))[0] is batch.texts


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "GopherQualtyFilter",
            {},
            'datatrove has no filter GopherQualtyFilter; did you mean "GopherQualityFilter"',
        ),
        ("FtfyFormatter", {}, 'did you mean "FTFYFormatter"'),
        ("RegexFilter", {}, "the argument regex_exp is missing"),
        ("RegexFilter", {"regex_exp": "("}, "RegexFilter does not take these arguments: .*unterminated"),
        ("GopherQualityFilter", {"min_words": 5}, 'unknown argument min_words; did you mean "min_doc_words"'),
        (
            "GopherQualityFilter",
            {"min_doc_words": "5"},
            'min_doc_words: expected a number, found the text "5"',
        ),
        ("GopherQualityFilter", {"min_doc_words": True}, "min_doc_words: expected a number, found true"),
        (
            "C4QualityFilter",
            {"min_num_sentences": None},
            "min_num_sentences: expected a number, found nothing",
        ),
        ("C4QualityFilter", {"remove_citations": 1}, "remove_citations: expected true or false"),
        (
            "GopherQualityFilter",
            {"exclusion_writer": None},
            "exclusion_writer is not taken: dropped documents",
        ),
        ("GopherQualityFilter", {"language": "klingon"}, "Language 'klingon' doesn't have a tokenizer"),
    ],
)
def test_planning_finds_what_is_wrong(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        DATATROVE.depends(params(name, arguments))
    assert caught.value.where == f"step datatrove, {kind_of(name)} {name}"


@pytest.mark.parametrize("name", classes.REFUSED)
def test_some_classes_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} cannot be a step: "):
        DATATROVE.depends(params(name))


def test_extractors_have_no_time_limit() -> None:
    needs("Trafilatura")
    with pytest.raises(UserError, match="timeout is not taken: "):
        DATATROVE.depends(params("Trafilatura", {"timeout": 5}))
    with pytest.raises(UserError, match='unknown argument favor_recal; did you mean "favor_recall"'):
        DATATROVE.depends(params("Trafilatura", {"favor_recal": True}))
    DATATROVE.depends(params("Trafilatura", {"favor_recall": True, "favour_precision": False}))


def test_a_splitter_that_fetches_models_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import datatrove.utils.word_tokenizers as splitters

    class StanzaTokenizer:
        pass

    monkeypatch.setattr(splitters, "load_word_tokenizer", lambda language: StanzaTokenizer())
    with pytest.raises(UserError, match="model that StanzaTokenizer fetches from the internet"):
        DATATROVE.depends(params("GopherQualityFilter", {"language": "af"}))


@pytest.mark.parametrize("missing", ["datatrove.pipeline.filters", "datatrove.utils.word_tokenizers"])
def test_packages_that_are_missing(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UserError, match="needs") as caught:
        DATATROVE.depends(params("GopherQualityFilter", {"min_doc_words": 77}))
    assert "pip install 'headrace[datatrove]'" in str(caught.value.hint)


def test_an_extractor_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    classes.check_class.cache_clear()
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(UserError, match="Trafilatura needs a package that is not installed") as caught:
        DATATROVE.depends(DatatroveParams(extractor="Trafilatura"))
    assert "pip install 'headrace[datatrove]'" in str(caught.value.hint)


def test_a_fasttext_model(tmp_path: Path) -> None:
    """Its bytes are in the key, and its answers are datatrove's."""
    fasttext = pytest.importorskip("fasttext")
    path = tmp_path / "model.bin"
    path.write_bytes(b"no model")
    arguments = {"model_url": str(path), "keep_labels": [["prose", 0.5]]}
    given = params("FastTextClassifierFilter", arguments)
    try:
        first = DATATROVE.depends(given)["model_url"]
    except UserError as error:
        pytest.skip(error.what)  # datatrove wants one of several packages of that name
    lines = "__label__prose the mill by the river\n__label__advert buy cheap pills now\n" * 50
    (tmp_path / "lines.txt").write_text(lines)
    options = {"epoch": 20, "lr": 0.1, "minCount": 1, "dim": 8, "thread": 1, "verbose": 0}
    for _ in range(9):  # some builds start from memory that is not cleared, and meet a NaN there
        with contextlib.suppress(RuntimeError):
            fasttext.train_supervised(str(tmp_path / "lines.txt"), **options).save_model(str(path))
            break
    assert DATATROVE.depends(given)["model_url"] != first

    from datatrove.data import Document
    from datatrove.pipeline.filters import FastTextClassifierFilter

    texts = ["the river and the mill", "cheap pills now", "nothing known", ""]
    original = FastTextClassifierFilter(str(path), keep_labels=[("prose", 0.5)])
    kept = [original.filter(Document(text=text, id="")) for text in texts]
    found, signals = edit(Batch.of(Texts.from_strings(texts)), given)
    assert found.to_strings() == texts
    assert signals["reason"].to_pylist() == [None if keeps else "dropped" for keeps in kept]
    path.unlink()
    with pytest.raises(UserError, match="cannot read the file"):
        DATATROVE.depends(given)


# --- in a recipe --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{}", "expected one of filter, formatter and extractor, found none of them"),
        ("{filter: A, extractor: B}", "found filter and extractor"),
        ("{filtre: A}", 'unknown parameter of datatrove; did you mean "filter"'),
        ("{filter: 5}", "filter: expected text"),
    ],
)
def test_wrong_entries(entry: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        recipe_with(f"- datatrove: {entry}")
    assert message in str(caught.value)


def test_a_class_may_come_several_times() -> None:
    recipe = recipe_with(
        """
        - datatrove: {filter: GopherQualityFilter, with: {min_doc_words: 20}}
        - datatrove: {filter: GopherRepetitionFilter}
        - datatrove: {formatter: FTFYFormatter, on_error: drop}
        """
    )
    assert [each.name for each in recipe.steps] == ["datatrove"] * 3
