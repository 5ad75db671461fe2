"""`dataprep run` from raw files to shards, in one process: what comes out, and what a second run does."""

from __future__ import annotations

import json
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dataprep.explain_plan import plan_recipe
from dataprep.report.html import encode_html
from dataprep.run import run
from dataprep.stages import write
from dataprep.tokenizers import Encoder
from manifests.errors import UserError
from manifests.store import open_corpus
from manifests.verify import verify
from tests.e2e.corpora import STAMP, again, books, digests, document, make_recipe, recipe_data, write_inputs
from tests.e2e.stamped import stamp


def plan(folder: Path, **changes: Any) -> dict[str, Any]:
    result = plan_recipe(make_recipe(folder, **changes))
    return {each["stage"]: each for each in result["stages"]} | {"first": result["first"]}


def test_every_document_is_kept_or_dropped_for_a_reason(snapshot: Path) -> None:
    report = json.loads((snapshot / "out" / "report.json").read_text())
    rows = report["funnel"]
    for before, after in pairwise(rows):
        if before["source"] != after["source"]:
            continue
        if after["stage"] == "holdout":
            train = rows[rows.index(after) + 1]
            assert before["documents"] == after["documents"] + train["documents"]
        elif after["stage"] != "train":
            assert before["documents"] == after["documents"] + sum(after["dropped"].values())
    read = {row["source"]: row["documents"] for row in rows if row["stage"] == "read"}
    assert read == {"web": 60, "books": 14, "notes": 20}
    dropped = {(row["source"], row["stage"]): row["dropped"] for row in rows if row["dropped"]}
    assert dropped[("web", "exact_dedup")] == {"exact_dedup": 5}
    assert dropped[("books", "exact_dedup")] == {
        "exact_dedup": 1
    }  # the copy of a web document: web ranks first
    assert dropped[("books", "gopher_quality")] == {"gopher_short_doc": 1}


def test_shards_hold_the_texts_in_key_order_with_provenance(snapshot: Path) -> None:
    from tokenizers import Tokenizer

    corpus = open_corpus(snapshot / "out")
    tokenizer = Tokenizer.from_file(str(snapshot / "out" / "tokenizer.json"))
    originals = {document(f"web {index}") for index in range(55)}
    originals |= set(books()[2:])
    originals |= {stamp(document(f"note {index}", 6)) for index in range(20)}
    found = []
    for shard in corpus.shards:
        reader = corpus.reader(shard)
        table = pq.read_table(snapshot / "out" / f"{shard.name}.documents.parquet")
        keys = [key.as_py() for key in table.column("key")]
        assert keys == sorted(keys)
        assert table.column("token_start").to_pylist() == reader.offsets[:-1].tolist()
        for index in range(reader.num_documents):
            tokens = reader.document(index)
            assert tokens[-1] == corpus.manifest.tokenizer.eos_id
            text = tokenizer.decode(tokens[:-1].tolist(), skip_special_tokens=False)
            assert len(text.encode()) == table.column("text_bytes")[index].as_py()
            found.append(text)
    assert len(found) == len(set(found)) == len(originals)
    assert set(found) == originals
    web = [shard for shard in corpus.shards if shard.source == "web"]
    ids = pq.read_table(snapshot / "out" / f"{web[0].name}.documents.parquet").column("id").to_pylist()
    assert all(name.startswith("u") for name in ids)


def test_verify_finds_nothing_wrong_and_counts_agree(snapshot: Path) -> None:
    assert verify(snapshot / "out").problems == ()
    assert verify(snapshot / "out").warnings == ()
    manifest = open_corpus(snapshot / "out").manifest
    assert sum(s.documents for source in manifest.sources.values() for s in source.subsets.values()) == 85
    for source in manifest.sources.values():
        assert source.subsets["holdout"].documents >= 1
    assert manifest.sources["web"].license == "CC0-1.0"
    assert manifest.lineage.steps[0].name == "normalize"


def test_a_second_run_runs_nothing(workspace: Path) -> None:
    before = digests(workspace / "out")
    result = again(workspace)
    assert result.tasks_run == {}
    assert not result.published.is_new
    assert digests(workspace / "out") == before
    assert plan(workspace)["first"] is None


