"""`dataprep explain` and the verdict table: what they say of a document agrees with what the run did."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dataprep.cli import app
from dataprep.plan import Plans
from dataprep.run import run
from dataprep.verdict_table import NAME, SCHEMA, places_in
from dataprep.views.explain import explain_document
from manifests.errors import UserError
from manifests.tables import read_document_table
from tests.e2e.corpora import STAMP, again, document, make_recipe, write_recipe

STEPS = [{"normalize": {}}, {"gopher_quality": {"except": ["notes"]}}, STAMP]


def table(folder: Path, **changes: Any) -> list[dict[str, Any]]:
    run(make_recipe(folder, **changes), workers=0, verdicts=True)
    read = pq.read_table(folder / "out" / NAME)
    assert read.schema.equals(SCHEMA)
    rows: list[dict[str, Any]] = read.to_pylist()
    return rows


def test_the_verdict_table_adds_up_to_the_report(workspace: Path) -> None:
    result = run(make_recipe(workspace), workers=0, verdicts=True)
    rows = pq.read_table(workspace / "out" / NAME).to_pylist()
    report = result.report["funnel"]
    for source in ("web", "books", "notes"):
        mine = [row for row in rows if row["source"] == source]
        funnel = {row["stage"]: row for row in report if row["source"] == source}
        counts = Counter(row["verdict"] for row in mine)
        assert len(mine) == funnel["read"]["documents"]
        assert sum(row["text_bytes"] for row in mine) == funnel["read"]["text_bytes"]
        assert counts["train"] == funnel["train"]["documents"]
        assert counts["holdout"] == funnel["holdout"]["documents"]
        dropped = Counter(row["reasons"][0] for row in mine if row["verdict"] == "dropped")
        assert dropped == {
            f"{stage}: {reason}": count
            for stage, row in funnel.items()
            for reason, count in row["dropped"].items()
        }
        joint = Counter(reason for row in mine for reason in row["reasons"])
        assert joint == {
            f"{stage}: {reason}": count
            for stage, row in funnel.items()
            for reason, count in row["joint"].items()
        }


def test_a_duplicate_names_the_document_that_stays(workspace: Path) -> None:
    rows = table(workspace)
    by_place = {(row["source"], row["path"], row["position"]): row for row in rows}
    copies = [row for row in rows if row["match_path"] is not None]
    assert len(copies) > 3
    for row in copies:
        keeper = by_place[row["match_source"], row["match_path"], row["match_position"]]
        assert keeper["id"] == row["match_id"]
        assert keeper["verdict"] != "dropped"
        if row["reasons"][0] == "exact_dedup: exact_dedup":
            assert (keeper["raw_hash"], row["similarity"]) == (row["raw_hash"], 1.0)
        else:
            assert row["reasons"][0] == "minhash_dedup: minhash_dedup"
            assert 0.75 <= row["similarity"] <= 1.0
            assert keeper["cluster_size"] == 2
    assert {row["match_source"] for row in copies if row["source"] == "books"} == {"web", "books"}
    assert sum(row["cluster_size"] - 1 for row in rows) == len(copies)
    assert all(row["cluster_size"] == 1 for row in copies)


def test_shards_say_how_many_documents_each_stands_for(workspace: Path) -> None:
    rows = table(workspace)

    def in_shards() -> dict[tuple[str, str, int], int]:
        tables = [
            read_document_table(path) for path in sorted((workspace / "out").glob("*.documents.parquet"))
        ]
        listed = [row for each in tables for row in each.to_pylist()]
        return {(row["source"], row["path"], row["position"]): row["cluster_size"] for row in listed}

    kept = [row for row in rows if row["verdict"] != "dropped"]
    found = in_shards()
    assert found == {(row["source"], row["path"], row["position"]): row["cluster_size"] for row in kept}
    assert max(found.values()) == 3 and sum(found.values()) < len(rows)
    # A copy more changes no text that is kept, but what is said of it.
    with (workspace / "in" / "web-0.jsonl").open("a") as file:
        file.write(json.dumps({"url": "once more", "content": document("web 0")}) + "\n")
    result = again(workspace)
    assert result.tasks_run["write"] >= 1
    more = in_shards()
    (changed,) = [place for place in found if more[place] != found[place]]
    assert more.keys() == found.keys() and more[changed] == found[changed] + 1


def test_every_split_is_looked_at_twice_at_most(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many splits hold the documents that those of a split are copies of."""
    asked = Counter[int]()

    def counted(plans: Plans, index: int) -> Any:
        asked[index] += 1
        return places_in(plans, index)

    monkeypatch.setattr("dataprep.verdict_table.places_in", counted)
    sources = {}
    for number in range(6):
        lines = [json.dumps({"text": document(f"{n}")}) for n in (range(3) if number > 2 else [number])]
        (workspace / f"{number}.jsonl").write_text("\n".join(lines))
        sources[f"s{number}"] = {"path": str(workspace / f"{number}.jsonl")}
    rows = table(workspace, sources=sources, steps=[{"exact_dedup": {}}])
    matches = [(row["source"], row["match_source"]) for row in rows]
    firsts = [(f"s{number}", None) for number in range(3)]
    assert matches == firsts + [(f"s{copy}", f"s{number}") for copy in (3, 4, 5) for number in range(3)]
    assert max(asked.values()) == 2


