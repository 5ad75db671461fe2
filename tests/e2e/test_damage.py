"""What a disk, a hand or another program does to the work folder or to the inputs: it is noticed, and it
costs time, never a byte."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dataprep.publish as publishing
import dataprep.run as conductor
from dataprep import task
from dataprep.run import run
from manifests.errors import UserError
from manifests.files import link_or_copy
from manifests.verify import verify
from tests.e2e.corpora import again, digests, document, make_recipe, recipe_data, write_inputs


def entries(folder: Path, stage: str) -> list[Path]:
    return sorted((folder / "out.work" / stage).glob("*/*"))


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("stage", "file", "rerun"),
    [
        ("measure", "columns.arrow", "decide"),
        ("decide", "verdicts.arrow", "write"),
        ("sample", "texts.arrow", "tokenizer"),
        ("tokenizer", "encoding.json", "write"),
        ("write", "tokens.bin", "pack"),
        ("write", "documents.arrow", "pack"),
    ],
)
def test_a_damaged_entry_is_made_again_before_a_stage_builds_on_it(
    workspace: Path, stage: str, file: str, rerun: str
) -> None:
    before = digests(workspace / "out")
    entry = entries(workspace, stage)[0]
    path = next(entry.rglob(file))
    flip(path, path.stat().st_size // 2)
    shutil.rmtree(workspace / "out.work" / rerun)
    result = again(workspace)
    assert result.tasks_run[stage] == 1
    assert digests(workspace / "out") == before


@pytest.mark.parametrize(("stage", "file"), [("measure", "columns.arrow"), ("decide", "verdicts.arrow")])
def test_a_verdict_table_is_not_made_of_damaged_entries(workspace: Path, stage: str, file: str) -> None:
    run(make_recipe(workspace), workers=0, verdicts=True)
    before = digests(workspace / "out")
    for entry in entries(workspace, stage):
        flip(entry / file, (entry / file).stat().st_size // 2)
    result = run(make_recipe(workspace), workers=0, verdicts=True)
    assert set(result.tasks_run) == {stage}
    assert digests(workspace / "out") == before


def test_a_damaged_tokenizer_is_not_published(workspace: Path) -> None:
    before = digests(workspace / "out")
    shutil.rmtree(workspace / "out")
    flip(entries(workspace, "tokenizer")[0] / "tokenizer.json", 100)
    again(workspace)
    assert verify(workspace / "out").problems == ()
    assert digests(workspace / "out") == before


@pytest.mark.parametrize("content", [b"{}", b"[]", b"null", b"{", None])
@pytest.mark.parametrize("name", ["fingerprints.json", "last.json", "receipt.json", "plan"])
def test_a_file_of_the_work_folder_that_holds_nonsense_costs_time_only(
    workspace: Path, name: str, content: bytes | None
) -> None:
    before = digests(workspace / "out")
    work = workspace / "out.work"
    paths = {"receipt.json": entries(workspace, "decide")[0] / name, "plan": next(work.glob("plans/decide*"))}
    path = paths.get(name, work / name)
    if content is None:
        content = path.read_bytes().replace(b'"', b'["', 1)
    path.write_bytes(content)
    if name == "plan":
        shutil.rmtree(work / "decide")
        task._load.cache_clear()  # as in a worker of another run
    again(workspace)
    assert digests(workspace / "out") == before


def test_an_edited_receipt_counts_as_absent(workspace: Path) -> None:
    path = entries(workspace, "decide")[0] / "receipt.json"
    path.write_bytes(path.read_bytes().replace(b'"documents": 60', b'"documents": 61', 1))
    assert again(workspace).tasks_run == {"decide": 1}


Change = Callable[[Path], None]


def _rewrite(path: Path) -> None:
    """Other bytes under the same size and time."""
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"river", b"RIVER"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _append(path: Path) -> None:
    record = {"url": "late", "content": document("late")}
    path.write_bytes(path.read_bytes() + json.dumps(record).encode() + b"\n")


def _when(monkeypatch: pytest.MonkeyPatch, stage: str, change: Callable[[], object]) -> None:
    """Change something just before a stage runs."""
    execute = conductor.place

    def changed(stage_plan: Any, *rest: Any) -> Any:
        if stage_plan.stage == stage:
            change()
        return execute(stage_plan, *rest)

    monkeypatch.setattr(conductor, "place", changed)


@pytest.mark.parametrize("change", [_rewrite, _append])
@pytest.mark.parametrize("stage", ["measure", "sample", "write"])
def test_an_input_that_changes_during_the_run_stops_it_and_poisons_nothing(
    stage: str, change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_inputs(tmp_path / "in")
    path = tmp_path / "in" / "web-0.jsonl"
    original, status = path.read_bytes(), path.stat()
    with monkeypatch.context() as patch:
        _when(patch, stage, lambda: change(path))
        if (stage, change) == ("measure", _rewrite):
            again(tmp_path)  # nobody has seen the old bytes
        else:
            with pytest.raises(UserError, match="the input changed while the run was reading it"):
                again(tmp_path)
    again(tmp_path)  # the files are at rest: the same command goes on
    if change is _append:
        path.write_bytes(original)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        again(tmp_path)
    shown = digests(tmp_path / "out")
    shutil.rmtree(tmp_path / "out.work")
    shutil.rmtree(tmp_path / "out")
    again(tmp_path)
    assert digests(tmp_path / "out") == shown


def test_new_columns_are_not_computed_from_other_bytes_than_the_old_ones(workspace: Path) -> None:
    _rewrite(workspace / "in" / "web-0.jsonl")
    steps = [*recipe_data(workspace)["steps"][:2], {"exact_dedup": {"by": "normalized_text"}}]
    with pytest.raises(UserError, match="the input changed"):
        again(workspace, steps=steps)
    shown = again(workspace, steps=steps).published.manifest
    shutil.rmtree(workspace / "out.work")
    shutil.rmtree(workspace / "out")
    assert again(workspace, steps=steps).published.manifest == shown


@pytest.mark.parametrize("stage", ["measure", "sample", "write"])
def test_an_input_that_vanishes_is_named(stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_inputs(tmp_path / "in")
    path = tmp_path / "in" / "books.parquet"
    _when(monkeypatch, stage, lambda: path.unlink(missing_ok=True))
    with pytest.raises(UserError, match="cannot read an input: No such file or directory") as caught:
        again(tmp_path)
    assert caught.value.where == str(path)


def test_a_tokenizer_file_that_changes_during_the_run_stops_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace / "tokenizer.json"
    shutil.copyfile(workspace / "out" / "tokenizer.json", path)
    with monkeypatch.context() as patch:
        _when(patch, "tokenizer", lambda: path.write_text(path.read_text() + "\n"))
        with pytest.raises(UserError, match="the input changed") as caught:
            again(workspace, tokenizer={"file": str(path), "engine": "tokenizers"})
    assert caught.value.where == str(path)
    again(workspace, tokenizer={"file": str(path), "engine": "tokenizers"})
    assert (workspace / "out" / "tokenizer.json").read_bytes() == path.read_bytes()


def test_a_run_does_not_feed_on_its_own_files(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    changes: dict[str, Any] = {
        "sources": {"books": {"path": str(tmp_path / "in" / "**" / "*.parquet")}},
        "steps": [],
        "output": str(tmp_path / "in" / "out"),
    }
    again(tmp_path, **changes)
    with pytest.raises(UserError, match=r"sources\.books\.path: matches .*, which an earlier run wrote"):
        again(tmp_path, **changes)
    assert again(tmp_path, **changes, exclude=["out/**", "out.work/**"]).tasks_run == {}


def test_what_a_killed_run_left_in_the_output_is_swept(workspace: Path) -> None:
    (workspace / "out" / ".tmp-0123-web-train-00000.bin").write_bytes(b"half")
    (workspace / "out" / "manifest.json").unlink()
    again(workspace)
    assert not list((workspace / "out").glob(".tmp-*"))
    # And what one left that had sealed the corpus.
    (workspace / "out" / ".tmp-0123-report.json").write_bytes(b"half")
    (workspace / "out.work" / ".tmp-0123-last.json").write_bytes(b"half")
    again(workspace)
    assert not list(workspace.rglob(".tmp-*"))


def test_a_run_killed_between_two_files_of_a_shard_leaves_no_pair_of_old_and_new(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools that read no manifest would take the pair for a shard."""

    def stop(source: Path, target: Path) -> None:
        if target.suffix == ".idx":
            raise KeyboardInterrupt
        link_or_copy(source, target)

    monkeypatch.setattr(publishing, "link_or_copy", stop)
    before = (workspace / "out" / "web-train-00000.bin").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        again(workspace, seed=18)
    assert (workspace / "out" / "web-train-00000.bin").read_bytes() != before
    assert not (workspace / "out" / "web-train-00000.idx").exists()
    assert not (workspace / "out" / "manifest.json").exists()