def test_the_page_is_that_of_the_report(workspace: Path) -> None:
    out = workspace / "out"
    page = encode_html(
        json.loads((out / "report.json").read_bytes()), open_corpus(out).manifest.content_digest
    )
    assert (out / "report.html").read_bytes() == page
    (out / "report.html").write_bytes(b"touched")
    again(workspace)
    assert (out / "report.html").read_bytes() == page
    again(workspace, version="1.0.1")
    assert b"small@1.0.1" in (out / "report.html").read_bytes()


def test_a_cold_cache_gives_the_same_bytes(workspace: Path) -> None:
    before = digests(workspace / "out")
    shutil.rmtree(workspace / "out.work")
    shutil.rmtree(workspace / "out")
    again(workspace)
    assert digests(workspace / "out") == before


def test_a_changed_threshold_measures_nothing(workspace: Path) -> None:
    steps = [
        {"normalize": {}},
        {"gopher_quality": {"except": ["notes"], "min_words": 120}},
        STAMP,
        {"exact_dedup": {}},
    ]
    planned = plan(workspace, steps=steps)
    assert planned["first"] == "judge"
    assert planned["measure"]["done"] == planned["measure"]["tasks"]
    assert list(planned["judge"]["reasons"]) == ["gopher_quality.min_words: 50 -> 120"]
    result = again(workspace, steps=steps)
    assert "measure" not in result.tasks_run
    assert result.tasks_run["decide"] == 1


def test_an_added_step_computes_only_its_own_columns(workspace: Path) -> None:
    steps = [{"normalize": {}}, {"gopher_quality": {"except": ["notes"]}}]
    again(workspace, steps=steps)
    shutil.rmtree(workspace / "out.work")
    again(workspace, steps=steps)
    entries = set((workspace / "out.work" / "measure").glob("*/*"))
    steps.append({"exact_dedup": {}})
    planned = plan(workspace, steps=steps)
    assert list(planned["measure"]["reasons"]) == ["exact_dedup is new"]
    again(workspace, steps=steps)
    new = set((workspace / "out.work" / "measure").glob("*/*")) - entries
    made_of = [json.loads((entry / "receipt.json").read_text())["components"] for entry in new]
    assert {components["columns"]["step"] for components in made_of} == {"exact_dedup"}


def test_an_added_file_measures_only_its_own_group(workspace: Path) -> None:
    (workspace / "in" / "notes" / "note-99.txt").write_text(document("note 99", 6))
    planned = plan(workspace)
    assert planned["measure"]["tasks"] - planned["measure"]["done"] == 1
    assert list(planned["measure"]["reasons"]) == ["input added: note-99.txt"]
    result = again(workspace)
    assert result.tasks_run["measure"] == 1
    assert result.published.manifest.sources["notes"].subsets["train"].documents >= 19


def test_a_touched_file_reruns_nothing(workspace: Path) -> None:
    before = digests(workspace / "out")
    entries = set((workspace / "out.work").glob("*/*/*"))
    os.utime(workspace / "in" / "web-0.jsonl", (1, 1))
    planned = plan(workspace)
    (reason,) = planned["measure"]["reasons"]
    assert reason.startswith("size or time of web-0.jsonl changed: it is hashed")
    result = again(workspace)
    assert set(result.tasks_run) == {"measure"}  # the task hashes the file, finds its columns, and is done
    assert set((workspace / "out.work").glob("*/*/*")) == entries
    assert digests(workspace / "out") == before
    assert plan(workspace)["first"] is None


def test_a_changed_file_is_named(workspace: Path) -> None:
    path = workspace / "in" / "web-0.jsonl"
    path.write_text(path.read_text().replace("u3", "u3000"))
    result = again(workspace)
    assert result.tasks_run["measure"] == 1
    assert verify(workspace / "out").problems == ()


