"""The wording of rerun reasons."""

from __future__ import annotations

import pytest

from dataprep.why import explain, explain_extents

STEP = {
    "step": "gopher_quality",
    "version": 1,
    "parameters": {"min_words": 50},
    "depends": {"unicode": "14.0.0"},
}


def changed(**fields: object) -> dict[str, object]:
    return {"columns": {**STEP, **fields}}


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (None, {"columns": STEP}, "new"),
        ({"columns": STEP}, {"columns": STEP}, "its result is not in the work folder"),
        ({"columns": STEP}, changed(version=2), "version: 1 -> 2"),
        ({"columns": STEP}, changed(depends={"unicode": "15.0.0"}), "depends.unicode: 14.0.0 -> 15.0.0"),
        ({"columns": STEP}, changed(parameters={"min_words": 40}), "min_words: 50 -> 40"),
        ({"above": []}, {"above": [STEP]}, "gopher_quality is new"),
        ({"above": [STEP]}, {"above": [{**STEP, "version": 3}]}, "gopher_quality.version: 1 -> 3"),
        (
            {"steps": [{"label": "a", "step": "x", "parameters": {"t": 1}}]},
            {"steps": [{"label": "a", "step": "x", "parameters": {"t": 2}}]},
            "a.t: 1 -> 2",
        ),
        (
            {"gates": [STEP, {**STEP, "version": 2}]},
            {"gates": [{**STEP, "version": 3}, {**STEP, "version": 2}]},
            "gates.gopher_quality.version: 1 -> 3",
        ),
        (
            {"above": [STEP, {"step": "normalize"}]},
            {"above": [{"step": "normalize"}, STEP]},
            "order of steps: gopher_quality, normalize -> normalize, gopher_quality",
        ),
        (
            {"columns": "blake2b-128:" + "0" * 32},
            {"columns": "blake2b-128:" + "1" * 32},
            "what was measured changed",
        ),
        ({"holdout": 0.01}, {"holdout": 0.02}, "holdout: 0.01 -> 0.02"),
    ],
)
def test_reasons(before: dict[str, object] | None, now: dict[str, object], expected: str) -> None:
    assert explain(before, now) == expected


def test_many_differences_are_counted() -> None:
    before = dict.fromkeys("abcdef", 1)
    assert explain(before, dict.fromkeys("abcdef", 2)) == "a: 1 -> 2, b: 1 -> 2, c: 1 -> 2 and 3 more"


def test_inputs() -> None:
    old = [["a", 0, 5, "x"], ["b", 0, 5, "y"]]
    assert explain_extents(old, old) == ""
    assert explain_extents(old, [*old, ["c", 0, 1, "z"]]) == "input added: c"
    assert explain_extents(old, old[:1]) == "input removed: b"
    assert explain_extents(old, [["a", 0, 5, "new"], old[1]]) == "input changed: a"
    assert explain_extents(old, [["c", 0, 1, "z"]]) == "input added: c; input removed: a and 1 more"
