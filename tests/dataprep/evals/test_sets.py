"""Evaluation sets in every format, by ready-made maps and by the user's own; and what is wrong with one."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dataprep.evals.fields import FieldMap, example_of
from dataprep.evals.known import KNOWN, known_map
from dataprep.evals.sets import EvalFile, EvalSpec, eval_files, read_set, set_name
from manifests.errors import UserError

ROWS: list[dict[str, Any]] = [
    {"q": "What is it?", "a": "A thing, \u00e9", "n": 7},
    {"q": "", "a": None, "n": 8},
    {"q": "Third\nline", "a": "x", "n": 9},
]
FIELDS = FieldMap(question="q", answer=("a",), id="n")
WANTED = [("7", "What is it?", "A thing, \u00e9"), ("8", "", ""), ("9", "Third\nline", "x")]


def write(path: Path) -> Path:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    if path.name.endswith(".jsonl"):
        path.write_text(lines, encoding="utf-8")
    elif path.name.endswith(".gz"):
        path.write_bytes(gzip.compress(lines.encode()))
    elif path.name.endswith(".zst"):
        path.write_bytes(zstandard.compress(lines.encode()))
    elif path.name.endswith(".json"):
        path.write_text(json.dumps({"version": 1, "data": ROWS}), encoding="utf-8")
    elif path.name.endswith(".csv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["q", "a", "n"])
            writer.writeheader()
            writer.writerows(ROWS)
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.ndjson.zst", "a.json", "a.csv", "a.parquet"])
def test_every_format(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name)
    found = read_set(EvalFile("a", str(path), FIELDS))
    assert [(each.id, each.question, each.answer) for each in found.examples] == WANTED
    assert found.digest.startswith("sha256:")


def test_fields_reach_into_lists_and_objects_and_choose_an_answer() -> None:
    row = {
        "query": "Question: Which?\nAnswer:",
        "choices": {"text": ["one", "two"], "label": ["A", "B"]},
        "key": "B",
        "passages": [{"t": "p1"}, {"t": 2}],
    }
    fields = FieldMap(question=("query", "passages.t"), choices=("choices.text",), answer_index="key")
    example = example_of(row, fields, 5)
    assert (example.id, example.question, example.answer) == ("5", "Which?\nAnswer:\np1\n2", "two")
    assert example_of({"query": "Q: Which?\nA:"}, FieldMap(question=("query",)), 0).question == "Which?"
    assert example_of(row | {"key": 0}, fields, 0).answer == "one"
    assert example_of(row | {"key": "7"}, fields, 0).answer == ""


def test_ready_made_maps_fit_every_set_of_the_data_pack(data_pack: Path) -> None:
    files = eval_files([str(data_pack / "evals" / "*.jsonl.gz")])
    sizes = json.loads((data_pack / "evals" / "index.json").read_text())
    assert {file.name for file in files} == set(sizes)
    for file in files:
        found = read_set(file)
        assert len(found.examples) == sizes[file.name]["rows"]
        assert sum(bool(each.question) for each in found.examples) >= 0.99 * len(found.examples)
        answered = sum(bool(each.answer) for each in found.examples)
        assert answered >= 0.99 * len(found.examples) or file.name.startswith("wino")


def test_names_and_maps() -> None:
    assert set_name("x/gsm8k_test.jsonl.gz") == "gsm8k_test"
    assert set_name("x/MMLU.parquet") == "MMLU"
    assert known_map("MMLU-test", {"question": "?", "choices": [], "answer": 1}) == KNOWN["mmlu"][0]
    assert known_map("mmlu_pro", {"question": "?"}) == KNOWN["mmlu_pro"][0]
    assert known_map("arc_easy", {"question": "?", "choices": {}}) == KNOWN["arc"][1]
    assert known_map("arcane", {"question": "?"}) is None


def test_patterns_and_names(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl"):
        write(tmp_path / name)
    pattern = str(tmp_path / "*.jsonl")
    assert [file.name for file in eval_files([pattern])] == ["a", "b"]
    assert [file.name for file in eval_files([EvalSpec(path=str(tmp_path / "a.jsonl"), name="z")])] == ["z"]
    with pytest.raises(UserError, match="all be named"):
        eval_files([EvalSpec(path=pattern, name="z")])
    with pytest.raises(UserError, match='two evaluation sets are named "a"'):
        eval_files([pattern, str(tmp_path / "a.jsonl")])
    with pytest.raises(UserError, match="no evaluation set at"):
        eval_files([str(tmp_path / "none*.csv")])


def test_what_is_wrong(tmp_path: Path) -> None:
    wrong = {
        "a.jsonl": (b'{"q": 1}\nno', "not jsonl"),
        "b.json": (b'{"a": [], "b": []}', "one list"),
        "c.jsonl": (b"[1]\n", "not an object"),
        "d.txt": (b"", "ends with one of"),
        "e.parquet": (b"PAR0", "cannot read"),
        "f.jsonl.gz": (b"no gzip", "cannot read"),
        "g.csv": (b"q,a\n\xff,1\n", "UTF-8"),
        "h.jsonl": (b'{"other": 1}\n', "no field q"),
    }
    for name, (data, message) in wrong.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match=message):
            read_set(EvalFile("x", str(tmp_path / name), FIELDS))
    (tmp_path / "mine.jsonl").write_bytes(b'{"q": 1}\n')
    with pytest.raises(UserError, match="no well-known set") as caught:
        read_set(EvalFile("mine", str(tmp_path / "mine.jsonl")))
    assert "fields:" in str(caught.value)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert read_set(EvalFile("empty", str(tmp_path / "empty.jsonl"))).examples == []
