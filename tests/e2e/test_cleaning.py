"""Rewriting steps and a blocklist, through whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Texts
from dataprep.recipe import recipe_of
from dataprep.run import RunResult, run
from manifests.corpus import open_corpus
from manifests.errors import UserError

BODY = "A caf\u00c3\u00a9 stands at the corner of street {index}.[1]\nHome\n{index} likes\n"
TAIL = "Write to user{index}@mail.org or ask 8.8.4.{octet}, and come again.\n"
WANTED = (
    "A caf\u00e9 stands at the corner of street {index}.\nWrite to <EMAIL> or ask <IP>, and come again.\n"
)
COUNT = 60


def data_of(folder: Path, *steps: Any) -> dict[str, Any]:
    return {
        "corpus": "small",
        "version": "1.0.0",
        "sources": {
            "web": {"path": str(folder / "web.jsonl"), "text": "text", "id": "url", "carry": ["url"]},
        },
        "steps": list(steps),
        "holdout": {"documents": 0},
        "tokenizer": {"train": {"vocab_size": 300}, "engine": "tokenizers"},
        "output": str(folder / "out"),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = [
        {
            "text": (BODY + TAIL).format(index=index, octet=index + 1),
            "url": f"https://www.host-{index % 6}.example/{index}",
        }
        for index in range(COUNT)
    ]
    (tmp_path / "web.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return tmp_path


def go(folder: Path, *steps: Any) -> RunResult:
    return run(recipe_of(data_of(folder, *steps)), workers=0)


def documents_in(folder: Path) -> dict[str, bytes]:
    """Own id -> hash of the final text."""
    corpus = open_corpus(folder / "out")
    found = {}
    for shard in corpus.shards_of("web", "train"):
        table = pq.read_table(folder / "out" / f"{shard.name}.documents.parquet")
        found |= dict(zip(table["id"].to_pylist(), table["content_hash"].to_pylist(), strict=True))
    return found


def test_texts_are_cleaned_and_listed_sites_are_gone(folder: Path) -> None:
    pytest.importorskip("ftfy")
    (folder / "sites").write_text("# two of six hosts\nhost-1.example\n0.0.0.0 host-4.example\n")
    steps = [
        {"url_blocklist": {"site_lists": [str(folder / "sites")]}},
        {"ftfy": {}},
        {"boilerplate_lines": {}},
        {"pii": {"email_replacement": "<EMAIL>", "ipv4_replacement": "<IP>"}},
    ]
    result = go(folder, *steps)
    row = next(each for each in result.report["funnel"] if each["stage"] == "url_blocklist")
    assert row["dropped"] == {"url_domain": 20}
    found = documents_in(folder)
    wanted = {
        f"https://www.host-{index % 6}.example/{index}": WANTED.format(index=index)
        for index in range(COUNT)
        if index % 6 not in (1, 4)
    }
    assert sorted(found) == sorted(wanted)
    texts = Texts.from_strings([wanted[each] for each in found])
    hashes = hash128(texts.data, texts.offsets)
    assert list(found.values()) == [np.array(each, dtype=">u8").tobytes() for each in hashes]


def test_a_changed_list_measures_nothing_again(folder: Path) -> None:
    step = {"url_blocklist": {"site_lists": [str(folder / "sites")]}}
    (folder / "sites").write_text("host-1.example\nhost-4.example\n")
    go(folder, step)
    (folder / "sites").write_text("host-1.example\n")
    again = go(folder, step)
    assert "measure" not in again.tasks_run and len(documents_in(folder)) == 50


def test_a_blocklist_needs_the_field(folder: Path) -> None:
    with pytest.raises(UserError) as caught:
        go(folder, {"url_blocklist": {"sites": ["a.com"], "field": "link"}})
    assert "link" in str(caught.value) and "carry" in str(caught.value)


def test_a_list_that_is_missing_is_found_before_work_begins(folder: Path) -> None:
    with pytest.raises(UserError, match="cannot read a list"):
        go(folder, {"url_blocklist": {"site_lists": [str(folder / "absent")]}})
    assert not (folder / "out").exists()
