"""Tokens whose texts are not known: a vocabulary that is not made of bytes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from dataprep.corpora.combining import combine
from dataprep.corpora.compare import compare
from dataprep.corpora.exporting import export
from dataprep.corpora.importing import import_corpus
from dataprep.corpora.peek import peek
from dataprep.corpora.spec import ImportSpec
from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Texts
from manifests.shard import table_path
from manifests.tables import read_document_table
from manifests.verify import verify
from tests.dataprep.corpora import tokenfiles as files

WORDS = ["[UNK]", "the", "river", "mill", "turns", "<|endoftext|>"]
DOCUMENTS = [[1, 2, 4, 5], [1, 3, 5], [2, 0, 5], [1, 2, 4, 5]]


@pytest.fixture
def spec(tmp_path: Path) -> ImportSpec:
    tokenizer = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.save(str(tmp_path / "words.json"))
    path = files.write_megatron(tmp_path / "a", DOCUMENTS)
    return ImportSpec("words", "1.0.0", tmp_path / "words.json", {"web": [str(path)]})


def test_it_is_hashed_by_tokens(spec: ImportSpec, tmp_path: Path) -> None:
    made = import_corpus(spec, tmp_path / "out")
    source = made.manifest.sources["web"]
    assert source.content_hash == "tokens" and source.subsets["train"].text_bytes == 0
    assert verify(tmp_path / "out").ok
    table = read_document_table(table_path(tmp_path / "out" / "web-train-00000"))
    stored = Texts.from_bytes([np.array(document, "<u2").tobytes() for document in DOCUMENTS])
    hashes = hash128(stored.data, stored.offsets).astype(">u8").tobytes()
    assert b"".join(table.column("content_hash").to_pylist()) == hashes


def test_peek_and_export_say_that_it_is_not_exact(spec: ImportSpec, tmp_path: Path) -> None:
    import_corpus(spec, tmp_path / "out")
    (found,) = peek(tmp_path / "out", shard="0", row=1)["documents"]
    assert found["text"] == "the mill" and not found["is_exact"] and found["content_hash_of"] == "tokens"
    from manifests.errors import UserError

    with pytest.raises(UserError, match="the corpus was imported without its texts"):
        export(tmp_path / "out", tmp_path / "texts", "parquet")
    assert export(tmp_path / "out", tmp_path / "texts", "parquet", approximate=True).inexact == 4
    rows = pq.read_table(tmp_path / "texts" / "web-train-00000.parquet").column("text").to_pylist()
    assert rows == ["the river turns", "the mill", "river [UNK]", "the river turns"]


def test_two_of_the_kind_are_compared(spec: ImportSpec, tmp_path: Path) -> None:
    import_corpus(spec, tmp_path / "a-out")
    path = files.write_megatron(tmp_path / "b", [*DOCUMENTS[:2], [4, 5]])
    import_corpus(dataclasses.replace(spec, train={"web": [str(path)]}, version="2.0.0"), tmp_path / "b-out")
    (found,) = compare(tmp_path / "a-out", tmp_path / "b-out")["sources"]
    assert {name: found["documents"][name] for name in ("same", "removed", "added")} == {
        "same": 2,
        "removed": 2,
        "added": 1,
    }
    # Of a document that is there twice and then once, the last one was removed.
    assert [row["position"] for row in found["documents"]["removed_shown"]] == [2, 3]


def test_the_other_kind_is_not_compared(spec: ImportSpec, tmp_path: Path) -> None:
    """The same tokenizer but for how it decodes: texts of one corpus are known, those of the other not."""
    known = files.write_tokenizer(tmp_path)
    path = files.write_megatron(tmp_path / "known", files.encoded())
    import_corpus(ImportSpec("known", "1.0.0", known, {"web": [str(path)]}), tmp_path / "k-out")
    config = json.loads(known.read_text()) | {"decoder": None}
    (tmp_path / "unknown.json").write_text(json.dumps(config))
    other = ImportSpec("unknown", "1.0.0", tmp_path / "unknown.json", {"web": [str(path)]})
    import_corpus(other, tmp_path / "u-out")
    (found,) = compare(tmp_path / "k-out", tmp_path / "u-out")["sources"]
    assert found["documents"] is None
    manifest = (tmp_path / "u-out" / "manifest.json").read_text()
    assert '"content_hash": "tokens"' in manifest and spec.corpus == "words"


def test_combining_says_what_was_not_compared(tmp_path: Path) -> None:
    from manifests.fingerprint import digest_file
    from manifests.seal import seal_corpus
    from manifests.store import open_corpus

    known = files.write_tokenizer(tmp_path)
    for name in ("a", "b"):
        path = files.write_megatron(tmp_path / name, files.encoded())
        import_corpus(ImportSpec(name, "1.0.0", known, {name: [str(path)]}), tmp_path / f"{name}-out")
    corpus = open_corpus(tmp_path / "b-out")  # as a tokenizer that cannot decode would have left it
    sources = {"b": corpus.manifest.sources["b"].model_copy(update={"content_hash": "tokens"})}
    seal_corpus(corpus.folder, corpus.manifest.model_copy(update={"sources": sources}), corpus.shards)
    result = combine([tmp_path / "a-out", tmp_path / "b-out"], tmp_path / "both", "both", "1.0.0")
    assert result.notes == [
        "b: hashed by tokens, so held-out documents were not compared with those of the rest"
    ]
    assert digest_file(tmp_path / "both" / "tokenizer.json").digest == corpus.manifest.tokenizer.digest
