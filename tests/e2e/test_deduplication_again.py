"""What a changed recipe, or another source, makes a run with deduplications do again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataprep.plan import stages_of
from dataprep.recipe import recipe_of
from tests.e2e.corpora import digests
from tests.e2e.duplicates import STEPS, dedup, dedup_data, pages, write_pages


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # half of the time


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_pages(folder / "w" / "in", pages())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        dedup(folder / "w")
    shutil.copytree(folder / "w", folder / "snapshot", copy_function=shutil.copy2)
    return folder / "snapshot"


def again(folder: Path, change: Callable[[list[dict[str, Any]]], object], **changes: Any) -> dict[str, int]:
    """Run with changed steps; return the tasks that ran."""
    steps: list[dict[str, Any]] = json.loads(json.dumps(STEPS))
    change(steps)
    return dedup(folder, steps=steps, **changes).tasks_run


def test_nothing_changed_runs_nothing(workspace: Path) -> None:
    assert again(workspace, lambda steps: None) == {}


def test_a_threshold_measures_nothing(workspace: Path) -> None:
    ran = again(workspace, lambda steps: steps[4]["minhash_dedup"].update(threshold=0.8))
    assert not [stage for stage in ran if "measure" in stage or "rank" in stage or "exact" in stage]
    assert "minhash_dedup keep" in ran


def test_another_verification_takes_candidates_as_they_are(workspace: Path) -> None:
    """Bands depend on the threshold; with bands of one's own, a threshold compares again, and no more."""
    bands = {"bands": 14, "rows": 8}
    again(workspace, lambda steps: steps[4]["minhash_dedup"].update(bands))
    ran = again(workspace, lambda steps: steps[4]["minhash_dedup"].update(bands, threshold=0.8))
    assert "minhash_dedup bands" not in ran
    assert next(iter(ran)) == "minhash_dedup pairs"


def test_another_choice_ranks_and_what_follows(workspace: Path) -> None:
    ran = again(workspace, lambda steps: steps[6]["exact_dedup"].update(keep=["shortest"]))
    assert not [stage for stage in ran if "measure" in stage or "judge" in stage or "line" in stage]
    assert next(iter(ran)) == "shortest rank"


def test_another_order_of_dates_ranks_again(workspace: Path) -> None:
    ran = again(workspace, lambda steps: steps[5]["exact_dedup"].update(keep=[{"first": "date"}]))
    assert next(iter(ran)) == "exact_dedup rank"
    assert not [stage for stage in ran if "measure" in stage or stage.startswith(("line", "substring"))]


def test_a_source_above_another_measures_itself_alone(workspace: Path) -> None:
    """Nor does what it has of the others' lines and passages, if theirs are better."""
    records = [{"id": "new", "text": "Nobody else says so.", "url": "", "kind": "", "date": ""}]
    (workspace / "in" / "first-0.jsonl").write_text(json.dumps(records[0]) + "\n")
    carried = {"id": "id", "carry": ["url", "kind", "date"]}
    names = ("first", "web", "more")
    sources = {name: {"path": str(workspace / "in" / f"{name}-*.jsonl"), **carried} for name in names}
    ran = again(workspace, lambda steps: None, sources=sources)
    assert ran["measure"] == ran["line_dedup measure"] == 1
    assert "substring_dedup passages" not in ran
    assert "substring_dedup measure" not in ran


def test_cuts_that_do_not_change_measure_nothing(workspace: Path) -> None:
    """All lines that several documents have are in all of them but a few."""
    ran = again(workspace, lambda steps: steps[0]["line_dedup"].update(min_documents=6))
    assert ran["line_dedup cuts"] == 2
    assert "line_dedup measure" not in ran
    ran = again(workspace, lambda steps: steps[0]["line_dedup"].update(min_words_left=3))
    assert next(iter(ran)) == "substring_dedup judge"
    assert not [stage for stage in ran if "measure" in stage]


STAGES = [
    stage
    for stage in stages_of(recipe_of(dedup_data(Path("anywhere"))))
    if stage.kind not in ("measure", "decide", "sample", "tokenizer", "write", "pack")
]


@pytest.mark.parametrize("kind", dict.fromkeys(stage.kind for stage in STAGES))
def test_damaged_entries_are_made_again_before_a_stage_builds_on_them(workspace: Path, kind: str) -> None:
    before = digests(workspace / "out")
    damaged = 0
    for receipt in (workspace / "out.work" / kind).rglob("receipt.json"):
        path = max(receipt.parent.iterdir(), key=lambda each: (each != receipt, each.stat().st_size))
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        damaged += 1
    shutil.rmtree(workspace / "out.work" / "decide")
    ran = dedup(workspace).tasks_run
    assert sum(count for stage, count in ran.items() if stage.split()[-1] == kind) >= damaged > 0
    assert digests(workspace / "out") == before
