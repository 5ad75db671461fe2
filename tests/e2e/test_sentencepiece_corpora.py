"""A corpus whose tokenizer is a SentencePiece model: made, verified, looked into, exported, imported."""

from __future__ import annotations

import itertools
import re
from importlib.metadata import version
from pathlib import Path

import pytest
import zstandard

from dataprep.corpora.combining import combine
from dataprep.corpora.exporting import export
from dataprep.corpora.importing import import_corpus
from dataprep.corpora.peek import peek
from dataprep.corpora.spec import ImportSpec
from dataprep.recipe import recipe_of
from dataprep.stages.tokenizer import task_of
from manifests.corpus import open_corpus
from manifests.errors import UserError
from manifests.verify import verify
from tests.dataprep.corpora.runs import TEXTS, make_run
from tests.dataprep.corpora.test_exporting import rows_of
from tests.dataprep.tokenizers.models import BYTE_BPE, UNIGRAM, trained
from tests.e2e.corpora import digests

pytest.importorskip("sentencepiece")


def test_a_model_of_bytes(tmp_path: Path) -> None:
    model = trained(**BYTE_BPE)
    (tmp_path / "m.model.zst").write_bytes(zstandard.ZstdCompressor().compress(model))
    made = make_run(tmp_path, tokenizer={"file": str(tmp_path / "m.model.zst")})
    corpus = open_corpus(made)
    info = corpus.manifest.tokenizer
    assert (made / "tokenizer.model").read_bytes() == model and not (made / "tokenizer.json").exists()
    assert (info.file, info.engine, info.eos_id, info.bos_id) == ("tokenizer.model", "gigatoken", 2, 1)
    assert "gives the ids of sentencepiece" in info.engine_reason
    assert corpus.manifest.lineage.tools["sentencepiece"] == version("sentencepiece")
    verify(made)
    (shown,) = peek(made, document="web-7")["documents"]
    assert shown["text"] == TEXTS["web"][7]

    export(made, tmp_path / "texts", "parquet")
    rows = rows_of(tmp_path / "texts")
    assert sorted(row["text"] for row in rows) == sorted(itertools.chain(*TEXTS.values()))
    assert (tmp_path / "texts" / "tokenizer.model").read_bytes() == model

    export(made, tmp_path / "ds", "datatrove")
    assert (tmp_path / "ds" / "web-train-00000.ds.metadata").read_text().startswith("tokenizer.model|")
    spec = ImportSpec(
        "old", "1.0.0", tmp_path / "m.model.zst", {"web": [str(tmp_path / "ds" / "web-train-*.ds")]}
    )
    imported = import_corpus(spec, tmp_path / "imported")
    equal, tried = imported.reproduced["web"]
    assert equal == tried > 0
    assert open_corpus(tmp_path / "imported").manifest.tokenizer.file == "tokenizer.model"
    verify(tmp_path / "imported")
    with pytest.raises(UserError, match="these tokens are of another tokenizer"):
        other = trained(**BYTE_BPE | {"user_defined_symbols": "<one>,<more>"})
        (tmp_path / "other.model").write_bytes(other)
        import_corpus(
            ImportSpec("old", "1.0.0", tmp_path / "other.model", {"web": spec.train["web"]}), tmp_path / "x"
        )

    second = make_run(
        tmp_path / "b",
        "second",
        {"more": ["Another page of the mill.", "And one more."]},
        tokenizer={"file": str(tmp_path / "m.model.zst")},
        holdout={"documents": 0.0},
    )
    combine([made, second], tmp_path / "both", "both", "1.0.0")
    assert (tmp_path / "both" / "tokenizer.model").read_bytes() == model
    verify(tmp_path / "both")


def test_a_unigram_model_cannot_give_every_text_back(tmp_path: Path) -> None:
    (tmp_path / "m.model").write_bytes(trained(**UNIGRAM))
    made = make_run(tmp_path, tokenizer={"file": str(tmp_path / "m.model")})
    info = open_corpus(made).manifest.tokenizer
    assert info.engine == "sentencepiece" and "refuses it" in info.engine_reason
    verify(made)
    with pytest.raises(UserError, match="nmt_nfkc, extra spaces are removed"):
        export(made, tmp_path / "texts", "parquet")
    result = export(made, tmp_path / "texts", "parquet", approximate=True)
    assert result.inexact == result.documents == 100