def test_what_is_told_of_an_older_corpus_never_lies_beside_a_new_one(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(make_recipe(workspace), workers=0, verdicts=True)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(conductor, "write_report", stop)
        with pytest.raises(KeyboardInterrupt):
            again(workspace, seed=18)
    names = {path.name for path in (workspace / "out").iterdir()}
    assert "manifest.json" in names and not names & {"report.json", "report.html", "verdicts.parquet"}
    again(workspace, seed=18)
    names = {path.name for path in (workspace / "out").iterdir()}
    assert {"report.json", "report.html"} <= names and "verdicts.parquet" not in names


def test_a_link_to_itself_is_named(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    (tmp_path / "in" / "notes" / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(UserError, match=r"Too many levels of symbolic links: .*loop\.txt"):
        again(tmp_path)


def test_more_reasons_than_a_word_has_bits(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    steps = [{"gopher_quality": {"min_words": count}} for count in (*range(1, 8), 70)]
    rows = again(tmp_path, steps=steps).report["funnel"]
    last = [row for row in rows if row["stage"] == "gopher_quality#8" and row["source"] == "books"]
    assert last[0]["dropped"] == {}  # "short" is gone already
    assert last[0]["joint"] == {"gopher_short_doc": 1, "gopher_enough_stop_words": 1}
