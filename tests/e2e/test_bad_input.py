"""Bad input in a whole run: quarantined by name, judged against the failure budget, and nothing else is
lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataprep.run import run
from manifests.errors import UserError
from tests.e2e.corpora import document, make_recipe


def lines(count: int, start: int = 0) -> list[bytes]:
    return [json.dumps({"content": document(f"d{start + index}")}).encode() for index in range(count)]


def web(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "sources": {"web": {"path": str(folder / "in" / "*"), "text": "content", "format": "jsonl"}},
        "steps": [{"exact_dedup": {}}],
        **changes,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def test_bad_records_within_the_budget_are_reported_and_the_rest_is_kept(folder: Path) -> None:
    bad = [
        b"{not json",
        b'{"content": 7}',
        b'{"other": "x"}',
        b'{"content": "\\ud800"}',
        b'{"content": "\xff"}',
    ]
    good = lines(20)
    (folder / "in" / "a.jsonl").write_bytes(b"\n".join([*good[:10], *bad, *good[10:]]) + b"\n")
    result = run(make_recipe(folder, **web(folder)), workers=0)
    found = result.report["quarantine"]["web"]
    assert found["records"] == 5
    assert [(each["file"], each["line"]) for each in found["first"]] == [
        ("a.jsonl", n) for n in range(11, 16)
    ]
    assert found["first"][0]["position"] == sum(len(line) + 1 for line in good[:10])
    assert {"not_json", "text_not_string", "missing_text", "invalid_utf8"} <= set(found["reasons"])
    assert result.report["funnel"][0]["documents"] == 20


def test_more_bad_records_than_the_budget_stop_the_run_by_file_line_and_reason(folder: Path) -> None:
    (folder / "in" / "a.jsonl").write_bytes(b"\n".join([*lines(5), *[b"[]"] * 11]) + b"\n")
    with pytest.raises(UserError) as caught:
        run(make_recipe(folder, **web(folder)), workers=0)
    text = str(caught.value)
    assert "source web: 11 of 16 records cannot be read (allowed: 10)" in text
    assert "a.jsonl, line 6, byte " in text
    assert not (folder / "out").exists()
    budget = {"failure_budget": {"records": 0.8}}
    assert run(make_recipe(folder, **web(folder, **budget)), workers=0).report["funnel"][0]["documents"] == 5


def test_one_damaged_file_is_within_the_budget_and_two_are_not(folder: Path) -> None:
    import gzip

    whole = gzip.compress(b"\n".join(lines(200)) + b"\n", mtime=0)
    (folder / "in" / "good.jsonl").write_bytes(b"\n".join(lines(10, 1000)) + b"\n")
    (folder / "in" / "cut-a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    result = run(make_recipe(folder, **web(folder)), workers=0)
    (damage,) = result.report["quarantine"]["web"]["damaged"]
    assert damage["file"] == "cut-a.jsonl.gz"
    assert damage["unread_bytes"] is not None
    assert result.report["funnel"][0]["documents"] > 50  # the whole records before the cut are kept
    (folder / "in" / "cut-b.jsonl.gz").write_bytes(whole[: len(whole) // 3])
    with pytest.raises(UserError, match="2 of 3 files are damaged") as caught:
        run(make_recipe(folder, **web(folder)), workers=0)
    assert "cut-b.jsonl.gz, byte " in str(caught.value)
    result = run(make_recipe(folder, **web(folder, exclude=["cut-b.jsonl.gz"])), workers=0)
    assert result.report["funnel"][0]["documents"] > 50


def test_empty_files_and_empty_texts_give_no_documents(folder: Path) -> None:
    (folder / "in" / "a.jsonl").write_bytes(b"")
    (folder / "in" / "b.jsonl").write_bytes(b'{"content": ""}\n\n' + b"\n".join(lines(3)))
    result = run(make_recipe(folder, **web(folder)), workers=0)
    rows = {row["stage"]: row for row in result.report["funnel"]}
    assert rows["read"]["documents"] == 4
    assert rows["empty_text"]["dropped"] == {"empty_text": 1}
    assert rows["holdout"]["documents"] + rows["train"]["documents"] == 3


def test_a_corpus_of_which_nothing_is_left_says_so(folder: Path) -> None:
    (folder / "in" / "a.jsonl").write_bytes(b"")
    with pytest.raises(UserError, match="no document is left"):
        run(make_recipe(folder, **web(folder)), workers=0)