def test_the_table_does_not_depend_on_the_workers(workspace: Path) -> None:
    table(workspace)
    first = (workspace / "out" / NAME).read_bytes()
    shutil.rmtree(workspace / "out")
    run(make_recipe(workspace), workers=2, verdicts=True)
    assert (workspace / "out" / NAME).read_bytes() == first


def test_a_table_of_another_corpus_does_not_stay(workspace: Path) -> None:
    table(workspace)
    run(make_recipe(workspace), workers=0)
    assert (workspace / "out" / NAME).exists()  # the corpus is the same
    run(make_recipe(workspace, steps=[]), workers=0)
    assert not (workspace / "out" / NAME).exists()


def test_every_name_of_a_document(workspace: Path) -> None:
    rows = table(workspace)
    row = next(row for row in rows if row["source"] == "books" and row["verdict"] == "dropped")
    recipe = make_recipe(workspace)
    for name in (row["raw_hash"].hex(), f"{row['path']}:{row['position']}"):
        found = explain_document(recipe, name, source="books")["documents"]
        assert [each["position"] for each in found] == [row["position"]]
        assert found[0]["reasons"] == row["reasons"]


def test_checks_agree_with_the_verdict(workspace: Path) -> None:
    rows = table(workspace)
    recipe = make_recipe(workspace)
    short = next(row for row in rows if row["source"] == "books" and row["text_bytes"] == len("short"))
    (found,) = explain_document(recipe, short["raw_hash"].hex())["documents"]
    dropping = [f"{check['step']}: {check['reason']}" for check in found["checks"] if check["dropped"]]
    assert dropping == found["reasons"] == short["reasons"]
    first = found["checks"][0]
    assert first == {
        "step": "gopher_quality", "reason": "gopher_short_doc", "value": 1, "drops": "< 50", "dropped": True
    }  # fmt: skip
    assert found["signals"]["gopher_quality"]["words"] == 1
    assert found["text"] == "short"


def test_the_command_prints_both_ways(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(workspace)
    path = str(write_recipe(workspace))
    app(["explain", path, "u0"], standalone_mode=False)
    text = capsys.readouterr().out
    assert "web u0 (web-0.jsonl, position 0)" in text and "gopher_short_doc" in text and "drops < 50" in text
    assert all(line.strip() for line in text.splitlines())  # a transform has nothing to show
    app(["explain", path, "u0", "--json"], standalone_mode=False)
    (found,) = json.loads(capsys.readouterr().out)["documents"]
    assert found["id"] == "u0" and found["verdict"] in ("train", "holdout")


@pytest.mark.parametrize(
    ("changes", "name", "complaint"),
    [
        ({}, "nobody", "no document is called 'nobody'"),
        ({}, "\udcff", "no document is called '.udcff'"),
        ({}, "web-0.jsonl:" + 5000 * "9", "no document is called 'web"),
        (
            {"steps": [*STEPS, {"exact_dedup": {"within": "source"}}]},
            "u0",
            "the stage exact_dedup hashes of this recipe",
        ),
        (
            {"steps": [{"gopher_quality": {"stop_words": ["I", "the"]}}]},
            "u0",
            "the stage measure of this recipe",
        ),
    ],
)
def test_what_cannot_be_explained(
    workspace: Path, changes: dict[str, Any], name: str, complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        explain_document(make_recipe(workspace, **changes), name)
