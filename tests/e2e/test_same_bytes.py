"""Promise 2: the bytes depend on inputs, recipe and code, never on workers or on where things lie."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dataprep.run import run
from tests.e2e.corpora import digests, make_recipe, write_inputs


@pytest.mark.slow
def test_same_bytes_from_any_number_of_workers(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in", documents=200)
    found = []
    for workers in (0, 1, 2, 4):
        tokenizer = {"train": {"vocab_size": 600}, "engine": "auto"}
        run(make_recipe(tmp_path, shards={"tokens": 4000}, tokenizer=tokenizer), workers=workers)
        found.append(digests(tmp_path / "out"))
        shutil.rmtree(tmp_path / "out")
        shutil.rmtree(tmp_path / "out.work")
    assert all(each == found[0] for each in found)
    assert len(found[0]) > 20


def test_same_shards_however_the_input_is_cut_into_files(tmp_path: Path) -> None:
    shards = []
    for name, pieces in (("one", 1), ("many", 7)):
        folder = tmp_path / name
        write_inputs(folder / "in")
        lines = (folder / "in" / "web-0.jsonl").read_text().splitlines(keepends=True)
        (folder / "in" / "web-0.jsonl").unlink()
        for piece in range(pieces):
            (folder / "in" / f"web-{piece}.jsonl").write_text("".join(lines[piece::pieces]))
        run(make_recipe(folder), workers=0)
        shards.append({k: v for k, v in digests(folder / "out").items() if k.endswith((".bin", ".idx"))})
    assert shards[0] == shards[1]


def test_another_seed_is_another_order_of_the_same_documents(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    tokenizer = {"train": {"vocab_size": 600, "sample_bytes": "50MB"}, "engine": "tokenizers"}
    first = run(make_recipe(tmp_path, tokenizer=tokenizer), workers=0).published
    before = digests(tmp_path / "out")
    second = run(make_recipe(tmp_path, tokenizer=tokenizer, seed=18), workers=0).published
    after = digests(tmp_path / "out")
    assert first.manifest.sources == second.manifest.sources
    assert before["tokenizer.json"] == after["tokenizer.json"]
    assert before["web-train-00000.bin"] != after["web-train-00000.bin"]
