from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.fingerprint import digest_value
from manifests.lists import read_packing_list
from manifests.packings import seal_packings
from manifests.seal import seal_corpus
from tests.trainer.feeding import WEIGHTS, Batch, count_step, feed, make_plan, make_run, make_tiny_corpus
from trainer.audit import audit, write_data_plan
from trainer.checkpoint_meta import FORMAT, FORMAT_VERSION, step_name
from trainer.counts import step_record
from trainer.data.rows import RowPlan
from trainer.data.schedule import BatchSchedule, PhaseSpec
from trainer.data.source_tokens import open_sources
from trainer.ledger import Ledger, LedgerPosition, chain_digest, iterate_ledger
from trainer.recompute import Recomputation


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_tiny_corpus(tmp_path_factory.mktemp("corpus") / "tiny")


@pytest.fixture(scope="module")
def plan(corpus: Corpus) -> RowPlan:
    return make_plan(corpus)


@pytest.mark.parametrize("world", [1, 3])
def test_a_true_ledger_agrees(tmp_path: Path, corpus: Corpus, plan: RowPlan, world: int) -> None:
    seen: list[tuple[int, int]] = []
    report = audit(
        make_run(tmp_path / "run", corpus, plan, world=world), lambda done, all_: seen.append((done, all_))
    )
    assert report.ok and report.mismatch is None
    assert (report.steps, report.rows, report.rewinds) == (24, plan.num_rows, 0)
    assert seen == [(step, 24) for step in range(1, 25)]
    assert [source.source for source in report.sources] == ["code", "licences", "prose"]
    np.testing.assert_array_equal([source.rows for source in report.sources], plan.counts(plan.num_rows))
    np.testing.assert_allclose([source.epochs for source in report.sources], plan.epochs(plan.num_rows))
    np.testing.assert_array_equal(
        [source.skipped_tokens for source in report.sources], plan.skipped_tokens(plan.num_rows)
    )
    assert sum(source.planned_share for source in report.sources) == pytest.approx(1)
    assert sum(source.realised_share for source in report.sources) == pytest.approx(1)
    assert any(source.skipped_tokens for source in report.sources)
    assert max(source.epochs for source in report.sources) > 2
    assert all(source.other_tokens > 0 for source in report.sources)  # masked
    assert json.loads(json.dumps(report.to_dict()))["ok"] is True
    assert report.lines()[-1].startswith("24 steps, 196 rows: the ledger agrees")


VARIANTS: dict[str, dict[str, Any]] = {
    "no mask": {"document_mask": False},
    "extents": {"shuffle_extent": 3},
    "one source": {"phases": (PhaseSpec(0, 4, {"prose": 1.0}),)},
    "other blocks": {
        "phases": (
            PhaseSpec(0, 8, {"code": 6, "prose": 4}),
            PhaseSpec("9 steps", 12, {"code": 1, "prose": 1}),
        ),
        "accept_repeat": True,
    },
    "large blocks": {"block_tokens": 64},
    "packed": {"phases": (PhaseSpec(0, 16, WEIGHTS, "best_fit"),), "max_epochs": {}},
    "packed, one phase of a source less": {
        "phases": (
            PhaseSpec(0, 8, WEIGHTS, "best_fit"),
            PhaseSpec("9 steps", 8, {"code": 1, "prose": 1}, "best_fit"),
        )
    },
    "packed, a source comes later": {
        "phases": (
            PhaseSpec(0, 8, {"code": 1, "prose": 1}, "best_fit"),
            PhaseSpec("9 steps", 8, WEIGHTS, "best_fit"),
        )
    },
    "packed, a source is away and comes back": {
        "phases": (
            PhaseSpec(0, 16, WEIGHTS),
            PhaseSpec("5 steps", 8, {"code": 1}, "best_fit"),
            PhaseSpec("9 steps", 8, {"prose": 1, "licences": 2}, "best_fit"),
            PhaseSpec("12 steps", 8, WEIGHTS, "best_fit"),
            PhaseSpec("16 steps", 16, {"prose": 1}, "best_fit"),
            PhaseSpec("20 steps", 8, WEIGHTS),
        ),
        "accept_repeat": True,
    },
    "packed and not": {
        "phases": (
            PhaseSpec(0, 8, WEIGHTS),
            PhaseSpec("5 steps", 8, WEIGHTS, "best_fit"),
            PhaseSpec("11 steps", 16, {"code": 1, "prose": 1}, "best_fit"),
            PhaseSpec("17 steps", 16, WEIGHTS),
        ),
        "accept_repeat": True,
    },
    "many steps": {"steps": 300, "batch": BatchSchedule((0, 100, 200), (3, 1, 5))},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_both_routes_agree(tmp_path: Path, corpus: Corpus, variant: str) -> None:
    plan = make_plan(corpus, **VARIANTS[variant])
    report = audit(make_run(tmp_path / "run", corpus, plan))
    assert report.ok, report.mismatch
    assert report.steps == plan.num_steps
    np.testing.assert_allclose([source.epochs for source in report.sources], plan.epochs(plan.num_rows))
    np.testing.assert_array_equal(
        [source.skipped_tokens for source in report.sources], plan.skipped_tokens(plan.num_rows)
    )


@st.composite
def schedules(draw: st.DrawFn) -> tuple[PhaseSpec, ...]:
    """Phases of any length, packed or not, of any sources: what is absent may come back."""
    starts = sorted(draw(st.sets(st.integers(1, 23), max_size=5)))
    phases = []
    for start in [0, *starts]:
        weights = draw(st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.integers(1, 9), min_size=1))
        pack = draw(st.sampled_from(["best_fit", "concat"]))
        phases.append(
            PhaseSpec(f"{start} steps" if start else 0, draw(st.sampled_from([8, 16])), weights, pack)
        )
    return tuple(phases)


