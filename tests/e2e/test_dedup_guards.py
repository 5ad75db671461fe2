"""Warnings of deduplication that can do nothing; `max_removed` of the steps that look at all documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataprep.explain_plan import plan_recipe
from dataprep.narrate import Narrator
from dataprep.recipe import recipe_of
from dataprep.run import RunResult, run
from manifests.errors import UserError
from tests.e2e.corpora import document, sentence


def data_of(folder: Path, texts: list[str], *steps: Any, **fields: str) -> dict[str, Any]:
    lines = [json.dumps({"text": text, **fields}) + "\n" for text in texts]
    (folder / "in.jsonl").write_text("".join(lines))
    return {
        "corpus": "guarded",
        "version": "1.0.0",
        "sources": {"web": {"path": str(folder / "in.jsonl"), "carry": sorted(fields)}},
        "steps": list(steps),
        "tokenizer": {"train": {"vocab_size": 300}, "engine": "tokenizers"},
        "output": str(folder / "out"),
    }


def go(folder: Path, texts: list[str], *steps: Any, **fields: str) -> RunResult:
    return run(recipe_of(data_of(folder, texts, *steps, **fields)), workers=0)


FEW = [document(f"few {number}", 3) for number in range(4)]
SHORT = ["one two three", "four five six", "seven"]


@pytest.mark.parametrize(
    ("texts", "step", "warning"),
    [
        (
            FEW,
            {"exact_dedup": {"by": "url"}},
            "exact_dedup can match nothing: no document has a URL with a host",
        ),
        (FEW, {"exact_dedup": {"by": {"field": "title"}}}, "no document has a value in the field title"),
        (FEW[:1], {"exact_dedup": {}}, "exact_dedup had one document to look at"),
        (SHORT, {"minhash_dedup": {}}, "every text has fewer than 5 words"),
        (
            ["?!", "--", "..."],
            {"minhash_dedup": {}},
            "minhash_dedup can match nothing: no document has words",
        ),
        (FEW[:1], {"minhash_dedup": {"verify": "estimate"}}, "minhash_dedup had one document to look at"),
        (FEW, {"minhash_dedup": {"bands": 1, "rows": 99}}, "0.00 % of the pairs at the threshold 0.75"),
        (FEW, {"line_dedup": {"min_chars": 5000}}, "no text has a unit of 5000 characters"),
        (FEW, {"line_dedup": {"min_documents": 5}}, "takes out what 5 documents have"),
        (FEW, {"substring_dedup": {"length": 5000}}, "every text has fewer than 5000 bytes"),
    ],
)
def test_what_can_match_nothing_is_said(
    texts: list[str], step: Any, warning: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = recipe_of(data_of(tmp_path, texts, step, url="/a/path", title=""))
    result = run(recipe, workers=0, narrator=Narrator())
    (said,) = result.report["warnings"]
    assert warning in said
    assert f"warning: {said}" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "report.json").read_bytes())["warnings"] == [said]


def test_nothing_is_said_of_what_can_match(tmp_path: Path) -> None:
    steps = [
        {"line_dedup": {}},
        {"substring_dedup": {}},
        {"exact_dedup": {"by": "normalized_text"}},
        {"minhash_dedup": {"bands": 20, "rows": 5}},
    ]
    # That nothing did match is no reason to warn.
    assert go(tmp_path, FEW, *steps).report["warnings"] == []


def test_documents_that_rules_drop_are_not_looked_at(tmp_path: Path) -> None:
    steps = [{"gopher_quality": {}}, {"exact_dedup": {}}]
    texts = [document("long enough"), *SHORT, *SHORT]
    (said,) = go(tmp_path, texts, *steps).report["warnings"]
    assert said == "exact_dedup had one document to look at, which is a copy of nothing"


def test_a_plan_says_what_the_parameters_alone_say(tmp_path: Path) -> None:
    planned = plan_recipe(recipe_of(data_of(tmp_path, FEW, {"minhash_dedup": {"bands": 2, "rows": 50}})))
    assert any("2 bands of 50 rows" in warning for warning in planned["warnings"])


SAME = "\n".join(sentence(f"same {number}") for number in range(8))
NEAR = [f"{SAME}\nAs number {number} of many." for number in range(1000)]


@pytest.mark.parametrize(
    ("texts", "step", "what"),
    [
        (
            NEAR,
            {"minhash_dedup": {}},
            r"step minhash_dedup would remove 999 of 1,000 .*\(minhash_dedup 999\)",
        ),
        (
            NEAR,
            {"line_dedup": {"max_removed_ratio": 0.5}},
            r"step line_dedup would remove 999 of 1,000 .*\(lines_removed_ratio 999\)",
        ),
        ([SAME] * 1000, {"line_dedup": {}}, r"line_dedup would empty 999 of 1,000 .*\(empty_text 999\)"),
        ([SAME] * 1000, {"substring_dedup": {}}, r"substring_dedup would empty 999 of 1,000"),
    ],
)
def test_a_step_that_removes_nearly_everything_stops_the_run(
    texts: list[str], step: dict[str, Any], what: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=what) as refused:
        go(tmp_path, texts, step)
    (name,) = step
    assert f"`- {name}: {{max_removed: 1.0}}`" in str(refused.value)
    assert "in.jsonl" in str(refused.value)  # a sample
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("texts", "name"), [(NEAR, "minhash_dedup"), ([SAME] * 1000, "line_dedup")])
def test_a_recipe_may_allow_it(texts: list[str], name: str, tmp_path: Path) -> None:
    result = go(tmp_path, texts, {name: {"max_removed": 1.0}})
    (train,) = [row for row in result.report["funnel"] if row["stage"] == "train"]
    assert train["documents"] == 1
