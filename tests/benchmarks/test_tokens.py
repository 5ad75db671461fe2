"""The contestants of `tokens` do the same work: documents and ids agree before speed is compared."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks import token_peers
from benchmarks.shards import write_shards
from benchmarks.tokens import save_documents
from dataprep.tokenizers import Encoder, describe, strip_special, train_bpe
from manifests.shard import ShardReader

TEXTS = ["the water runs to the wheel", "das Rad läuft", "水は流れる", "the wheel turns the stone " * 40, "a"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    path.write_text(train_bpe(TEXTS, 300), encoding="utf-8")
    return path


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    save_documents(tmp_path / "documents.jsonl", TEXTS)
    return tmp_path / "documents.jsonl"


def ours(documents: Path, tokenizer: Path, folder: Path) -> ShardReader:
    definition = tokenizer.read_text(encoding="utf-8")
    encoder = Encoder(strip_special(definition, "text"), "tokenizers", describe(definition).eos_id)
    seconds = write_shards(encoder, documents, folder, np.dtype("uint16"))
    assert set(seconds) == {"read", "encode", "run", "shards"}
    return ShardReader(folder / "shard-00000")


def test_shards_hold_every_document(documents: Path, tokenizer: Path, tmp_path: Path) -> None:
    shard = ours(documents, tokenizer, tmp_path / "ours")
    assert shard.num_documents == len(TEXTS)
    assert shard.num_tokens == sum(shard.lengths)
    assert (tmp_path / "ours" / "shard-00000.documents.parquet").is_file()
    assert (tmp_path / "ours" / "shard-00000.blocks").is_file()


@pytest.mark.slow
def test_the_path_of_megatron_gives_the_same_documents(
    documents: Path, tokenizer: Path, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its optional parts
        pytest.importorskip("megatron.core.datasets.indexed_dataset")
    shard = ours(documents, tokenizer, tmp_path / "ours")
    token_peers.megatron(documents, tokenizer.read_text(encoding="utf-8"), tmp_path / "theirs")()
    theirs = ShardReader(tmp_path / "theirs" / "documents_text_document")
    found = sorted(shard.document(index).tolist() for index in range(shard.num_documents))
    assert found == sorted(theirs.document(index).tolist() for index in range(theirs.num_documents))


def test_peers_that_are_not_installed_are_left_out(
    documents: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_peers, "find_spec", lambda name: None)
    monkeypatch.setattr(token_peers.peers, "find_spec", lambda name: None)
    found = token_peers.token_peers(documents, tokenizer, tmp_path)
    assert list(found) == ["tokenizers"]
    found["tokenizers"]()
