"""What is exported is what was tokenized; and every layout that is exported is imported again, token for
token."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from dataprep.corpora.exporting import TARGETS, TEXT_SCHEMA, export
from dataprep.corpora.importing import import_corpus
from dataprep.corpora.spec import ImportSpec
from manifests.corpus import open_corpus
from manifests.errors import UserError
from tests.dataprep.corpora import tokenfiles as files
from tests.dataprep.corpora.runs import TEXTS, make_run, spec_back
from tests.dataprep.corpora.test_importing import documents_in


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.rglob("*.parquet")) for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("to", ["parquet", "huggingface"])
def test_texts_are_exact(to: str, made: Path, tmp_path: Path) -> None:
    result = export(made, tmp_path / "out", to, workers=2)
    rows = rows_of(tmp_path / "out")
    assert sorted((row["source"], row["text"]) for row in rows) == sorted(
        (source, text) for source, texts in TEXTS.items() for text in texts
    )
    assert all(row["is_exact"] for row in rows) and result.inexact == 0
    assert result.documents == len(rows) == 100
    for row in rows:
        number = int(row["id"].rpartition("-")[2])
        assert TEXTS[row["source"]][number] == row["text"]
        assert row["fields"] == [{"key": "url", "value": row["id"]}]
        assert row["text_bytes"] == len(row["text"].encode()) and row["path"] == f"{row['source']}.jsonl"
    assert (tmp_path / "out" / "tokenizer.json").read_text() == files.tokenizer_json()
    paths = list((tmp_path / "out").rglob("*.parquet"))
    assert all(pq.read_schema(path).names == TEXT_SCHEMA.names for path in paths)


def test_the_same_bytes_for_any_number_of_workers(made: Path, tmp_path: Path) -> None:
    for workers in (1, 3):
        export(made, tmp_path / str(workers), "huggingface", workers=workers)
    for path in (tmp_path / "1").rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "3" / path.relative_to(tmp_path / "1")).read_bytes()


def test_the_card(made: Path, tmp_path: Path) -> None:
    export(made, tmp_path / "out", "huggingface")
    text = (tmp_path / "out" / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    data = yaml.safe_load(front)
    assert data["license"] == "cc0-1.0" and data["size_categories"] == ["n<1K"]
    names = [config["config_name"] for config in data["configs"]]
    assert names == ["default", "web", "code"]
    for config in data["configs"]:
        assert [each["split"] for each in config["data_files"]] == ["train", "holdout"]
        for each in config["data_files"]:
            assert list((tmp_path / "out").glob(each["path"]))
    corpus = open_corpus(made)
    train = corpus.manifest.sources["web"].subsets["train"]
    assert f"| web | train | {train.documents} | {train.tokens:,} | {train.text_bytes:,} | CC0-1.0 |" in body
    assert "| exact_dedup | web | 60 | 60 | none |" in body
    assert "This corpus was not checked against evaluation sets." in body
    assert corpus.manifest.content_digest in body


@pytest.mark.parametrize("to", ["olmo", "datatrove", "megatron"])
def test_tokens_come_back(to: str, made: Path, tmp_path: Path) -> None:
    """Exported, then imported by the layout's own reader."""
    result = export(made, tmp_path / "out", to)
    corpus = open_corpus(made)
    suffix = {"olmo": ".npy", "datatrove": ".ds", "megatron": ".bin"}[to]
    for shard in corpus.shards:
        assert os.path.samefile(
            corpus.prefix(shard).with_suffix(".bin"), tmp_path / "out" / (shard.name + suffix)
        )
    back = import_corpus(spec_back(tmp_path / "out", to), tmp_path / "back")
    assert back.manifest.tokenizer.append_eos and result.inexact == 0
    for source in TEXTS:
        for subset in ("train", "holdout"):
            assert documents_in(tmp_path / "back", source, subset) == documents_in(made, source, subset)
    # Texts, hashes and sizes are those of the run, from tokens alone.
    assert back.manifest.sources["web"].subsets == corpus.manifest.sources["web"].subsets


