"""One manifest over the shards of several corpora."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dataprep.corpora.combining import combine
from dataprep.corpora.compare import compare
from dataprep.corpora.exporting import export
from dataprep.corpora.lineage import lineage
from dataprep.corpora.peek import peek
from manifests.checked import unchecked
from manifests.corpus import open_corpus
from manifests.errors import UserError
from manifests.fingerprint import digest_file
from manifests.lists import read_input_list
from manifests.manifest import CheckedSet
from manifests.seal import seal_corpus
from manifests.shard import table_path
from manifests.tables import read_document_table
from manifests.verify import verify
from tests.dataprep.corpora import tokenfiles as files
from tests.dataprep.corpora.runs import make_run
from tests.dataprep.corpora.test_importing import bring_in, documents_in

OTHER = {"web": [f"Another page, number {number}, of the valley." for number in range(30)]}


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("other"), "other", OTHER, seed=6)


def test_two_runs(made: Path, other: Path, tmp_path: Path) -> None:
    result = combine([made, other], tmp_path / "out", "both", "2.0.0", {"other/web": "pages"})
    assert verify(tmp_path / "out").ok and result.notes == []
    corpus = open_corpus(tmp_path / "out")
    a, b = open_corpus(made), open_corpus(other)
    assert list(corpus.manifest.sources) == ["web", "code", "pages"]
    for name, parent, source in (("web", made, "web"), ("code", made, "code"), ("pages", other, "web")):
        for subset in ("train", "holdout"):
            assert documents_in(tmp_path / "out", name, subset) == documents_in(parent, source, subset)
    for shard in b.shards:  # tokens are linked, and the table of a renamed source names it
        mine = tmp_path / "out" / shard.name.replace("web-", "pages-")
        for suffix in (".bin", ".idx", ".blocks"):
            assert os.path.samefile(f"{mine}{suffix}", f"{b.prefix(shard)}{suffix}")
        before = read_document_table(table_path(b.prefix(shard))).drop_columns("source")
        after = read_document_table(table_path(mine))
        assert set(after.column("source").to_pylist()) == {"pages"}
        assert after.drop_columns("source").equals(before)
    assert corpus.manifest.lineage.parents == [
        f"made@1.0.0 {a.manifest.content_digest}",
        f"other@1.0.0 {b.manifest.content_digest}",
    ]
    steps = [(step.name, step.sources, step.documents_in) for step in corpus.manifest.lineage.steps]
    assert steps == [
        ("exact_dedup", ["web", "code"], {"web": 60, "code": 40}),
        ("exact_dedup", ["pages"], {"pages": 30}),
    ]
    inputs = read_input_list(tmp_path / "out" / "inputs.parquet")
    assert [(entry.source, entry.name) for entry in inputs] == [
        ("web", "web.jsonl"),
        ("code", "code.jsonl"),
        ("pages", "web.jsonl"),
    ]
    # Lineage goes on through the combination, and so do texts.
    assert lineage(tmp_path / "out")["parents"] == corpus.manifest.lineage.parents
    found = peek(tmp_path / "out", document="web-3", source="pages")
    assert found["documents"][0]["text"] == OTHER["web"][3]


def test_the_same_parents_give_the_same_bytes(made: Path, other: Path, tmp_path: Path) -> None:
    digests = {
        combine(
            [made, other], tmp_path / link, "both", "1.0.0", {"other/web": "p"}, link
        ).manifest.manifest_digest
        for link in ("hard", "symbolic", "copy")
    }
    assert len(digests) == 1


def with_evals(folder: Path, target: Path, **changes: object) -> Path:
    """A copy of a corpus that says it was checked against an evaluation set."""
    shutil.copytree(folder, target)
    corpus = open_corpus(target)
    checked = CheckedSet(
        name="quiz.jsonl",
        digest="sha256:" + "a" * 64,
        definition="longest",
        action="drop",
        sources=None,
        examples=10,
        contaminated=2,
        documents=3,
    ).model_copy(update=changes)
    lineage = corpus.manifest.lineage.model_copy(update={"evals": [checked]})
    seal_corpus(target, corpus.manifest.model_copy(update={"lineage": lineage}), corpus.shards)
    return target


def test_what_parents_were_checked_against(made: Path, other: Path, tmp_path: Path) -> None:
    """An evaluation set counts for the whole only where every source was checked, by whichever parent."""
    quiz = tmp_path / "quiz.jsonl"
    quiz.write_text("{}")
    digest = digest_file(quiz).digest
    a = with_evals(made, tmp_path / "a", digest=digest, sources=["web", "code"])
    b = with_evals(other, tmp_path / "b", digest=digest, definition="datatrove")
    for parents, missing in (([a, b], False), ([a, other], True), ([made, b], True)):
        out = tmp_path / f"out-{missing}-{parents[0].name}"
        combined = combine(parents, out, "both", "1.0.0", {"other/web": "pages"})
        assert bool(unchecked([combined.manifest], quiz)) == missing
    evals = [(each.definition, each.sources, each.documents) for each in combined.manifest.lineage.evals]
    assert evals == [("datatrove", ["pages"], 3)]
    (tmp_path / "cards").mkdir()
    export(a, tmp_path / "cards" / "a", "huggingface")
    card = (tmp_path / "cards" / "a" / "README.md").read_text()
    assert "| quiz.jsonl | longest | drop | web, code | 10 | 2 |" in card
    changed = compare(made, a)["evals"]
    assert {"field": "quiz.jsonl.0.definition", "left": None, "right": "longest"} in changed


def test_clashing_names(made: Path, other: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a source of the same name") as caught:
        combine([made, other], tmp_path / "out", "both", "1.0.0")
    assert "web: made@1.0.0, other@1.0.0" in caught.value.what
    assert caught.value.hint == "--rename other/web=another-name"
    with pytest.raises(UserError, match="there is no source other/wbe to rename"):
        combine([made, other], tmp_path / "out", "both", "1.0.0", {"other/wbe": "x"})
    with pytest.raises(UserError, match="two or more"):
        combine([made], tmp_path / "out", "both", "1.0.0")
    assert not (tmp_path / "out").exists()


def test_tokenizers_must_agree(made: Path, tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    tokenizer = {"train": {"vocab_size": 300}, "append_eos": False}
    other = make_run(tmp_path / "two", "two", OTHER, tokenizer=tokenizer)
    with pytest.raises(UserError, match="mean different things") as caught:
        combine([made, other], tmp_path / "out", "both", "1.0.0", {"two/web": "two"})
    assert "tokenizer.digest" in caught.value.what and "tokenizer.append_eos" in caught.value.what


def test_held_out_stays_held_out(made: Path, tmp_path: Path) -> None:
    """The documents that `made` holds out, trained on by another."""
    held = [row["text"] for row in (peek(made, shard="web-holdout-00000", row=0)["documents"])]
    other = make_run(
        tmp_path / "other", "other", {"pages": [*OTHER["web"], *held]}, holdout={"documents": 0.01}
    )
    with pytest.raises(UserError, match="documents that one corpus holds out") as caught:
        combine([made, other], tmp_path / "out", "both", "1.0.0")
    assert "other@1.0.0 pages, pages-train-0000" in caught.value.what and "pages-30" in caught.value.what
    assert not (tmp_path / "out").exists()


def test_an_import_is_compared_by_text(made: Path, tmp_path: Path) -> None:
    held = documents_in(made, "web", "holdout")[0]
    bring_in(tmp_path, files.write_megatron(tmp_path / "a", [files.encoded()[0], held]))
    with pytest.raises(UserError, match=r"there@1\.0\.0 there, there-train-00000|there@1"):
        combine([made, tmp_path / "out"], tmp_path / "both", "both", "1.0.0", {"there/web": "there"})
    bring_in_other = tmp_path / "fine"
    bring_in_other.mkdir()
    bring_in(bring_in_other, files.write_megatron(bring_in_other / "a", files.encoded()))
    result = combine(
        [made, bring_in_other / "out"], tmp_path / "both", "both", "1.0.0", {"there/web": "there"}
    )
    assert result.manifest.sources["there"].order == "stored" and verify(tmp_path / "both").ok