@settings(max_examples=30)
@given(schedules(), st.integers(0, 2**31), st.sampled_from([1, 3]), st.booleans())
def test_both_routes_agree_on_any_schedule(
    corpus: Corpus, phases: tuple[PhaseSpec, ...], seed: int, world: int, document_mask: bool
) -> None:
    changes = {"seed": seed, "document_mask": document_mask, "accept_repeat": True, "shuffle_extent": world}
    plan = make_plan(corpus, phases=phases, **changes)
    sources = open_sources(plan, [corpus])
    recomputation = Recomputation(plan.facts(), {"tiny": corpus})
    for step, expected in zip(range(plan.num_steps), recomputation.steps(), strict=False):
        assert step_record(plan, step, count_step(plan, sources, step, world)) == expected
    np.testing.assert_allclose(recomputation.epochs(), plan.epochs(plan.num_rows))
    skipped = [counter.skipped_tokens for counter in recomputation.counters]
    np.testing.assert_array_equal(skipped, plan.skipped_tokens(plan.num_rows))
    rows = np.arange(plan.num_rows)
    refs = plan.locate(rows)
    for row in rows.tolist():
        place = (int(each[row]) for each in (refs.source, refs.epoch, refs.block, refs.part))
        assert plan.row_of(*place) == row


def test_planned_and_realised_shares_of_packed_rows_are_of_valid_targets(
    tmp_path: Path, corpus: Corpus
) -> None:
    """Rows of the sources are filled differently; what the weights ask for is shares of targets."""
    phases = (PhaseSpec(0, 8, WEIGHTS, "best_fit"),)
    plan = make_plan(corpus, phases=phases, steps=300, batch=BatchSchedule.constant(7))
    report = audit(make_run(tmp_path / "run", corpus, plan))
    assert report.ok, report.mismatch
    for source in report.sources:
        assert source.planned_share == pytest.approx(WEIGHTS[source.source], abs=1e-5)
        assert source.realised_share == pytest.approx(WEIGHTS[source.source], abs=2e-3)
        assert source.other_tokens > 0


def test_other_packed_rows_than_the_plans_are_a_mismatch(tmp_path: Path) -> None:
    """They are no part of the content digest, so the audit compares them by themselves."""
    corpus = make_tiny_corpus(tmp_path / "tiny")
    plan = make_plan(corpus, phases=(PhaseSpec(0, 8, WEIGHTS, "best_fit"),))
    run = make_run(tmp_path / "run", corpus, plan, 5)
    assert audit(run).ok
    listed = tmp_path / "tiny" / "packing-8.parquet"
    rows = read_packing_list(listed)
    part = next(each for each in corpus.manifest.packings if each.sequence_length == 8)
    rows[0] = rows[0].model_copy(update={"file_sha256": "0" * 64})
    other = seal_packings(tmp_path / "tiny", part, rows)
    packings = [other if each is part else each for each in corpus.manifest.packings]
    seal_corpus(tmp_path / "tiny", corpus.manifest.model_copy(update={"packings": packings}), corpus.shards)
    report = audit(run)
    assert report.mismatch is not None and report.mismatch.step is None
    assert "packed rows of 8 of tiny/code" in report.mismatch.what