def test_notes_beside_the_tokens(made: Path, tmp_path: Path) -> None:
    export(made, tmp_path / "olmo", "olmo")
    note = yaml.safe_load((tmp_path / "olmo" / "dataset.yaml").read_text())
    assert note["dtype"] == "uint16" and note["eos_token_id"] == files.eos_id()
    assert all((tmp_path / "olmo" / name).is_file() for name in note["paths"] + note["holdout_paths"])
    export(made, tmp_path / "megatron", "megatron")
    blend = (tmp_path / "megatron" / "train_data_path.txt").read_text().split()
    corpus = open_corpus(made)
    assert sum(map(int, blend[::2])) == sum(
        corpus.num_tokens(source, "train") for source in corpus.manifest.sources
    )
    assert all((tmp_path / "megatron" / f"{name}.idx").is_file() for name in blend[1::2])


def test_a_tokenizer_that_rewrites_is_not_exact(tmp_path: Path) -> None:
    """NFC makes e and a combining accent one letter, so the text that was read is gone."""
    texts = {"web": ["plain", "cafe\u0301", "more"]}
    config = json.loads(files.tokenizer_json())
    config["normalizer"] = {"type": "NFC"}
    (tmp_path / "nfc.json").write_text(json.dumps(config))
    made = make_run(
        tmp_path, "nfc", texts, tokenizer={"file": str(tmp_path / "nfc.json"), "engine": "tokenizers"}
    )
    with pytest.raises(UserError, match="does not give back the text of web-1") as caught:
        export(made, tmp_path / "texts", "parquet")
    assert "it rewrites texts (NFC)" in caught.value.what and not (tmp_path / "texts").exists()
    result = export(made, tmp_path / "texts", "huggingface", approximate=True)
    assert result.inexact == 1
    rows = {row["id"]: (row["text"], row["is_exact"]) for row in rows_of(tmp_path / "texts")}
    assert rows["web-1"] == ("caf\u00e9", False) and rows["web-0"] == ("plain", True)
    assert "1 of them are not known to be exactly" in (tmp_path / "texts" / "README.md").read_text()


def test_a_document_that_was_cut_inside_a_character(tmp_path: Path) -> None:
    tokenizer = files.write_tokenizer(tmp_path)
    (ids,) = files.encoded(["\u9b31"], eos=False)
    path = files.write_megatron(tmp_path / "a", [ids, ids[:1]])
    import_corpus(ImportSpec("c", "1.0.0", tokenizer, {"web": [str(path)]}), tmp_path / "c")
    with pytest.raises(UserError, match="position 1"):
        export(tmp_path / "c", tmp_path / "texts", "parquet")
    export(tmp_path / "c", tmp_path / "texts", "parquet", approximate=True)
    assert [(row["text"], row["is_exact"]) for row in rows_of(tmp_path / "texts")] == [
        ("\u9b31", True),
        ("\ufffd", False),
    ]


def test_what_is_refused(made: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no layout csv") as caught:
        export(made, tmp_path / "out", "csv")
    assert caught.value.hint == f"there are {', '.join(TARGETS)}"
    (tmp_path / "x").write_text("")
    with pytest.raises(UserError, match="not empty"):
        export(made, tmp_path, "parquet")


def test_an_export_of_wide_tokens(tmp_path: Path) -> None:
    tokenizer = files.write_tokenizer(tmp_path)
    path = files.write_megatron(tmp_path / "a", files.encoded(), "int32")
    import_corpus(ImportSpec("c", "1.0.0", tokenizer, {"web": [str(path)]}), tmp_path / "c")
    export(tmp_path / "c", tmp_path / "ds", "datatrove")
    tokens = np.fromfile(tmp_path / "ds" / "web-train-00000.ds", "<u4")
    assert tokens.tolist() == files.flat(files.encoded())
    assert (tmp_path / "ds" / "web-train-00000.ds.metadata").read_text().startswith("tokenizer.json|4\n")
