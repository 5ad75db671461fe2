"""Other people's code in a run: the example of the guide, datatrove, and what a change of it reruns."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dataprep.recipe import recipe_of
from dataprep.run import run
from tests.e2e.corpora import digests, document, make_recipe, recipe_data, write_inputs, write_recipe

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def dataprep(folder: Path, *arguments: str) -> Any:
    """The JSON of a command that runs in `folder`, as a console script does: without it on the path."""
    code = "import sys; sys.path = [each for each in sys.path if each]; from dataprep.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    """A folder with the guide's module and recipe, and documents of every kind."""
    (tmp_path / "mycorpus").mkdir()
    (tmp_path / "mycorpus" / "steps.py").write_text(blocks("guides/own-steps.md", "python")[0])
    good = document("one")
    texts = {
        "good": f"{good}\n-- \nSent from a mill",
        "copy": good,
        "loud": document("two").upper(),
        "numbers": "1984 " * 9,
        "odd": "zxcv qwer asdf " * 9,
    }
    lines = [json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items()]
    (tmp_path / "web.jsonl").write_text("".join(lines))
    steps = yaml.safe_load(blocks("guides/own-steps.md", "yaml")[0])["steps"]
    source = {"path": "web.jsonl", "id": "id"}
    write_recipe(tmp_path, recipe_data(Path(), sources={"web": source}, steps=steps, output="out"))
    return tmp_path


@pytest.mark.slow
def test_the_guide(guide: Path) -> None:
    result = dataprep(guide, "run", "recipe.yaml", "--workers", "2")
    stages = {row["stage"]: row for row in result["funnel"] if row["source"] == "web"}
    assert stages["mycorpus.steps:too_loud"]["dropped"] == {"shouting": 1, "no_letters": 1}
    assert stages["mycorpus.steps:prose"]["dropped"] == {"low_score": 1}
    assert stages["exact_dedup"]["dropped"] == {"exact_dedup": 1}  # once the footer is gone
    assert stages["exact_dedup"]["documents"] == 1

    def measure_tasks(step: int, **options: Any) -> int:
        recipe = yaml.safe_load((guide / "recipe.yaml").read_text())
        (entry,) = recipe["steps"][step].values()
        entry |= options
        write_recipe(guide, recipe, "changed.yaml")
        planned = dataprep(guide, "plan", "changed.yaml")
        return sum(each["tasks"] - each["done"] for each in planned["stages"] if each["stage"] == "measure")

    assert measure_tasks(2) == 0
    assert measure_tasks(2, min_score=0.1, on_error="drop") == 0
    assert measure_tasks(2, version=2) == 1
    assert measure_tasks(1, **{"with": {"share": 0.4}}) == 1


def test_datatrove_in_a_run(tmp_path: Path) -> None:
    """Open reasons over several splits and sources; the same bytes whatever the number of workers."""
    pytest.importorskip("datatrove")
    write_inputs(tmp_path / "in")
    (tmp_path / "in" / "notes" / "note-99.txt").write_text("Written in 1999, and short.\n- a\n")
    steps = [
        {"normalize": {}},
        {"datatrove": {"filter": "RegexFilter", "with": {"regex_exp": "1999"}}},
        {"datatrove": {"filter": "C4ParagraphFilter", "only": ["notes"], "max_removed": 1}},
        {"datatrove": {"formatter": "SymbolLinesFormatter"}},
        {"exact_dedup": {}},
    ]
    result = run(make_recipe(tmp_path, steps=steps), workers=0)
    notes = {row["stage"]: row for row in result.report["funnel"] if row["source"] == "notes"}
    assert notes["datatrove"]["dropped"] == {"dropped": 1}
    assert notes["datatrove#2"]["dropped"] == {"< 3 paragraphs": 20}
    web = [row for row in result.report["funnel"] if row["source"] == "web"]
    assert "datatrove#2" not in {row["stage"] for row in web}
    again = recipe_data(tmp_path, steps=steps, output=str(tmp_path / "again"))
    run(recipe_of(again), workers=2)
    assert digests(tmp_path / "again") == digests(tmp_path / "out")


def test_examples_of_the_reference_are_recipes() -> None:
    data = recipe_data(Path())
    for block in blocks("reference/steps.md", "yaml"):
        example = yaml.safe_load(block)
        if isinstance(example, list):
            steps = [each for each in example if next(iter(each)) == "datatrove"]
            recipe_of({**data, "steps": steps})
        elif "perplexity" in block:
            step = {"perplexity": {"model": "en.arpa.bin", "tokenizer": "en.sp.model"}}
            recipe_of({**data, **example, "steps": [step]})
