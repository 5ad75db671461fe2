"""Carried fields, conditions on them, takedowns, other encodings and samples, through whole runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dataprep.explain_plan import plan_recipe
from dataprep.recipe import recipe_of
from dataprep.run import RunResult, run
from dataprep.views.explain import explain_document
from manifests.corpus import open_corpus
from manifests.errors import UserError
from tests.e2e.corpora import document

COUNT = 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = [
        {
            "title": f"Page {index}",
            "body": {"text": document(f"page {index % (COUNT - 20)}", 2)},
            "url": f"https://Site-{index % 3}.example/{index}",
            "meta": {"license": ("MIT", "CC0-1.0", "unknown")[index % 3], "score": index},
            "date": f"20{10 + index % 10}-06-01T00:00:00Z",
        }
        for index in range(COUNT)
    ]
    (tmp_path / "web.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return tmp_path


def data_of(folder: Path, *steps: Any, **source: Any) -> dict[str, Any]:
    web = {
        "path": str(folder / "web.jsonl"),
        "text": "{title}\n\n{body.text}",
        "id": "url",
        "carry": ["meta.license", "meta.score", "date", "url"],
    }
    return {
        "corpus": "small",
        "version": "1.0.0",
        "sources": {"web": web | source},
        "steps": list(steps),
        "tokenizer": {"train": {"vocab_size": 300}, "engine": "tokenizers"},
        "output": str(folder / "out"),
    }


def go(folder: Path, *steps: Any, share: float | None = None, **source: Any) -> RunResult:
    recipe = recipe_of(data_of(folder, *steps, **source))
    return run(recipe if share is None else recipe.sampled(share), workers=0)


def ids_in(folder: Path, name: str = "out") -> list[str]:
    corpus = open_corpus(folder / name)
    return sorted(
        own_id
        for shard in corpus.shards_of("web", "train")
        for own_id in pq.read_table(folder / name / f"{shard.name}.documents.parquet")["id"].to_pylist()
    )


def ids_where(holds: Callable[[int], bool]) -> list[str]:
    return sorted(f"https://Site-{index % 3}.example/{index}" for index in range(COUNT) if holds(index))


def row(result: RunResult, stage: str) -> dict[str, Any]:
    return next(each for each in result.report["funnel"] if each["stage"] == stage)


def test_conditions_on_fields(folder: Path) -> None:
    conditions: dict[str, Any] = {"meta.license": {"in": ["MIT", "CC0-1.0"]}, "date": {"from": "2013"}}
    result = go(folder, {"where": {"fields": conditions}})
    assert ids_in(folder) == ids_where(lambda index: index % 3 < 2 and index % 10 >= 3)
    assert row(result, "where")["joint"] == {"where_date": 90, "where_meta_license": 100}

    conditions["meta.license"]["in"] = ["MIT"]
    again = go(folder, {"where": {"fields": conditions}})
    assert "measure" not in again.tasks_run and again.tasks_run["decide"] == 1
    assert ids_in(folder) == ids_where(lambda index: index % 3 == 0 and index % 10 >= 3)

    conditions["meta.score"] = {"max": 99}
    more = go(folder, {"where": {"fields": conditions}})
    assert more.tasks_run["measure"] == 1
    assert ids_in(folder) == ids_where(lambda index: index % 3 == 0 and index % 10 >= 3 and index < 100)


def test_carrying_more_measures_nothing_that_does_not_need_it(folder: Path) -> None:
    steps = ({"gopher_quality": {"min_words": 5}}, {"where": {"fields": {"date": {"from": "2013"}}}})
    go(folder, *steps, carry=["date"])
    assert go(folder, *steps, carry=["url", "date"]).tasks_run.get("measure") is None


def test_takedowns(folder: Path) -> None:
    (folder / "urls.txt").write_text("http://site-0.example/0\n")
    step = {"exclude": {"ids": ["https://Site-1.example/1"], "urls_file": str(folder / "urls.txt")}}
    result = go(folder, step)
    assert ids_in(folder) == ids_where(lambda index: index not in (0, 1))
    assert row(result, "exclude")["dropped"] == {"excluded_id": 1, "excluded_url": 1}

    (folder / "urls.txt").write_text("site-0.example/0\nsite-2.example/2\n")
    again = go(folder, step)
    assert "measure" not in again.tasks_run
    assert ids_in(folder) == ids_where(lambda index: index not in (0, 1, 2))

    (folder / "urls.txt").unlink()
    with pytest.raises(UserError, match=r"steps\.0\.exclude: cannot read a list: .*urls\.txt"):
        go(folder, step)


def test_a_hash_of_the_document_table_takes_its_document_out(folder: Path) -> None:
    go(folder, {"normalize": {}})
    corpus = open_corpus(folder / "out")
    (shard, *_) = corpus.shards_of("web", "train")
    table = pq.read_table(folder / "out" / f"{shard.name}.documents.parquet")
    first = table.slice(0, 1).to_pylist()[0]
    value = first["content_hash"]
    value = value.hex() if isinstance(value, bytes) else value
    result = go(folder, {"normalize": {}}, {"exclude": {"hashes": [value]}})
    assert first["id"] not in ids_in(folder)
    assert row(result, "exclude")["dropped"]["excluded_hash"] >= 1


def test_a_list_that_changes_while_it_is_judged_by_stops_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "ids.txt").write_text("a\n")
    from dataprep.stages import judge

    judged = judge.reasons_of

    def slow(*arguments: Any) -> Any:
        (folder / "ids.txt").write_text("b\n")
        return judged(*arguments)

    monkeypatch.setattr(judge, "reasons_of", slow)
    with pytest.raises(UserError, match="changed while the run was reading it"):
        go(folder, {"exclude": {"ids_file": str(folder / "ids.txt")}})


def test_a_step_without_its_field_is_refused(folder: Path) -> None:
    steps = [{"where": {"fields": {"date": {"from": "2013"}, "lang": {"in": ["en"]}}}}]
    message = r"steps\.0\.where: needs what source web does not carry; say carry: \[lang\] there"
    with pytest.raises(UserError, match=message):
        recipe_of(data_of(folder, *steps))
    inputs = [{"path": "a", "carry": ["date", "lang"]}, {"path": "b", "carry": ["lang"]}]
    data = data_of(folder, *steps)
    data["sources"] = {"web": {"inputs": inputs}}
    with pytest.raises(UserError, match=r"say carry: \[date\] there"):
        recipe_of(data)
    data["sources"]["web"]["inputs"][1]["carry"].append("date")
    recipe_of(data)


def test_explain_shows_what_was_judged(folder: Path) -> None:
    conditions = {"meta.license": {"in": ["MIT"]}, "date": {"from": "2013"}}
    steps = ({"where": {"fields": conditions}}, {"exclude": {"urls": ["site-1.example/1"]}})
    go(folder, *steps)
    (found,) = explain_document(recipe_of(data_of(folder, *steps)), "https://Site-1.example/1")["documents"]
    assert [(each["reason"], each["value"], each["drops"], each["dropped"]) for each in found["checks"]][
        :2
    ] == [
        ("where_date", "2011-06-01T00:00:00Z", "before 2013-01-01", True),
        ("where_meta_license", "CC0-1.0", "not MIT", True),
    ]
    assert (found["checks"][2]["reason"], found["checks"][2]["dropped"]) == ("excluded_url", True)
    assert found["checks"][2]["drops"] == "one of 1 listed"


def test_samples(folder: Path) -> None:
    result = go(folder, {"exact_dedup": {}}, sample="30%")
    read, sampled = row(result, "read"), row(result, "sample")
    assert read["documents"] == COUNT
    assert sampled["documents"] + sum(sampled["dropped"].values()) == COUNT
    assert 50 < sampled["documents"] < 130
    small = ids_in(folder)

    whole = go(folder, {"exact_dedup": {}})
    assert not any(each["stage"] == "sample" for each in whole.report["funnel"])
    assert set(small) < set(ids_in(folder))


def test_a_quick_look_leaves_the_corpus_alone(folder: Path) -> None:
    go(folder)
    before = (folder / "out" / "manifest.json").read_bytes()
    look = go(folder, share=0.1)
    assert (folder / "out" / "manifest.json").read_bytes() == before
    assert 10 < len(ids_in(folder, "out.sample")) < 60
    assert look.published.folder == folder / "out.sample"
    assert not (folder / "out.sample.work").exists()
    assert go(folder).tasks_run == {}
    assert go(folder, share=0.1).tasks_run == {}
    assert plan_recipe(recipe_of(data_of(folder)).sampled(0.1))["first"] is None
    assert go(folder, share=0.2).tasks_run["measure"] == 1


def test_other_encodings(folder: Path) -> None:
    plain = go(folder).published.manifest
    text = (folder / "web.jsonl").read_text()
    (folder / "web.jsonl").write_bytes(text.encode("utf-16"))
    same = go(folder, encoding="utf-16").published.manifest
    assert same.content_digest == plain.content_digest
