"""Decontamination in a run, and the check of a corpus that is built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dataprep.run import run
from manifests.checked import require_checked
from manifests.manifest import load_manifest
from tests.e2e.corpora import again, digests, document, make_recipe, write_inputs
from tests.e2e.test_cli_dataprep import dataprep

QUESTIONS = {"3": document("web 3", 3), "none": document("nowhere", 3), "b7": document("book 7", 20)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that holds two of three examples."""
    folder = tmp_path_factory.mktemp("contamination")
    write_inputs(folder / "in")
    rows = [{"name": name, "q": question.upper(), "a": "yes"} for name, question in QUESTIONS.items()]
    (folder / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    again(folder)
    return folder


def step(folder: Path, **parameters: object) -> dict[str, object]:
    evals = [{"path": str(folder / "mine.jsonl"), "fields": {"question": "q", "answer": "a", "id": "name"}}]
    return {"decontaminate": {"evals": evals, **parameters}}


def check(folder: Path, *arguments: str | Path) -> dict[str, int]:
    done = dataprep(
        "contamination", folder, "--evals", folder.parent / "mine.jsonl", "--field", "question=q",
        "--field", "id=name", "--field", "answer=a", "--json", *arguments,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (line,) = json.loads(done.stdout)["sets"]
    assert isinstance(line, dict)
    return line


@pytest.mark.slow
def test_a_built_corpus_is_checked(folder: Path) -> None:
    line = check(folder / "out", "--output", folder / "found")
    assert (line["examples"], line["tested"], line["contaminated"]) == (3, 3, 2)
    assert line["documents"] == 2
    ids = {word: (folder / "found" / f"mine.{word}.txt").read_text().split() for word in ("clean", "dirty")}
    assert ids == {"clean": ["none"], "dirty": ["3", "b7"]}
    evidence = [json.loads(line) for line in (folder / "found" / "evidence.jsonl").read_text().splitlines()]
    assert {each["example"] for each in evidence} == {"3", "b7"}
    for each in evidence:
        assert QUESTIONS[each["example"]].startswith(each["text"][:100])
    assert {each["id"] for each in evidence if each["source"] == "web"} <= {"u3", "u58"}
    shown = dataprep(
        "contamination", folder / "out" / "manifest.json", "--evals", folder / "mine.jsonl",
        "--field", "question=q",
    )  # fmt: skip
    assert "66.67 %" in shown.stdout, shown.stderr


@pytest.mark.slow
def test_a_run_drops_what_is_contaminated_whatever_the_workers(folder: Path) -> None:
    steps = [{"normalize": {}}, step(folder), {"exact_dedup": {}}]
    made = []
    for workers in (0, 2):
        other = folder / f"dropped-{workers}"
        other.mkdir()
        (other / "in").symlink_to(folder / "in")
        recipe = make_recipe(other, steps=steps, output=str(other / "out"))
        result = run(recipe, workers=workers)
        rows = [row for row in result.report["funnel"] if row["stage"] == "decontaminate"]
        drops = {row["source"]: row["dropped"].get("contaminated", 0) for row in rows}
        assert drops == {"web": 2, "books": 2, "notes": 0}
        made.append(
            {name: digest for name, digest in digests(other / "out").items() if name.endswith(".bin")}
        )
    assert made[0] == made[1]
    (checked,) = load_manifest(folder / "dropped-0" / "out").lineage.evals
    assert (checked.name, checked.action, checked.examples, checked.sources) == ("mine", "drop", 3, None)
    assert require_checked([load_manifest(folder / "dropped-0" / "out")], [folder / "mine.jsonl"]) == []
    (found,) = json.loads((folder / "dropped-0" / "out" / "report.json").read_bytes())["contamination"]
    (row,) = found.pop("sets")
    assert found == {"step": "decontaminate", "definition": "longest", "sources": None}
    assert (row["examples"], row["tested"], row["contaminated"]) == (3, 3, 2)
    assert (row["share_ppm"], row["documents"], row["action"]) == (666_666, 4, "drop")
    shown = dataprep("report", folder / "dropped-0" / "out").stdout
    assert "66.66 %" in shown
    assert f"as a page: {folder / 'dropped-0' / 'out' / 'report.html'}" in shown
    assert "66.66 %" in (folder / "dropped-0" / "out" / "report.html").read_text()
    assert load_manifest(folder / "out").lineage.evals == []
    assert json.loads((folder / "out" / "report.json").read_bytes())["contamination"] == []
    (folder / "dropped-0" / "mine.jsonl").symlink_to(folder / "mine.jsonl")
    assert check(folder / "dropped-0" / "out")["contaminated"] == 0


def test_a_set_of_which_nothing_is_tested_is_said(folder: Path) -> None:
    sets = {"empty": [], "short": [{"q": "why?"}], "fine": [{"q": QUESTIONS["3"]}]}
    evals = []
    for name, rows in sets.items():
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        evals.append({"path": str(path), "fields": {"question": "q"}})
    other = folder / "untested"
    other.mkdir()
    (other / "in").symlink_to(folder / "in")
    recipe = make_recipe(other, steps=[{"decontaminate": {"evals": evals}}], output=str(other / "out"))
    assert run(recipe, workers=0).report["warnings"] == [
        "decontaminate: the evaluation set empty holds no example",
        "decontaminate can find nothing of short: all of its 1 examples are shorter than an n-gram",
    ]


@pytest.mark.slow
def test_what_the_command_refuses(folder: Path) -> None:
    for arguments, words in (
        (["--evals", "none.jsonl"], "no evaluation set at none.jsonl"),
        (["--evals", str(folder / "mine.jsonl")], "no well-known set"),
        (["--evals", str(folder / "mine.jsonl"), "--field", "where=q"], "ROLE is one of"),
        (["--evals", str(folder / "mine.jsonl"), "--field", "answer=q"], "nothing to test"),
        (["--evals", str(folder / "mine.jsonl"), "--definition", "gpt5"], "no definition"),
    ):
        refused = dataprep("contamination", folder / "out", *arguments)
        assert refused.returncode == 2
        assert words in refused.stderr
        assert "Traceback" not in refused.stderr