def test_a_run_in_progress_agrees_as_far_as_it_went(tmp_path: Path, corpus: Corpus, plan: RowPlan) -> None:
    for steps in (0, 9):
        report = audit(make_run(tmp_path / f"run{steps}", corpus, plan, steps))
        assert report.ok and report.steps == steps


def test_rewound_steps_are_audited_as_they_count(tmp_path: Path, corpus: Corpus, plan: RowPlan) -> None:
    run = make_run(tmp_path / "run", corpus, plan, 6)
    path = run / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    chain = json.loads(lines[3])["chain"]
    position = LedgerPosition(4, sum(map(len, lines[:4])), chain)
    # The schedule's future was edited before the resume: what steps 5 and 6 trained on no longer counts.
    edited = make_plan(corpus, phases=(PhaseSpec(0, 8, WEIGHTS), PhaseSpec("4 steps", 16, {"code": 1.0})))
    write_data_plan(run, edited)
    ledger = Ledger.resume(path, position, 4)
    feed(edited, corpus, ledger, range(4, 10))
    report = audit(run)
    assert report.ok, report.mismatch
    assert (report.steps, report.rewinds) == (10, 1)
    assert report.lines()[-1].endswith("(1 rewinds)")


def swap_ranks(step: int, rank: int, batch: Batch) -> Batch:
    """Another order of what was read, as if ranks were swapped: row numbers stay those of the coordinate."""
    rows, refs, tokens, classes = batch
    if step != 12:
        return batch
    order = np.arange(len(rows))[::-1]
    return rows, refs.take(order), tokens[order], classes[order]


def stale_token(step: int, rank: int, batch: Batch) -> Batch:
    rows, refs, tokens, classes = batch
    if step == 12:
        tokens = tokens.copy()
        tokens[0, 0] ^= 1
    return rows, refs, tokens, classes


def wrong_class(step: int, rank: int, batch: Batch) -> Batch:
    rows, refs, tokens, classes = batch
    if step == 12:
        classes = classes.copy()
        classes[0, 0] ^= 1
    return rows, refs, tokens, classes


def lost_row(step: int, rank: int, batch: Batch) -> Batch:
    rows, refs, tokens, classes = batch
    return (np.where(rows == rows[0], -1, rows) if step == 12 else rows), refs, tokens, classes


@pytest.mark.parametrize(
    ("tamper", "what"),
    [
        (swap_ranks, "row_digest"),
        (stale_token, "token_digest"),
        (wrong_class, "trained of tiny/"),
        (lost_row, "rows"),
    ],
)
def test_the_first_differing_step_and_field_is_named(
    tmp_path: Path, corpus: Corpus, plan: RowPlan, tamper: Callable[[int, int, Batch], Batch], what: str
) -> None:
    report = audit(make_run(tmp_path / "run", corpus, plan, tamper=tamper))
    assert not report.ok and report.mismatch is not None
    assert report.mismatch.step == 13 and report.steps == 12
    assert report.mismatch.what.startswith(what)
    assert "MISMATCH after 12 steps that agree: step 13" in report.lines()[-1]
    assert report.to_dict()["mismatch"]["step"] == 13


def test_a_forged_line_with_a_right_chain_is_found(tmp_path: Path, corpus: Corpus, plan: RowPlan) -> None:
    """The chain alone proves nothing to one who can recompute it; the manifests do."""
    run = make_run(tmp_path / "run", corpus, plan)
    path = run / "ledger.jsonl"

    def one_more(line: dict[str, Any]) -> None:
        if line["step"] == 5:
            source = line["sources"]["tiny/code"]
            source["trained"], source["masked"] = source["trained"] + 1, source["masked"] - 1

    rechained(path, one_more)
    report = audit(run)
    assert report.mismatch is not None and report.mismatch.step == 5
    assert report.mismatch.what == "trained of tiny/code"


