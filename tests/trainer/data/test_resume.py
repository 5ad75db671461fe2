from __future__ import annotations

from typing import Any

import pytest

from manifests.errors import UserError
from tests.trainer.data.plans import TOKENS, WEIGHTS, FakeCorpus, plan, spec
from trainer.data.resume import check_resume, compare_schedules
from trainer.data.rows import RowPlan
from trainer.data.schedule import BatchSchedule, PhaseSpec

LATER = {"code": 0.1, "prose": 0.9}
BASE: dict[str, Any] = {
    "phases": (PhaseSpec(0, 16, WEIGHTS), PhaseSpec("10 steps", 8, LATER)),
    "batch": BatchSchedule((0, 12), (5, 7)),
    "block_tokens": 16,
}
"""The second phase starts at row 50, the second batch size at row 60."""


def facts(**changes: Any) -> dict[str, Any]:
    return plan(**{**BASE, **changes}).facts()


def test_nothing_differs() -> None:
    for next_row in (0, 1, 50, 51, 1000):
        assert compare_schedules(facts(), facts(), next_row) == []


PAST: dict[str, tuple[dict[str, Any], str]] = {
    "seed": ({"seed": 8}, "seed: 7 -> 8"),
    "mask": ({"document_mask": True}, "document_mask: False -> True"),
    "extent": ({"shuffle_extent": 2}, "shuffle_extent: 1 -> 2"),
    "weights": ({"phases": (PhaseSpec(0, 16, LATER), BASE["phases"][1])}, "phase 0 rows per period"),
    "length": ({"phases": (PhaseSpec(0, 8, WEIGHTS), BASE["phases"][1])}, "phase 0 sequence_length: 16 -> 8"),
    "block": ({"block_tokens": 32}, "phase 0 block_tokens: 16 -> 32"),
    "batch": ({"batch": BatchSchedule((0, 12), (10, 7))}, "rows per step"),
    "tokens": ({"tokens": {**TOKENS, "licences": 301}}, "source tiny/licences: 300 tokens"),
    "a phase put in": (
        {"phases": (BASE["phases"][0], PhaseSpec("2 steps", 16, LATER), PhaseSpec("10 steps", 8, LATER))},
        "phase 1: absent -> ",
    ),
}


@pytest.mark.parametrize("change", PAST)
def test_an_edited_past_is_refused_with_a_diff(change: str) -> None:
    changes, line = PAST[change]
    old, new = facts(), facts(**changes)
    assert any(line in found for found in compare_schedules(old, new, 20)), compare_schedules(old, new, 20)
    with pytest.raises(UserError, match="first 20 rows") as caught:
        check_resume(old, new, 20)
    assert line in str(caught.value)
    check_resume(old, new, 0)  # nothing was trained on yet


def test_packed_rows_of_the_past_must_be_those_that_were_trained_on() -> None:
    """They are no part of the content of a manifest: a corpus may be packed anew, by another rule."""
    phases = PhaseSpec(0, 8, LATER, "best_fit"), PhaseSpec("10 steps", 16, WEIGHTS, "best_fit")
    packed: dict[str, Any] = {"phases": phases, "accept_repeat": True, "block_tokens": None}
    old = facts(**packed)
    for length, next_row, refused in (("8", 20, True), ("16", 20, False), ("16", 51, True)):
        new = facts(**packed)
        source = next(each for each in new["sources"] if each["name"] == "code")
        source["packings"][length]["digest"] = "blake2b-128:" + "0" * 32
        found = compare_schedules(old, new, next_row)
        assert len(found) == refused
        assert all(f"source tiny/code, packed rows of {length}: blake2b" in line for line in found)
    consecutive = facts(phases=(PhaseSpec(0, 8, LATER), phases[1]), accept_repeat=True)
    assert "phase 0 pack: best_fit -> concat" in compare_schedules(old, consecutive, 20)


FUTURE: dict[str, tuple[dict[str, Any], int]] = {
    "weights of the second phase": ({"phases": (BASE["phases"][0], PhaseSpec("10 steps", 8, WEIGHTS))}, 50),
    "start of the second phase": ({"phases": (BASE["phases"][0], PhaseSpec("11 steps", 8, LATER))}, 50),
    "no second phase": ({"phases": BASE["phases"][:1]}, 50),
    "a third phase": ({"phases": (*BASE["phases"], PhaseSpec("14 steps", 4, WEIGHTS))}, 74),
    "later batch": ({"batch": BatchSchedule((0, 12), (5, 9))}, 60),
    "later start of a batch": ({"batch": BatchSchedule((0, 13), (5, 7))}, 60),
}


@pytest.mark.parametrize("change", FUTURE)
def test_the_future_may_change_up_to_the_next_row(change: str) -> None:
    changes, row = FUTURE[change]
    assert compare_schedules(facts(), facts(**changes), row) == []
    assert compare_schedules(facts(), facts(**changes), row + 1) != []


def test_a_longer_run_and_a_moved_corpus_are_the_same_run() -> None:
    assert compare_schedules(facts(), facts(steps=500), 10_000) == []


def test_a_source_may_be_added_later_and_moves_no_row_of_the_past() -> None:
    """The new source sorts before the others, so their indices change, but not what they give."""
    corpora: Any = [FakeCorpus(TOKENS), FakeCorpus({"web": 900}, corpus="another")]
    phases = (BASE["phases"][0], PhaseSpec("10 steps", 8, {**LATER, "web": 0.5}))
    new = RowPlan.build(corpora, spec(**{**BASE, "phases": phases}))
    assert compare_schedules(facts(), new.facts(), 50) == []
    old = plan(**BASE)
    before, after = old.locate(old.rows_of_step(3)), new.locate(new.rows_of_step(3))
    assert [old.sources[k].key_name for k in before.source] == [new.sources[k].key_name for k in after.source]
    assert before.start.tolist() == after.start.tolist()


def test_a_new_version_of_a_used_corpus_is_refused() -> None:
    corpora: Any = [FakeCorpus(TOKENS, version="1.1.0")]
    new = RowPlan.build(corpora, spec(**BASE)).facts()
    assert any("1.1.0" in line for line in compare_schedules(facts(), new, 1))
