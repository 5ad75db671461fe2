"""A corpus whose documents start with a begin-of-text token: the same texts, and every verb knows of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from dataprep.corpora.combining import combine
from dataprep.corpora.exporting import export
from dataprep.corpora.importing import import_corpus
from dataprep.corpora.peek import peek
from dataprep.tokenizers import describe
from manifests.corpus import open_corpus
from manifests.errors import UserError
from manifests.manifest import TokenizerInfo
from manifests.shard import ShardError
from manifests.verify import verify
from tests.dataprep.corpora.runs import TEXTS, make_run, spec_back
from tests.dataprep.corpora.test_exporting import rows_of
from tests.dataprep.corpora.test_importing import documents_in
from tests.dataprep.corpora.tokenfiles import with_bos_json
from tests.e2e.corpora import digests, document
from tests.e2e.test_cli_dataprep import dataprep

ENGINES = {"tokenizers": "tokenizers", "auto": "gigatoken"}
WHOLE = {"tokens": 1_000_000}
"""Shards so large that a token more in each document moves no document to another."""


def bos_id() -> int:
    found = describe(with_bos_json()).bos_id
    assert found is not None
    return found


def make(folder: Path, begins: bool, ends: bool, engine: str = "tokenizers", **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "begins.json").write_text(with_bos_json())
    tokenizer = {
        "file": str(folder / "begins.json"),
        "engine": engine,
        "append_eos": ends,
        "prepend_bos": begins,
    }
    return make_run(folder, tokenizer=tokenizer, **{"shards": WHOLE} | changes)


def info_of(made: Path) -> TokenizerInfo:
    return open_corpus(made).manifest.tokenizer


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ends", [True, False])
def test_tokens_differ_by_the_token_alone(ends: bool, engine: str, tmp_path: Path) -> None:
    plain = make(tmp_path / "plain", False, ends, engine)
    begun = make(tmp_path / "begun", True, ends, engine)
    infos = info_of(plain), info_of(begun)
    assert [info.prepend_bos for info in infos] == [False, True]
    assert {(info.append_eos, info.bos_id, info.engine) for info in infos} == {
        (ends, bos_id(), ENGINES[engine])
    }
    for source in TEXTS:
        for subset in ("train", "holdout"):
            wanted = documents_in(plain, source, subset)
            assert wanted
            assert documents_in(begun, source, subset) == [[bos_id(), *each] for each in wanted]
    report = verify(begun)
    assert report.ok and not report.warnings, report.problems
    assert open_corpus(plain).manifest.content_digest != open_corpus(begun).manifest.content_digest
    texts = []
    for made in (plain, begun):
        assert export(made, made.parent / "texts", "parquet").inexact == 0
        rows = rows_of(made.parent / "texts")
        texts.append({row["id"]: (row["text"], row["text_bytes"], row["content_hash"]) for row in rows})
        for row in rows:
            assert row["is_exact"]
    assert texts[0] == texts[1]
    assert texts[1]["web-7"][0] == TEXTS["web"][7]
    (shown,) = peek(begun, document="code-3")["documents"]
    assert shown["text"] == TEXTS["code"][3] and shown["is_exact"]
    assert shown["first_ids"][0] == bos_id()


def test_only_what_writes_tokens_runs_again(tmp_path: Path) -> None:
    """Both answers are in the work folder after that, so going back and forth runs nothing."""
    made = make(tmp_path, False, True)
    work = Path(f"{made}.work")
    before = {path.parent for path in work.rglob("receipt.json")}
    first = digests(made)
    make(tmp_path, True, True)
    new = {path.parent for path in work.rglob("receipt.json")} - before
    assert {path.parts[-3] for path in new} == {"write", "pack"}
    second = digests(made)
    assert first != second
    before |= new
    make(tmp_path, False, True)
    assert digests(made) == first
    assert {path.parent for path in work.rglob("receipt.json")} == before


def test_a_token_that_is_gone_is_found(tmp_path: Path) -> None:
    """Refused when the shard is opened, and named by `verify`."""
    made = make(tmp_path, True, True)
    corpus = open_corpus(made)
    (shard,) = corpus.shards_of("web", "train")
    path = made / f"{shard.name}.bin"
    tokens = np.fromfile(path, corpus.manifest.dtype)
    assert tokens[0] == bos_id()
    tokens[0] = 7
    path.unlink()  # it may be a second name of the file in the work folder
    tokens.tofile(path)
    with pytest.raises(
        ShardError, match=r"document 0 does not start with the begin-of-text token \d+, as the"
    ):
        open_corpus(made).reader(shard)
    problems = verify(made).problems
    assert [problem.file for problem in problems] == [f"{shard.name}.bin"]


@pytest.mark.parametrize("to", ["megatron", "datatrove", "olmo"])
def test_other_layouts_keep_it_and_bring_it_back(to: str, tmp_path: Path) -> None:
    made = make(tmp_path / "a", True, True)
    export(made, tmp_path / "out", to)
    if to == "olmo":
        note = yaml.safe_load((tmp_path / "out" / "dataset.yaml").read_text())
        assert note["bos_token_id"] == bos_id()
    back = import_corpus(spec_back(tmp_path / "out", to), tmp_path / "back").manifest
    assert back.tokenizer.prepend_bos and back.tokenizer.append_eos
    assert back.tokenizer.bos_id == bos_id()
    for source in TEXTS:
        assert documents_in(tmp_path / "back", source) == documents_in(made, source)
    # Texts and sizes are those of the run, from tokens alone.
    assert back.sources["web"].subsets == open_corpus(made).manifest.sources["web"].subsets


def test_corpora_that_differ_in_it_are_not_combined(tmp_path: Path) -> None:
    begun = make(tmp_path / "a", True, True)
    texts = {"pages": [f"Another page, number {number}." for number in range(30)]}
    for name, begins in (("same", True), ("other", False)):
        make(tmp_path / name, begins, True, name=name, texts=texts)
    combine([begun, tmp_path / "same" / "out"], tmp_path / "both", "both", "1.0.0")
    assert info_of(tmp_path / "both").prepend_bos and verify(tmp_path / "both").ok
    (shown,) = peek(tmp_path / "both", document="pages-4")["documents"]
    assert shown["text"] == texts["pages"][4]
    with pytest.raises(UserError, match=r"tokenizer.prepend_bos: True in made@1.0.0, False in other@1.0.0"):
        combine([begun, tmp_path / "other" / "out"], tmp_path / "x", "both", "1.0.0")


def test_a_cap_counts_it(tmp_path: Path) -> None:
    """`max_tokens` is of the tokens that are there to read, these included."""
    limit = 700
    held = {}
    for begins in (False, True):
        folder = tmp_path / str(begins)
        source = {"path": str(folder / "web.jsonl"), "id": "url", "max_tokens": limit}
        made = make(folder, begins, True, texts={"web": TEXTS["web"]}, sources={"web": source})
        train = open_corpus(made).manifest.sources["web"].subsets["train"]
        assert train.tokens <= limit
        held[begins] = train.documents
    assert held[True] < held[False]


@pytest.mark.slow
def test_a_built_corpus_is_checked_without_it(tmp_path: Path) -> None:
    texts = {"web": [document(f"web {number}") for number in range(20)]}
    lines = [json.dumps({"name": f"q{number}", "q": texts["web"][number]}) + "\n" for number in range(3)]
    (tmp_path / "quiz.jsonl").write_text("".join(lines))
    found = []
    for begins in (False, True):
        made = make(tmp_path / str(begins), begins, True, texts=texts)
        done = dataprep(
            "contamination", made, "--evals", tmp_path / "quiz.jsonl", "--field", "question=q",
            "--field", "id=name", "--json",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (line,) = json.loads(done.stdout)["sets"]
        assert line["contaminated"] == 3
        found.append(line)
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_sentencepiece_model_of_the_data_pack(data_pack: Path, tmp_path: Path) -> None:
    """Its `<s>` is a control piece, which no text gives."""
    pytest.importorskip("sentencepiece")
    model = data_pack / "tokenizers" / "mistral_v1_sp" / "tokenizer.model"
    if not model.is_file():
        pytest.skip("the data pack has no model")
    texts = {"web": ["<s> is text here.</s>", *TEXTS["web"][:20]]}
    made = {}
    for begins in (False, True):
        tokenizer = {"file": str(model), "prepend_bos": begins}
        made[begins] = make_run(tmp_path / str(begins), texts=texts, tokenizer=tokenizer, shards=WHOLE)
    info = info_of(made[True])
    assert (info.file, info.bos_id, info.prepend_bos) == ("tokenizer.model", 1, True)
    assert verify(made[True]).ok
    assert documents_in(made[True]) == [[1, *each] for each in documents_in(made[False])]
    assert all(each.count(1) == 1 for each in documents_in(made[True]))
    for begins, folder in made.items():
        assert export(folder, tmp_path / f"texts{begins}", "parquet").inexact == 0
        assert sorted(row["text"] for row in rows_of(tmp_path / f"texts{begins}")) == sorted(texts["web"])