def test_an_edited_line_breaks_the_chain(tmp_path: Path, corpus: Corpus, plan: RowPlan) -> None:
    run = make_run(tmp_path / "run", corpus, plan)
    path = run / "ledger.jsonl"
    path.write_text(path.read_text().replace('"row":14', '"row":15'))
    report = audit(run)
    assert not report.ok and report.mismatch is not None
    assert (report.steps, report.mismatch.step) == (2, 3)
    assert "chain is broken" in report.mismatch.found


def test_every_edited_number_is_found_at_its_step(tmp_path: Path, corpus: Corpus, plan: RowPlan) -> None:
    run = make_run(tmp_path / "run", corpus, plan, 4)
    path = run / "ledger.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    numbers = [match.span(1) for match in re.finditer(r'":"?([0-9a-f]+)', lines[2].partition('"outside"')[0])]
    assert len(numbers) > 20
    for start, end in numbers:
        was = lines[2][start:end]
        for new in ("7" if was[0] != "7" else "3", f"{was[0]}e400", f"0{was[0]}"):
            edited = lines[2][:start] + new + lines[2][start + 1 :]
            path.write_text("".join([*lines[:2], edited, lines[3]]))
            report = audit(run)
            assert report.mismatch is not None and (report.steps, report.mismatch.step) == (2, 3), edited


