"""A worker that dies in any stage costs one task, never a byte; one that dies twice stops the run by name."""

from __future__ import annotations

from pathlib import Path

import pytest

import dataprep.run as conductor
from dataprep.engines import LocalEngine
from dataprep.plan import stages_of
from dataprep.recipe import recipe_of
from dataprep.run import run
from manifests.errors import UserError
from tests.e2e.corpora import digests, make_recipe, recipe_data, write_inputs
from tests.e2e.duplicates import dedup, dedup_data, pages, write_pages
from tests.faults import killing

KINDS = [
    stage.kind
    for stage in stages_of(recipe_of(recipe_data(Path("anywhere"))))
    if stage.kind != "shingles"  # its near-duplicates need no second look
]
ALL_KINDS = [stage.kind for stage in stages_of(recipe_of(dedup_data(Path("anywhere"))))]
MORE_KINDS = [kind for kind in dict.fromkeys(ALL_KINDS) if kind not in KINDS]
"""Those of a recipe with every deduplication."""


def kill(monkeypatch: pytest.MonkeyPatch, folder: Path, stage: str, times: int) -> None:
    deaths = folder / "deaths"
    deaths.mkdir()
    monkeypatch.setenv(killing.VARIABLE, f"{stage}:0:{times}:{deaths}")
    engine = {"local": lambda workers: LocalEngine(workers, f"{killing.__name__}:execute")}
    monkeypatch.setattr(conductor, "ENGINES", engine)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    write_inputs(folder / "in")
    run(make_recipe(folder), workers=0)
    return shared_digests(folder / "out")


def shared_digests(folder: Path) -> dict[str, str]:
    """Digests of all that does not name the folder of the inputs (the recipe in the lineage does)."""
    return {name: digest for name, digest in digests(folder).items() if name != "manifest.json"}


@pytest.mark.slow
@pytest.mark.parametrize("stage", KINDS)
def test_a_death_before_the_commit_changes_nothing(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: dict[str, str]
) -> None:
    write_inputs(tmp_path / "in")
    kill(monkeypatch, tmp_path, stage, times=1)
    run(make_recipe(tmp_path), workers=2)
    assert len(list((tmp_path / "deaths").iterdir())) == 1
    assert shared_digests(tmp_path / "out") == undisturbed


@pytest.fixture(scope="module")
def undisturbed_dedup(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    write_pages(folder / "in", pages())
    dedup(folder)
    return without_paths(folder / "out")


def without_paths(folder: Path) -> dict[str, str]:
    """Without the verdict table, which names the files of the inputs."""
    found = shared_digests(folder)
    del found["verdicts.parquet"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("stage", MORE_KINDS)
def test_a_death_while_all_documents_are_compared_changes_nothing(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed_dedup: dict[str, str]
) -> None:
    write_pages(tmp_path / "in", pages())
    kill(monkeypatch, tmp_path, stage, times=1)
    dedup(tmp_path, workers=2)
    assert len(list((tmp_path / "deaths").iterdir())) == 1
    assert without_paths(tmp_path / "out") == undisturbed_dedup


@pytest.mark.slow
def test_a_split_that_kills_twice_stops_the_run_and_prints_the_exclude_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_inputs(tmp_path / "in")
    kill(monkeypatch, tmp_path, "measure", times=2)
    with pytest.raises(UserError) as caught:
        run(make_recipe(tmp_path), workers=2)
    text = str(caught.value)
    assert "killed its worker twice (SIGKILL" in text
    assert "measure, web: web-0.jsonl and 1 more" in text
    assert 'exclude: ["web-0.jsonl", "web-1.jsonl.gz"]' in text
    monkeypatch.undo()
    result = run(make_recipe(tmp_path, exclude=["web-1.jsonl.gz"]), workers=0)
    (read,) = [row for row in result.report["funnel"] if (row["source"], row["stage"]) == ("web", "read")]
    assert read["documents"] == 30
