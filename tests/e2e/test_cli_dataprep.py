"""The command line as a person meets it: exit codes, stdout for data, stderr for words."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dataprep.cache import LOCK_NAME, work_lock
from tests.e2e.corpora import recipe_data, write_inputs, write_recipe


def dataprep(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dataprep", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    write_inputs(folder / "in")
    write_recipe(folder, recipe_data(folder, tokenizer={"train": {"vocab_size": 600}}))
    return folder


def test_run_plan_report_verify(folder: Path) -> None:
    recipe = folder / "recipe.yaml"
    planned = dataprep("plan", recipe, "--json")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["first"] == "measure"

    ran = dataprep("run", recipe, "--workers", "1", "--json")
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert result["is_new"] is True
    assert result["tokenizer"]["engine"] == "gigatoken"
    assert Path(result["manifest"]).is_file()
    assert "measure" in ran.stderr

    assert "nothing to run" in dataprep("plan", recipe).stdout

    shown = dataprep("report", folder / "out")
    assert shown.returncode == 0, shown.stderr
    assert "exact_dedup" in shown.stdout
    assert "web-train-00000" in shown.stdout

    verified = dataprep("verify", folder / "out" / "manifest.json", "--json")
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout)["ok"] is True

    path = folder / "out" / "books-train-00000.bin"
    content = bytearray(path.read_bytes())
    content[5] ^= 255
    path.write_bytes(content)
    damaged = dataprep("verify", folder / "out")
    assert damaged.returncode == 1
    assert "books-train-00000.bin, block 0" in damaged.stdout


def test_all_mistakes_of_a_recipe_at_once_with_their_lines(tmp_path: Path) -> None:
    data = recipe_data(tmp_path)
    data["seeds"] = 3
    data["steps"][1] = {"gopher_qualty": {}}
    data["holdout"] = {"documents": "a lot"}
    path = write_recipe(tmp_path, data)
    refused = dataprep("run", path)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr.startswith("error: ")
    for words in ("seed", "gopher_quality", "holdout.documents"):
        assert words in refused.stderr
    assert refused.stderr.count(f"{path}:") >= 3
    assert "Traceback" not in refused.stderr


def test_no_input_matched_is_said_before_work_starts(tmp_path: Path) -> None:
    path = write_recipe(tmp_path)
    refused = dataprep("run", path)
    assert refused.returncode == 2
    assert "web-*.jsonl*" in refused.stderr
    assert "books" in refused.stderr or "*.parquet" in refused.stderr
    assert not (tmp_path / "out").exists()


def test_set_changes_a_value(folder: Path) -> None:
    planned = dataprep(
        "plan", folder / "recipe.yaml", "--set", "steps.1.gopher_quality.min_words=7", "--json"
    )
    assert planned.returncode == 0, planned.stderr
    assert "gopher_quality.min_words: 50 -> 7" in json.dumps(json.loads(planned.stdout))


@pytest.mark.parametrize("verb", ["run", "plan", "report", "verify", "explain", "duplicates", "similar"])
def test_every_verb_explains_itself(verb: str) -> None:
    shown = dataprep(verb, "--help")
    assert shown.returncode == 0
    assert "--json" in shown.stdout


@pytest.mark.slow
def test_a_second_run_on_the_same_work_folder_is_refused(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    path = write_recipe(tmp_path)
    with work_lock(tmp_path / "out.work"):
        refused = dataprep("run", path)
    assert refused.returncode == 2
    assert "the work folder is in use by process" in refused.stderr
    assert "--wait" in refused.stderr
    assert dataprep("run", path, "--workers", "1").returncode == 0


def until_it_waits(pid: int, lock: Path) -> None:
    """Return when a process has opened the lock."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if lock in [each.readlink() for each in Path(f"/proc/{pid}/fd").iterdir()]:
                return
        time.sleep(0.05)
    raise AssertionError("it never came to the lock")


def test_an_interrupted_run_says_that_it_goes_on_from_there(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    path = write_recipe(tmp_path)
    command = [sys.executable, "-m", "dataprep", "run", str(path), "--workers", "1", "--wait"]

    def listens() -> None:  # where the tests run in the background of a shell, Ctrl-C is not heard
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with (
        work_lock(tmp_path / "out.work"),
        subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=listens
        ) as process,
    ):
        try:
            # It waits for the lock, so that this cannot come too late.
            until_it_waits(process.pid, tmp_path / "out.work" / LOCK_NAME)
            os.killpg(process.pid, signal.SIGINT)
            _, words = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "stopped; what was finished is kept" in words
    assert "Traceback" not in words


def test_names_of_files_reach_a_terminal_without_their_escapes(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    name = tmp_path / "in" / "notes" / "\x1b[31m.txt"
    name.symlink_to("nowhere")
    refused = dataprep("plan", write_recipe(tmp_path))
    assert refused.returncode == 2
    assert "\\x1b[31m.txt" in refused.stderr
    assert "\x1b" not in refused.stderr


@pytest.mark.slow
def test_a_quick_look(folder: Path) -> None:
    recipe = folder / "recipe.yaml"
    planned = dataprep("plan", recipe, "--sample", "50%", "--json")
    assert json.loads(planned.stdout)["first"] == "measure"
    ran = dataprep("run", recipe, "--sample", "50%", "--workers", "1", "--json")
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert result["manifest"] == str(folder / "out.sample" / "manifest.json")
    (sampled,) = [row for row in result["funnel"] if (row["source"], row["stage"]) == ("web", "sample")]
    assert 0 < sampled["documents"] < 60 and list(sampled["dropped"]) == ["not_sampled"]
    refused = dataprep("run", recipe, "--sample", "2")
    assert refused.returncode == 2
    assert "expected a share above 0 and up to 100%" in refused.stderr
