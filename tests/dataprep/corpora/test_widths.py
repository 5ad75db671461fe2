"""Vocabularies around the borders of the dtypes, from text to shard and back, the greatest id included."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dataprep.corpora.exporting import export
from dataprep.corpora.importing import import_corpus
from dataprep.corpora.spec import ImportSpec
from manifests.corpus import open_corpus
from manifests.verify import verify
from tests.dataprep.corpora import tokenfiles as files
from tests.dataprep.corpora.runs import make_run

LAST = "@greatest@"


def widened(vocab_size: int) -> str:
    """The tokenizer of the other tests with ids that no text has, and a greatest one that some texts have."""
    config = json.loads(files.tokenizer_json())
    vocab = config["model"]["vocab"]
    first = max(max(vocab.values()), *(token["id"] for token in config["added_tokens"])) + 1
    vocab |= {f"unused {number}": number for number in range(first, vocab_size - 1)}
    token = config["added_tokens"][0] | {"id": vocab_size - 1, "content": LAST, "special": False}
    config["added_tokens"].append(token)
    return json.dumps(config)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vocab_size", "dtype"),
    [(65_499, "uint16"), (65_500, "int32"), (65_535, "int32"), (65_536, "int32"), (70_000, "int32")],
)
def test_a_text_with_the_greatest_id(vocab_size: int, dtype: str, tmp_path: Path) -> None:
    (tmp_path / "wide.json").write_text(widened(vocab_size))
    texts = [f"{LAST} and {LAST}, number {number}" for number in range(30)]
    tokenizer = {"file": str(tmp_path / "wide.json"), "engine": "tokenizers"}
    made = make_run(tmp_path / "run", texts={"web": texts}, tokenizer=tokenizer)
    manifest = open_corpus(made).manifest
    assert (manifest.dtype, manifest.tokenizer.vocab_size) == (dtype, vocab_size)
    assert {shard.max_token_id for shard in open_corpus(made).shards} == {vocab_size - 1}
    assert verify(made).ok
    # Out again, as tokens and in again, and as texts.
    export(made, tmp_path / "theirs", "megatron")
    spec = ImportSpec(
        "back", "1.0.0", tmp_path / "wide.json", {"web": [str(tmp_path / "theirs" / "web-train-*.bin")]}
    )
    assert import_corpus(spec, tmp_path / "back").manifest.dtype == dtype
    for folder in (made, tmp_path / "back"):
        export(folder, tmp_path / f"{folder.name}-texts", "parquet")
        tables = (tmp_path / f"{folder.name}-texts").glob("web-train-*.parquet")
        found = [text for path in tables for text in pq.read_table(path).column("text").to_pylist()]
        assert len(found) >= 20 and set(found) <= set(texts)
