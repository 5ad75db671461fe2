"""decontaminate: what is dropped, what is cut, per set; and that it does not depend on batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.decide.contamination import Rule, evidence
from dataprep.evals.definitions import DEFINITIONS
from dataprep.evals.shared import shared_index
from dataprep.kernels.texts import Texts
from dataprep.steps.decontaminate import (
    DECONTAMINATE,
    DecontaminateParams,
    checks,
    cut,
    definition_of,
    depends,
    files_of,
    judged,
    measure,
    rewrites,
)
from tests.reference import contamination as twin

ONE = "Which of the seven wonders of the old world is still standing today?"
TWO = "Write a function to find the longest common run of words in a list of texts."
HOST = "Some words of a document that has nothing to do with it. " * 8


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    for name, question in (("one", ONE), ("two", TWO)):
        rows = [{"question": question, "answer": "Giza"}]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def params_of(sets: Path, **others: Any) -> DecontaminateParams:
    names = others.pop("actions", {"one": None, "two": None})
    evals = [
        {"path": str(sets / f"{name}.jsonl"), "fields": {"question": "question", "answer": "answer"}}
        | ({"action": action} if action else {})
        for name, action in names.items()
    ]
    return DecontaminateParams.model_validate_json(json.dumps({"evals": evals, **others}))


def by_itself(batch: Batch, params: DecontaminateParams) -> tuple[Texts, dict[str, Any]]:
    """What becomes of the documents of a batch, if there are no others."""
    hits, _ = measure(batch, params)
    index = shared_index(files_of(params), definition_of(params))
    documents = np.zeros(index.references.keys.size, dtype=np.int64)
    found = evidence(hits, index, documents, Rule(answer=params.answer_near))
    signals, cuts = judged(hits, index, found, params)
    if not rewrites(params):
        return batch.texts, signals
    order = np.lexsort((cuts[:, 2], cuts[:, 1], cuts[:, 0]))
    texts, more = cut(batch, params, *cuts[order].T)
    return texts, {**signals, **more}


def done(
    params: DecontaminateParams, strings: list[str]
) -> tuple[list[str], dict[str, list[int]], list[bool]]:
    texts, signals = by_itself(Batch.of(Texts.from_strings(strings)), params)
    dropped = np.logical_or.reduce([check.dropped for check in checks(signals, params)])
    return texts.to_strings(), {name: column.tolist() for name, column in signals.items()}, dropped.tolist()


def test_drop_report_and_what_it_says(sets: Path) -> None:
    strings = [HOST, f"{HOST}{ONE.upper()}{HOST}", TWO, f"{ONE} {TWO}", ONE[:30]]
    texts, signals, dropped = done(params_of(sets), strings)
    assert texts == strings
    assert dropped == [False, True, True, True, False]
    assert signals["contaminated"] == [0, 1, 1, 2, 0]
    assert signals["eval_example"] == [-1, 0, 1, 1, -1]
    assert signals["matched_words"] == [0, 13, 16, 16, 0]
    texts, signals, dropped = done(params_of(sets, action="report"), strings)
    assert (texts, dropped) == (strings, [False] * 5)
    assert signals["contaminated"] == [0, 1, 1, 2, 0]


def test_each_set_has_an_action_of_its_own(sets: Path) -> None:
    params = params_of(sets, actions={"one": "cut", "two": "drop"}, margin=0)
    texts, signals, dropped = done(params, [f"a {ONE} b", f"a {TWO} b", f"a {ONE} {TWO} b"])
    assert texts == ["a \n? b", f"a {TWO} b", f"a \n? {TWO} b"]
    assert dropped == [False, True, True]
    assert signals["cut_bytes"] == [len(ONE) - 1, 0, len(ONE) - 1]
    assert rewrites(params)
    assert not rewrites(params_of(sets))


def test_a_margin_is_characters_and_splits_none(sets: Path) -> None:
    params = params_of(sets, action="cut", margin=3)
    text = f"caf\u00e9 e\u0301\u4e2d\u6587 {ONE}\u4e2d\u6587e\u0301 end"
    texts, _, _ = done(params, [text, ONE, f"{ONE}\n{HOST}\n{ONE}"])
    assert texts[0] == "caf\u00e9 e\u0301\ne\u0301 end"  # the question mark is one of the three
    assert texts[1] == ""
    assert texts[2].strip() == HOST.strip()[1:] or HOST[2:20] in texts[2]
    assert done(params, [ONE])[2] == [True]


def test_gpt3_leaves_janitors_pieces(sets: Path) -> None:
    params = params_of(sets, definition="gpt3", action="cut")
    long = HOST * 2
    strings = [f"{long}{TWO} {long}", f"{TWO} " * 12, f"{HOST}{ONE}", HOST[:100]]
    texts, _, dropped = done(params, strings)
    assert texts[:3] == ["\n".join(twin.janitor(string, [ONE, TWO])) for string in strings[:3]]
    assert texts[3] == strings[3]  # Janitor drops what is short, found or not
    assert dropped == [False, True, False, False]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_results_do_not_depend_on_batches(name: str, sets: Path) -> None:
    params = params_of(sets, action="cut", definition=name)
    strings = [HOST, f"{HOST}{ONE.upper()}{HOST}", TWO, f"{ONE} {TWO}", "", ONE, f"{ONE[:45]} {TWO[:52]}"] * 3
    together = done(params, strings)
    for size in (1, 4):
        parts = [done(params, strings[at : at + size]) for at in range(0, len(strings), size)]
        assert [text for part in parts for text in part[0]] == together[0]
        for name, column in together[1].items():
            assert [value for part in parts for value in part[1][name]] == column


def test_code_with_other_indentation_numbers_and_cjk(tmp_path: Path) -> None:
    code = "def f(a, b):\n    for x in range(10):\n        if a[x] > b[x]:\n            return 3.14\n"
    chinese = (
        "\u5728\u4e2d\u56fd\u7684\u5386\u53f2\u4e0a\uff0c"
        "\u54ea\u4e00\u4e2a\u671d\u4ee3\u6301\u7eed\u7684\u65f6\u95f4\u6700\u957f\uff1f"
    )
    numbers = "If 12 men dig 345 holes in 6 days, how many days do 78 men need?"
    rows = [{"question": each} for each in (code, chinese, numbers)]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    evals = [{"path": str(path), "fields": {"question": "question"}}]
    params = DecontaminateParams.model_validate_json(json.dumps({"evals": evals}))
    strings = [
        "x = 1\ndef f(a,b):\n\tfor x in range( 10 ):\n\t\tif a[x] > b[x]: return 3.14",
        f"\u95ee\uff1a{chinese.replace(chr(0xFF0C), ' ')}\u7b54",
        "Problem. If 12 men dig 345 holes\nin 6 days how many days do 78 men need",
        "If 13 men dig 346 holes in 7 days, how many days do 79 men need?",
    ]
    assert done(params, strings)[2] == [True, True, True, False]


def test_keys(sets: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = depends(params_of(sets))
    assert before == depends(params_of(sets))
    assert depends(params_of(sets, definition="tulu3")) != before
    assert depends(params_of(sets, actions={"one": "cut", "two": None})) == before
    (sets / "one.jsonl").write_text(json.dumps({"question": TWO + ONE, "answer": "x"}) + "\n")
    assert depends(params_of(sets))["evals"] != before["evals"]
    assert not DECONTAMINATE.measuring & {"evals", "action", "frequent", "answer_near"}
    monkeypatch.setenv("HEADRACE_EVALS", str(tmp_path / "kept"))
    params = params_of(sets)
    index = shared_index(files_of(params), definition_of(params))
    (kept,) = (tmp_path / "kept").glob("*.index")
    data = kept.read_bytes()
    assert not index.references.words.flags.writeable
    kept.unlink()
    from dataprep.evals import shared

    shared._index.cache_clear()
    shared_index(files_of(params), definition_of(params))
    assert kept.read_bytes() == data


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"definition": "gpt3", "share": 0.5}, "knows no share"),
        ({"definition": "tulu3", "min_words": 9}, "knows no min_words"),
        ({"definition": "palm", "answer_near": True}, "knows no answer_near"),
        ({"definition": "gpt4"}, "longest"),
        ({"evals": []}, "at least 1"),
    ],
)
def test_what_is_refused(sets: Path, wrong: dict[str, Any], message: str) -> None:
    values = {"evals": [str(sets / "one.jsonl")], **wrong}
    with pytest.raises(ValidationError, match=message):
        DecontaminateParams.model_validate_json(json.dumps(values))