def test_a_unigram_model_trained_by_the_recipe(tmp_path: Path) -> None:
    texts = {
        **TEXTS,
        "zh": [f"\u6c34\u8f66{number}\u8f6c\uff0c  \u78e8\u574a\u3002\n" for number in range(30)],
    }
    train = {"vocab_size": 340, "model": "unigram"}
    made = make_run(tmp_path, texts=texts, tokenizer={"train": train})
    manifest = open_corpus(made).manifest
    info = manifest.tokenizer
    assert (info.file, info.engine, info.vocab_size) == ("tokenizer.model", "sentencepiece", 340)
    assert (info.eos_id, info.bos_id, info.prepend_bos) == (1, None, False)
    assert 'refuses it: Unsupported model type "Unigram"' in info.engine_reason
    assert manifest.lineage.tools["sentencepiece"] == version("sentencepiece")
    assert verify(made).ok
    (shown,) = peek(made, document="zh-7")["documents"]
    assert shown["text"] == texts["zh"][7] and shown["is_exact"]
    assert export(made, tmp_path / "texts", "parquet").inexact == 0
    rows = rows_of(tmp_path / "texts")
    assert sorted(row["text"] for row in rows) == sorted(itertools.chain(*texts.values()))
    assert all(row["is_exact"] for row in rows)

    first, work = digests(made), Path(f"{made}.work")
    before = {path.parent for path in work.rglob("receipt.json")}
    make_run(tmp_path, texts=texts, tokenizer={"train": train})
    assert {path.parent for path in work.rglob("receipt.json")} == before
    backwards = {source: lines[::-1] for source, lines in texts.items()}
    other = make_run(tmp_path / "elsewhere", texts=backwards, tokenizer={"train": train})
    assert digests(other)["tokenizer.model"] == first["tokenizer.model"]

    begun = make_run(tmp_path, texts=texts, tokenizer={"train": train, "prepend_bos": True})
    info = open_corpus(begun).manifest.tokenizer
    assert (info.eos_id, info.bos_id, info.prepend_bos) == (1, 2, True)
    assert verify(begun).ok
    new = {path.parent for path in work.rglob("receipt.json")} - before
    assert {path.parts[-3] for path in new} == {"tokenizer", "write", "pack"}


def test_the_version_of_the_trainer_is_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"corpus": "c", "version": "1.0.0", "sources": {"a": {"path": "a"}}, "output": str(tmp_path)}
    keys = {}
    for model in ("bpe", "unigram"):
        recipe = recipe_of(data | {"tokenizer": {"train": {"vocab_size": 400, "model": model}}})
        keys[model] = task_of(recipe, []).key
        monkeypatch.setattr("dataprep.stages.tokenizer.version", lambda name: f"{version(name)}.{name}")
        keys[f"{model}, other"] = task_of(recipe, []).key
        monkeypatch.setattr(
            "dataprep.stages.tokenizer.version",
            lambda name: version(name) + ("9" if name == "sentencepiece" else ""),
        )
        keys[f"{model}, other sentencepiece"] = task_of(recipe, []).key
        monkeypatch.undo()
    assert keys["bpe"] == keys["bpe, other sentencepiece"] != keys["bpe, other"]
    assert len({key for name, key in keys.items() if name.startswith("unigram")}) == 3


def test_another_kind_in_the_same_folder(tmp_path: Path) -> None:
    made = make_run(tmp_path)
    kept = (made / "tokenizer.json").read_bytes()
    (tmp_path / "m.model").write_bytes(trained(**BYTE_BPE))
    make_run(tmp_path, tokenizer={"file": str(tmp_path / "m.model"), "engine": "sentencepiece"})
    assert not (made / "tokenizer.json").exists()
    assert open_corpus(made).manifest.tokenizer.engine_reason == "the recipe asks for it"
    make_run(tmp_path)
    assert (made / "tokenizer.json").read_bytes() == kept and not (made / "tokenizer.model").exists()


def test_preflight_names_what_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "m.model").write_bytes(trained(**BYTE_BPE))
    with pytest.raises(UserError, match=r"tokenizers cannot encode with .*; its reference is sentencepiece"):
        make_run(tmp_path, tokenizer={"file": str(tmp_path / "m.model"), "engine": "tokenizers"})
    with pytest.raises(UserError, match="sentencepiece cannot encode with what is trained here"):
        make_run(tmp_path, tokenizer={"train": {"vocab_size": 300}, "engine": "sentencepiece"})
    unigram = {"vocab_size": 258, "model": "unigram"}
    with pytest.raises(UserError) as error:
        make_run(tmp_path, tokenizer={"train": unigram, "engine": "tokenizers"})
    assert re.search(
        r"yaml:\d+: tokenizer.engine: tokenizers cannot encode .*sentencepiece$", str(error.value), re.M
    )
    assert re.search(r"yaml:\d+: tokenizer.train.vocab_size: a Unigram .* needs 259 ids", str(error.value))
    (tmp_path / "bad.model").write_bytes(b"\n\x03abc")
    with pytest.raises(UserError, match="not a SentencePiece model"):
        make_run(tmp_path, tokenizer={"file": str(tmp_path / "bad.model")})
    (tmp_path / "mine.tiktoken").write_bytes(b"AA== 0\n")
    with pytest.raises(UserError, match="don't say how text is cut"):
        make_run(tmp_path, tokenizer={"file": str(tmp_path / "mine.tiktoken")})


def test_preflight_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.model").write_bytes(trained(**BYTE_BPE))
    monkeypatch.setattr("dataprep.preflight.checks.importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"SentencePiece model: pip install 'headrace\[sentencepiece\]'"):
        make_run(tmp_path, tokenizer={"file": str(tmp_path / "m.model")})
    trains = r"yaml:\d+: tokenizer.train.model: .*: pip install 'headrace\[sentencepiece\]'"
    with pytest.raises(UserError, match=trains):
        make_run(tmp_path, tokenizer={"train": {"vocab_size": 400, "model": "unigram"}})
