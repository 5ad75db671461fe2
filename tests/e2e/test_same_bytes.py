"""Promise 2: the bytes depend on inputs, recipe and code, never on workers or on where things lie."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dataprep.publish import MARKER
from dataprep.run import run
from manifests.verify import verify
from tests.e2e.corpora import again, digests, make_recipe, recipe_data, write_inputs, write_recipe


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


@pytest.mark.slow
def test_same_bytes_whatever_the_order_of_sets(tmp_path: Path) -> None:
    """Sets of strings have another order in every process, unless PYTHONHASHSEED says which."""
    write_inputs(tmp_path / "in")
    listed = ["stone", "wheel", "captain", "a phrase", "meadow", "silver"]
    steps: list[dict[str, Any]] = [
        {"url_blocklist": {"only": ["web"], "sites": ["u1", "u2", "u3"], "subwords": ["u59", "u58"]}},
        {"exclude": {"ids": ["u7", "u8", "u9"]}},
        {"normalize": {}},
        {"boilerplate_lines": {"phrases": ["read more", "sign in", "share this"]}},
        {"c4_bad_words": {"words": listed, "keep_fraction": 0.999}},
        {"gopher_quality": {"except": ["notes"]}},
        {"pii": {"phone": "redact", "card": "redact", "iban": "redact"}},
        {"exact_dedup": {}},
    ]
    data = recipe_data(tmp_path, steps=steps)
    data["sources"]["web"]["carry"] = ["url"]
    recipe, found = write_recipe(tmp_path, data), []
    for seed in ("1", "2", "3"):
        command = [sys.executable, "-m", "dataprep", "run", str(recipe), "--workers", "0"]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        columns = sorted((tmp_path / "out.work").rglob("*.arrow"))
        assert columns
        found.append((digests(tmp_path / "out"), [path.read_bytes() for path in columns]))
        shutil.rmtree(tmp_path / "out")
        shutil.rmtree(tmp_path / "out.work")
    assert all(each == found[0] for each in found)


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


HOLD = """
import sys, time
from pathlib import Path
from dataprep.cache import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(4)
    Path(sys.argv[2]).touch()
"""


def test_runs_with_other_work_folders_publish_into_one_output_one_after_the_other(workspace: Path) -> None:
    released = workspace / "released"
    command = [sys.executable, "-c", HOLD, str(workspace / "out" / MARKER), str(released)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    again(workspace, seed=18, work=str(workspace / "other.work"))
    assert released.exists()
    holder.communicate()
    assert verify(workspace / "out").problems == ()
