from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from manifests.errors import UserError
from tests.trainer.data.plans import WEIGHTS, FakeCorpus, plan, spec
from trainer.data.rows import RowPlan
from trainer.data.schedule import BatchSchedule, PhaseSpec
from trainer.data.walk import PERIOD


def build(corpora: list[FakeCorpus], **changes: Any) -> RowPlan:
    given: Any = corpora
    return RowPlan.build(given, spec(**changes))


def one(weights: dict[str, float], length: int = 16) -> tuple[PhaseSpec, ...]:
    return (PhaseSpec(0, length, weights),)


def test_a_plan() -> None:
    found = plan()
    assert [source.name for source in found.sources] == ["code", "licences", "prose"]
    assert (found.num_steps, found.num_rows, found.block_tokens) == (20, 100, 16)
    assert sum(found.phases[0].quota) == PERIOD
    summary = found.summary()
    assert summary["phases"][0]["weights"]["prose"] == {
        "asked": 0.3,
        "realised": 314573 / PERIOD,
        "targets_per_row": 16.0,
    }
    assert summary["sources"]["code"]["rows"] == 50
    assert summary["sources"]["code"]["epochs"] == pytest.approx(50 / 62)
    json.dumps(summary)


def test_weights_need_not_add_up_to_one() -> None:
    assert plan(phases=one({"code": 5, "prose": 3, "licences": 2})).phases[0].quota == plan().phases[0].quota


def test_block_tokens_default_to_the_greatest_length() -> None:
    phases = (PhaseSpec(0, 8, WEIGHTS), PhaseSpec("5 steps", 32, WEIGHTS))
    assert plan(phases=phases).block_tokens == 32
    assert plan(phases=phases, block_tokens=64).block_tokens == 64


def test_sources_of_several_corpora() -> None:
    first, second = FakeCorpus({"code": 999, "web": 500}), FakeCorpus({"code": 800}, corpus="other")
    found = build([first, second], phases=one({"tiny/code": 1, "other/code": 1, "web": 1}))
    assert [source.key_name for source in found.sources] == ["other/code", "tiny/code", "tiny/web"]
    assert [source.name for source in found.sources] == ["other/code", "tiny/code", "web"]
    # Equal names, equal sizes: still orders of their own.
    twins = [FakeCorpus({"code": 999}), FakeCorpus({"code": 999}, corpus="other")]
    refs = build(twins, phases=one({"tiny/code": 1, "other/code": 1})).locate(np.arange(100))
    assert refs.block[refs.source == 0].tolist() != refs.block[refs.source == 1].tolist()