def rechained(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Rewrite a ledger with every record changed, as one would who knows how the chain is made."""
    chain, lines = "0" * 32, []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        change(record)
        chain = record["chain"] = chain_digest(chain, record)
        lines.append(json.dumps(record) + "\n")
    path.write_text("".join(lines))


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no sources": lambda line: line.pop("sources"),
    "a list of sources": lambda line: line.update(sources=[*line["sources"]]),
    "a number for counts": lambda line: line["sources"].update(dict.fromkeys(line["sources"], 3)),
    "a column too many": lambda line: line["sources"]["tiny/code"].update(more=1),
    "a field too many": lambda line: line.update(more=1),
    "another type": lambda line: line.update(rows=float(line["rows"])),
    "a rewind to nowhere": lambda line: line.update(event="rewind", steps=1, lines=9),
    "a rewind in words": lambda line: line.update(event="rewind", steps="1", lines="1"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_shape_is_found(tmp_path: Path, corpus: Corpus, plan: RowPlan, forgery: str) -> None:
    run = make_run(tmp_path / "run", corpus, plan, 4)
    rechained(run / "ledger.jsonl", lambda line: FORGERIES[forgery](line) if line["step"] == 3 else None)
    report = audit(run)
    assert report.mismatch is not None and (report.steps, report.mismatch.step) == (2, 3)
    json.dumps(report.to_dict())
    assert report.lines()


def checkpoint_of(run: Path, position: LedgerPosition, steps: int) -> None:
    """A checkpoint as far as the audit reads it."""
    meta: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "step": steps, "files": []}
    meta["facts"] = {"ledger": asdict(position)}
    meta["digest"] = digest_value(meta)
    folder = run / "checkpoints" / step_name(steps)
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps(meta))


def test_lines_that_a_checkpoint_counts_must_be_there(tmp_path: Path, corpus: Corpus, plan: RowPlan) -> None:
    run = make_run(tmp_path / "run", corpus, plan, 6)
    path = run / "ledger.jsonl"
    positions = [position for _, position in iterate_ledger(path)]
    checkpoint_of(run, positions[4], 5)
    assert audit(run).ok
    (run / "checkpoints" / "step-00000009").mkdir()  # one that cannot be read says nothing
    whole = path.read_bytes()
    for size_bytes, steps in (
        (positions[4].bytes, 5),
        (positions[3].bytes, 4),
        (positions[4].bytes - 1, 4),
        (0, 0),
    ):
        path.write_bytes(whole[:size_bytes])
        report = audit(run)
        assert report.steps == steps and report.ok == (steps == 5)
        assert report.mismatch is None or report.mismatch.step == steps + 1
        assert report.mismatch is None or "step-00000005" in report.mismatch.expected


def test_a_changed_token_in_a_shard_is_found(tmp_path: Path) -> None:
    corpus = make_tiny_corpus(tmp_path / "tiny")
    plan = make_plan(corpus)
    run = make_run(tmp_path / "run", corpus, plan)
    refs = plan.locate(np.arange(plan.num_rows))
    third = refs.take(refs.source == 0).take(np.array([9]))
    path = tmp_path / "tiny" / "code" / "train-00000.bin"
    second = open_corpus(tmp_path / "tiny").shards_of("code", "train")[0].tokens
    at = int(third.start[0]) if int(third.start[0]) < second else 0
    data = bytearray(path.read_bytes())
    data[2 * at + 2] ^= 1
    path.write_bytes(data)
    report = audit(run)
    assert report.mismatch is not None and report.mismatch.what.startswith("token_digest")
    touched = refs.take((refs.source == 0) & (refs.start <= at + 1) & (at + 1 < refs.start + refs.length))
    assert report.mismatch.step == int(plan.step_of(touched.row[:1])[0]) + 1


def test_rewound_to_what_an_earlier_rewind_had_put_aside(
    tmp_path: Path, corpus: Corpus, plan: RowPlan
) -> None:
    """A newer checkpoint could not be read for a while: the run went on from an older one, then from it."""
    run = make_run(tmp_path / "run", corpus, plan, 6)
    path = run / "ledger.jsonl"
    positions = [position for _, position in iterate_ledger(path)]
    ledger = Ledger.resume(path, positions[2], 3)
    feed(plan, corpus, ledger, [3])
    ledger.close()
    ledger = Ledger.resume(path, positions[5], 6)
    feed(plan, corpus, ledger, range(6, 9))
    ledger.close()
    report = audit(run)
    assert report.ok, report.mismatch
    assert (report.steps, report.rewinds) == (9, 2)


def test_another_corpus_under_the_same_name_is_found(tmp_path: Path) -> None:
    corpus = make_tiny_corpus(tmp_path / "tiny")
    run = make_run(tmp_path / "run", corpus, make_plan(corpus), 3)
    make_tiny_corpus(tmp_path / "other", seed=1)
    report = audit(run, corpora=[tmp_path / "other"])
    assert not report.ok and report.mismatch is not None
    assert report.mismatch.what.startswith("content of tiny at ")
    assert report.steps == 0 and [source.rows for source in report.sources] == [0, 0, 0]


def test_a_moved_corpus_is_given_its_new_place(tmp_path: Path) -> None:
    corpus = make_tiny_corpus(tmp_path / "tiny")
    run = make_run(tmp_path / "run", corpus, make_plan(corpus), 3)
    (tmp_path / "tiny").rename(tmp_path / "moved")
    with pytest.raises(UserError):
        audit(run)
    assert audit(run, corpora=[tmp_path / "moved"]).ok


def test_what_is_no_run_is_refused(tmp_path: Path, corpus: Corpus, plan: RowPlan) -> None:
    with pytest.raises(UserError, match="no run folder"):
        audit(tmp_path)
    path = write_data_plan(tmp_path, plan)
    with pytest.raises(UserError, match="no ledger"):
        audit(tmp_path)
    whole = path.read_text()
    damages = [whole[:-20], "[]", "[" * 100_000, whole.replace('"phases"', '"pases"')]
    damages += [whole.replace('"sequence_length": 8', f'"sequence_length": {n}') for n in ("0", "1e400")]
    for damaged in damages:
        path.write_text(damaged)
        with pytest.raises(UserError, match="damaged"):
            audit(tmp_path)
    path.write_text(whole.replace('"seed": 5', '"seed": 6'))
    with pytest.raises(UserError, match="edited"):
        audit(tmp_path)


def test_the_second_route_lists_the_rows_of_the_plan(corpus: Corpus, plan: RowPlan) -> None:
    recomputation = Recomputation(plan.facts(), {"tiny": corpus})
    for step, record in zip(range(plan.num_steps), recomputation.steps(), strict=False):
        rows = plan.rows_of_step(step)
        assert (record["row"], record["rows"]) == (rows[0], len(rows))
        counted = {source.key_name: 0 for source in plan.sources}
        counted |= {name: counts["rows"] for name, counts in record["sources"].items()}
        assert list(counted.values()) == (plan.counts(int(rows[-1]) + 1) - plan.counts(int(rows[0]))).tolist()


def test_no_torch_is_imported(tmp_path: Path, corpus: Corpus, plan: RowPlan) -> None:
    run = make_run(tmp_path / "run", corpus, plan, 2)
    code = (
        "import sys; from pathlib import Path; from trainer.audit import audit; "
        "report = audit(Path(sys.argv[1])); print(report.ok, 'torch' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, str(run)], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