def test_removing_nearly_everything_stops_with_samples(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in", documents=1100)
    steps: list[Any] = [{"gopher_quality": {"only": ["web"], "min_words": 5000}}]
    with pytest.raises(UserError) as caught:
        run(make_recipe(tmp_path, steps=steps), workers=0)
    text = str(caught.value)
    assert "step gopher_quality would remove 1,100 of 1,100 documents of source web" in text
    assert text.count("gopher_short_doc: web-0.jsonl: '") == 5
    assert "max_removed: 1.0" in text
    assert not (tmp_path / "out" / "manifest.json").exists()
    steps[0]["gopher_quality"]["max_removed"] = 1.0
    result = run(make_recipe(tmp_path, steps=steps), workers=0)
    assert result.published.manifest.sources["web"].subsets["train"].documents == 0


def test_max_bytes_keeps_a_choice_by_hash(workspace: Path) -> None:
    sources = recipe_data(workspace)["sources"]
    sources["web"]["max_bytes"] = "10KB"
    result = again(workspace, sources=sources)
    (row,) = [row for row in result.report["funnel"] if row["stage"] == "max_bytes"]
    assert 8_000 < row["text_bytes"] <= 10_000
    assert row["dropped"]["max_bytes"] == 60 - row["documents"]


def test_the_output_folder_may_not_hold_something_else(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match=r"holds thesis\.tex"):
        run(make_recipe(tmp_path), workers=0)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "precious"


def test_a_damaged_shard_is_mended_by_the_next_run(workspace: Path) -> None:
    before = digests(workspace / "out")
    shutil.rmtree(workspace / "out")
    again(workspace)  # the shards are hard links again: what damages one damages the other
    path = next((workspace / "out").glob("web-train-*.bin"))
    tokens = np.memmap(path, dtype=np.uint16, mode="r+")
    tokens[3] ^= 1
    tokens.flush()
    assert [problem.file for problem in verify(workspace / "out").problems] == [path.name]
    again(workspace)
    assert verify(workspace / "out").problems == ()
    assert digests(workspace / "out") == before


def test_an_older_version_leaves_no_shards_behind(workspace: Path) -> None:
    names = set(digests(workspace / "out"))
    again(workspace, shards={"tokens": 1_000_000})
    left = set(digests(workspace / "out"))
    assert left < names
    assert verify(workspace / "out").problems == ()


def test_a_worker_loads_the_tokenizer_once_for_all_its_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []

    class Counted(Encoder):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            loaded.append(args)

    monkeypatch.setattr(write, "Encoder", Counted)
    write_inputs(tmp_path / "in")
    result = run(make_recipe(tmp_path), workers=0)
    assert result.tasks_run["write"] > 1
    assert len(loaded) == 1


def test_the_plan_warns_of_large_files_that_cannot_be_split(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    with open(tmp_path / "in" / "web-2.csv", "wb") as file:
        file.write(b"text\n")
        file.truncate(1_000_000_001)
    sources = {"web": {"path": str(tmp_path / "in" / "web-2*")}}
    (warning,) = plan_recipe(make_recipe(tmp_path, sources=sources, steps=[]))["warnings"]
    assert "web-2.csv: 1,000,000,001 bytes that cannot be split" in warning


def test_the_plan_says_when_a_step_decides_elsewhere_than_it_stands(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    steps: list[Any] = [{"exact_dedup": {}}, {"gopher_quality": {"except": ["notes"]}}]
    (note,) = plan_recipe(make_recipe(tmp_path, steps=steps))["notes"]
    assert note.startswith("exact_dedup looks at the text where it stands, and decides after gopher_quality")
    assert plan_recipe(make_recipe(tmp_path))["notes"] == []


def test_the_order_of_rules_and_decisions_in_the_recipe_changes_no_document(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    kept = []
    steps: list[Any] = [{"exact_dedup": {}}, {"gopher_quality": {"except": ["notes"]}}]
    for order in (steps, steps[::-1]):
        run(make_recipe(tmp_path, steps=order), workers=0)
        kept.append(
            {k: v for k, v in digests(tmp_path / "out").items() if k.endswith((".bin", ".idx", ".parquet"))}
        )
    assert kept[0] == kept[1]