REFUSED: dict[str, tuple[list[FakeCorpus], dict[str, Any], tuple[str, ...]]] = {
    "no manifest": ([], {}, ("no manifest",)),
    "unknown source": (
        [FakeCorpus({"code": 999, "prose": 999})],
        {},
        ("source licences is in no manifest", "code, prose"),
    ),
    "ambiguous source": (
        [FakeCorpus({"code": 999}), FakeCorpus({"code": 999}, corpus="other")],
        {"phases": one({"code": 1.0})},
        ("source code is in several manifests", "tiny/code or other/code"),
    ),
    "one source twice": (
        [FakeCorpus({"code": 999})],
        {"phases": one({"code": 1.0, "tiny/code": 1.0})},
        ("are the same source",),
    ),
    "one corpus twice": (
        [FakeCorpus({"code": 999}), FakeCorpus({"code": 999}, version="2.0.0")],
        {"phases": one({"code": 1.0})},
        ("two manifests of corpus tiny",),
    ),
    "two tokenizers": (
        [FakeCorpus({"code": 999}), FakeCorpus({"web": 999}, corpus="other", tokenizer="sha256:bb")],
        {"phases": one({"code": 1.0})},
        ("different tokenizers", "sha256:aa", "sha256:bb"),
    ),
    "empty source": (
        [FakeCorpus({"code": 999, "void": 0})],
        {"phases": one({"code": 1.0, "void": 1.0})},
        ("source void has no tokens in its train subset",),
    ),
    "a source smaller than a block": (
        [FakeCorpus({"code": 999, "little": 16})],
        {"phases": one({"code": 1.0, "little": 1.0})},
        ("source little has 16 tokens, which is not one block of 16",),
    ),
    "a weight that is lost in the sum": (
        [FakeCorpus({"code": 999, "rare": 999})],
        {"phases": one({"code": 1.0, "rare": 5e-324})},
        ("source rare gets no row",),
    ),
    "a weight that rounds to nothing": (
        [FakeCorpus({"code": 999, "rare": 999})],
        {"phases": one({"code": 1.0, "rare": 1e-8})},
        ("source rare gets no row",),
    ),
    "a weight that is rounded by more than 5 %": (
        [FakeCorpus({"code": 999, "rare": 999})],
        {"phases": one({"code": 1.0, "rare": 1.45 / PERIOD})},
        ("source rare: weight", "31.0% off"),
    ),
    "weight 0": (
        [FakeCorpus({"code": 999})],
        {"phases": one({"code": 0.0})},
        ("source code has the weight 0.0",),
    ),
    "weight nan": (
        [FakeCorpus({"code": 999})],
        {"phases": one({"code": float("nan")})},
        ("source code has the weight nan",),
    ),
    "too many epochs": (
        [FakeCorpus({"code": 999, "prose": 100})],
        {"phases": one({"code": 1.0, "prose": 1.0}), "max_epochs": {"default": 8}},
        ("source prose would be gone through 8.33 times in 20 steps; its limit is 8",),
    ),
    "a limit for a source that is not there": (
        [FakeCorpus({"code": 999})],
        {"phases": one({"code": 1.0}), "max_epochs": {"cdoe": 1}},
        ("max_epochs names cdoe",),
    ),
    "a length that does not divide the block": (
        [FakeCorpus({"code": 999})],
        {"phases": (PhaseSpec(0, 16, {"code": 1.0}), PhaseSpec("3 steps", 12, {"code": 1.0}))},
        ("phase 1: sequence_length 12 does not divide the block of 16 tokens",),
    ),
    "all problems at once": (
        [FakeCorpus({"void": 0, "small": 3})],
        {"phases": one({"void": 1.0, "small": 1.0})},
        ("source void", "source small"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(case: str) -> None:
    corpora, changes, parts = REFUSED[case]
    with pytest.raises(UserError) as caught:
        build(corpora, **changes)
    for part in parts:
        assert part in caught.value.what, caught.value.what


def test_rounding_may_be_accepted() -> None:
    corpora = [FakeCorpus({"code": 999, "rare": 999})]
    found = build(corpora, phases=one({"code": 1.0, "rare": 1.45 / PERIOD}), accept_rounding=True)
    assert found.phases[0].quota == (PERIOD - 1, 1)
    nothing = build(corpora, phases=one({"code": 1.0, "rare": 1e-8}), accept_rounding=True)
    assert nothing.phases[0].quota == (PERIOD, 0)


def test_a_limit_of_its_own_goes_before_the_default() -> None:
    corpora = [FakeCorpus({"code": 999, "prose": 100})]
    phases = one({"code": 1.0, "prose": 1.0})
    build(corpora, phases=phases, max_epochs={"default": 1, "prose": 8.4})
    with pytest.raises(UserError, match=r"its limit is 8\.3"):
        build(corpora, phases=phases, max_epochs={"prose": 8.3})
    build(corpora, phases=phases)  # no limit at all


def test_facts_make_the_same_plan_again() -> None:
    phases = (PhaseSpec(0, 16, WEIGHTS), PhaseSpec("5 steps", 8, {"code": 1, "prose": 2}))
    found = plan(phases=phases, batch=BatchSchedule((0, 3), (4, 6)), shuffle_extent=2, document_mask=True)
    facts = json.loads(json.dumps(found.facts()))
    again = RowPlan.from_facts(facts)
    assert again.facts() == facts
    rows = np.arange(300)
    for name in ("source", "epoch", "block", "part", "start"):
        np.testing.assert_array_equal(getattr(again.locate(rows), name), getattr(found.locate(rows), name))


@pytest.mark.parametrize("name", ["format", "format_version", "order_version"])
def test_facts_of_another_version_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=name):
        RowPlan.from_facts({**plan().facts(), name: 99})


FINGERPRINTED = {
    "seed": {"seed": 8},
    "mask": {"document_mask": True},
    "extent": {"shuffle_extent": 2},
    "weights": {"phases": one({**WEIGHTS, "code": 0.6})},
    "length": {"phases": one(WEIGHTS, 8)},
    "block": {"block_tokens": 32},
    "batch": {"batch": BatchSchedule.constant(6)},
    "phases": {"phases": (*one(WEIGHTS), PhaseSpec("4 steps", 16, WEIGHTS))},
    "tokens": {"tokens": {"code": 1001, "prose": 700, "licences": 300}},
}


@pytest.mark.parametrize("change", FINGERPRINTED)
def test_fingerprint_covers(change: str) -> None:
    assert plan(**FINGERPRINTED[change]).fingerprint() != plan().fingerprint()


def test_fingerprint_leaves_out_where_things_lie_and_how_long_the_run_is() -> None:
    here = build([FakeCorpus({"code": 999}, folder=Path("/a"))], phases=one({"code": 1.0}))
    there = build([FakeCorpus({"code": 999}, folder=Path("/b"))], phases=one({"code": 2.0}), steps=40)
    assert here.fingerprint() == there.fingerprint()
    newer = build([FakeCorpus({"code": 999}, version="1.0.1")], phases=one({"code": 1.0}))
    assert newer.facts()["fingerprints"]["manifests"] != here.facts()["fingerprints"]["manifests"]
    assert newer.facts()["fingerprints"]["schedule"] == here.facts()["fingerprints"]["schedule"]
