"""Packed rows: what a plan says of them, what is read, and that every target comes once an epoch."""

from __future__ import annotations

import shutil
from collections import Counter
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.packing import PackingError, packing_path
from tests.manifests.corpora import Part, make_corpus
from trainer.data.packed_rows import PackedRows
from trainer.data.rows import RowPlan
from trainer.data.schedule import BatchSchedule, DataSpec, PhaseSpec
from trainer.data.source_tokens import open_sources
from trainer.data.targets import CLASSES, classify_packed, document_numbers, positions_of
from trainer.recompute import Recomputation

WEIGHTS = {"code": 0.6, "prose": 0.4}
LENGTHS = np.random.default_rng(4).integers(1, 30, 60).tolist()
PARTS = [
    Part("code", "train", LENGTHS[:25]),
    Part("code", "train", LENGTHS[25:40]),
    Part("prose", "train", LENGTHS[40:]),
    Part("prose", "holdout", (7, 20)),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("packed") / "corpus"
    make_corpus(folder, PARTS, vocab_size=60, packed=(8, 16))
    return open_corpus(folder)


def make_plan(corpus: Corpus, *phases: PhaseSpec, **changes: Any) -> RowPlan:
    values: dict[str, Any] = {
        "seed": 5,
        "phases": phases or (PhaseSpec(0, 8, WEIGHTS, "best_fit"),),
        "batch": BatchSchedule.constant(6),
        "steps": 10,
    }
    return RowPlan.build([corpus], DataSpec(**{**values, **changes}))


def test_rows_are_those_of_the_packings_shard_after_shard(corpus: Corpus) -> None:
    rows = PackedRows(corpus, "code", "train", 8)
    number = 0
    for shard in corpus.shards_of("code", "train"):
        packing = corpus.packing(shard, 8)
        tokens = corpus.reader(shard).read(0, shard.tokens)
        for row in range(packing.num_rows):
            found = rows.read(number)
            starts, lengths = packing.pieces(row)
            pieces = [tokens[start : start + length] for start, length in zip(starts, lengths, strict=True)]
            assert found.tokens[: found.used].tolist() == np.concatenate(pieces).tolist()
            assert len(found.tokens) == 9 and not found.tokens[found.used :].any()
            assert found.starts.tolist() == np.cumsum([0, *lengths[:-1]]).tolist()
            number += 1
    assert rows.num_rows == number
    for row in (-1, number):
        with pytest.raises(IndexError, match=f"packed row {row} of {number}"):
            rows.read(row)


def test_an_epoch_trains_on_every_target_once(corpus: Corpus) -> None:
    plan = make_plan(corpus, PhaseSpec(0, 8, {"code": 1.0}, "best_fit"), steps=100, max_epochs={})
    num_rows = plan.sources[0].packings[8].rows
    refs = plan.locate(np.arange(2 * num_rows))
    assert refs.epoch.tolist() == [0] * num_rows + [1] * num_rows
    assert set(refs.part.tolist()) == {0} and set(refs.start.tolist()) == {-1}
    for epoch in (0, 1):
        assert sorted(refs.block[refs.epoch == epoch].tolist()) == list(range(num_rows))
    assert refs.block[:num_rows].tolist() != refs.block[num_rows:].tolist()
    (source,) = open_sources(plan, [corpus])
    trained: Counter[int] = Counter()
    for row in range(num_rows):
        found = source.packed(8).read(row)
        classes = classify_packed(found.starts, found.used, 8)
        trained.update(found.tokens[1:][classes == CLASSES.index("trained")].tolist())
        pieces = len(found.starts)
        counts = [found.used - pieces, pieces - 1, 8 - (found.used - 1), 0, 0]
        assert np.bincount(classes, minlength=5).tolist() == counts
    wanted: Counter[int] = Counter()
    for shard in corpus.shards_of("code", "train"):
        reader = corpus.reader(shard)
        for document in range(reader.num_documents):
            wanted.update(reader.document(document)[1:].tolist())
    assert trained == wanted
    assert sum(trained.values()) == plan.sources[0].packings[8].targets


def test_back_from_a_row_to_its_number(corpus: Corpus) -> None:
    plan = make_plan(corpus, steps=40, max_epochs={})
    refs = plan.locate(np.arange(plan.num_rows))
    assert set(refs.epoch.tolist()) >= {0, 1}
    for row in range(0, plan.num_rows, 7):
        found = plan.row_of(int(refs.source[row]), int(refs.epoch[row]), int(refs.block[row]), 0)
        assert found == row


def test_numbers_positions_and_classes_of_a_row_by_hand() -> None:
    """Pieces of 3 and 2 tokens and four of padding, in a row of 8 inputs."""
    starts, used = np.array([0, 3]), 5
    assert classify_packed(starts, used, 8).tolist() == [0, 0, 1, 0, 2, 2, 2, 2]
    assert document_numbers(np.append(starts, used), 8).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    assert positions_of(np.append(starts, used), 8).tolist() == [0, 1, 2, 0, 1, 0, 1, 2]


def test_a_full_row_has_no_padding() -> None:
    starts, used = np.array([0, 7]), 9
    assert classify_packed(starts, used, 8).tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
    assert document_numbers(np.append(starts, used), 8).tolist() == [0] * 7 + [1]
    assert positions_of(np.append(starts, used), 8).tolist() == [*range(7), 0]


def test_weights_are_shares_of_targets(corpus: Corpus) -> None:
    """Sources whose rows are filled differently get rows in proportion to what their rows hold."""
    plan = make_plan(corpus)
    packings = {source.name: source.packings[8] for source in plan.sources}
    means = {name: each.targets / each.rows for name, each in packings.items()}
    rows = dict(zip(packings, plan.phases[0].quota, strict=True))
    targets = {name: Fraction(rows[name] * each.targets, each.rows) for name, each in packings.items()}
    share = targets["code"] / sum(targets.values())
    assert abs(float(share) - 0.6) < 1e-5
    assert means["code"] != means["prose"]
    summary = plan.summary()["phases"][0]
    assert summary["pack"] == "best_fit"
    assert summary["weights"]["code"]["targets_per_row"] == means["code"]


def test_starts_in_tokens_count_targets_of_packed_rows(corpus: Corpus) -> None:
    phases = PhaseSpec(0, 8, WEIGHTS, "best_fit"), PhaseSpec("300 tokens", 8, {"code": 1.0}, "best_fit")
    plan = make_plan(corpus, *phases)
    means = {source.name: source.packings[8].targets / source.packings[8].rows for source in plan.sources}
    mean = 1 / (0.6 / means["code"] + 0.4 / means["prose"])
    rows = -(-300 // mean)
    assert plan.phases[1].start_row == -(-rows // 6) * 6
    assert rows > -(-300 // 8)


@pytest.mark.parametrize("then", [PhaseSpec(24, 8, WEIGHTS), PhaseSpec(24, 16, WEIGHTS, "best_fit")])
def test_another_packing_starts_a_new_epoch_and_has_to_be_accepted(corpus: Corpus, then: PhaseSpec) -> None:
    phases = PhaseSpec(0, 8, WEIGHTS, "best_fit"), then
    with pytest.raises(UserError, match="phase 1: its rows are packed otherwise than those of phase 0"):
        make_plan(corpus, *phases)
    plan = make_plan(corpus, *phases, accept_repeat=True)
    before, after = plan.locate(np.arange(24)), plan.locate(np.arange(24, 30))
    assert set(before.epoch.tolist()) == {0} and set(after.epoch.tolist()) == {1}
    counts = plan.counts(24)
    for index, source in enumerate(plan.sources):
        packing = source.packings[8]
        left = packing.rows - int(counts[index])
        assert plan.skipped_tokens(24 + 1)[index] == left * packing.targets // packing.rows


def test_the_same_packing_in_the_next_phase_goes_on(corpus: Corpus) -> None:
    phases = PhaseSpec(0, 8, WEIGHTS, "best_fit"), PhaseSpec(12, 8, {"code": 1.0}, "best_fit")
    plan = make_plan(corpus, *phases)
    refs = plan.locate(np.arange(24))
    code = refs.block[(refs.source == 0) & (refs.epoch == 0)]
    assert len(set(code.tolist())) == len(code)
    assert plan.skipped_tokens(24).tolist() == [0, 0]


def test_a_source_that_a_packed_phase_leaves_out_needs_no_packing(corpus: Corpus) -> None:
    phases = (
        PhaseSpec(0, 16, WEIGHTS),
        PhaseSpec(12, 8, {"code": 1.0}, "best_fit"),
        PhaseSpec(24, 16, WEIGHTS),
    )
    plan = make_plan(corpus, *phases, accept_repeat=True)
    assert [sorted(source.packings) for source in plan.sources] == [[8], []]
    assert set(plan.locate(np.arange(12, 24)).source.tolist()) == {0}
    assert RowPlan.from_facts(plan.facts()).facts() == plan.facts()


def test_a_source_of_packed_phases_alone_needs_no_block_of_the_others(tmp_path: Path) -> None:
    parts = [Part("code", "train", [9, 30, 20]), Part("notes", "train", [5, 3])]
    make_corpus(tmp_path, parts, vocab_size=60, packed=(8,))
    packed = PhaseSpec(0, 8, {"code": 1.0, "notes": 1.0}, "best_fit")
    small = open_corpus(tmp_path)
    plan = make_plan(small, packed, PhaseSpec(12, 16, {"code": 1.0}), accept_repeat=True)
    assert np.isfinite(plan.epochs(plan.num_rows)).all()
    assert RowPlan.from_facts(plan.facts()).facts() == plan.facts()
    expected = list(islice(Recomputation(plan.facts(), {"tiny": small}).steps(), plan.num_steps))
    rows = [sum(step["sources"].get("tiny/notes", {"rows": 0})["rows"] for step in expected)]
    assert rows == [plan.counts(plan.num_rows)[1]]
    with pytest.raises(UserError, match="source notes has 8 tokens, which is not one block of 16"):
        make_plan(small, packed, PhaseSpec(12, 16, {"notes": 1.0}), accept_repeat=True)


def test_a_length_that_the_corpus_was_not_packed_for_is_refused(corpus: Corpus) -> None:
    with pytest.raises(UserError, match="no packing for rows of 32 tokens; it has some for 8, 16") as caught:
        make_plan(corpus, PhaseSpec(0, 32, WEIGHTS, "best_fit"))
    assert "dataprep pack" in str(caught.value.hint)


def test_a_block_length_is_refused_where_all_rows_are_packed(corpus: Corpus) -> None:
    """It would be ignored."""
    with pytest.raises(UserError, match="block_tokens is of consecutive rows"):
        make_plan(corpus, block_tokens=8)
    phases = PhaseSpec(0, 8, WEIGHTS, "best_fit"), PhaseSpec(12, 8, WEIGHTS)
    assert make_plan(corpus, *phases, block_tokens=16, accept_repeat=True).phases[1].block_tokens == 16


def test_a_source_of_lone_tokens_has_no_packed_row(tmp_path: Path) -> None:
    make_corpus(tmp_path, [Part("code", "train", [1] * 40)], packed=(8,))
    with pytest.raises(UserError, match="source code has no packed row of 8"):
        make_plan(open_corpus(tmp_path), PhaseSpec(0, 8, {"code": 1.0}, "best_fit"))


def test_facts_hold_the_packing_and_plans_without_are_as_they_were(corpus: Corpus) -> None:
    plan, concat = make_plan(corpus), make_plan(corpus, PhaseSpec(0, 8, WEIGHTS))
    facts = plan.facts()
    assert facts["sources"][0]["packings"]["8"]["rows"] == plan.sources[0].packings[8].rows
    assert RowPlan.from_facts(facts).facts() == facts
    older = concat.facts()
    for source in older["sources"]:
        assert source.pop("packings") == {}
    for phase in older["phases"]:
        assert phase.pop("pack") == "concat"
    assert RowPlan.from_facts(older).facts() == concat.facts()
    assert plan.fingerprint() != concat.fingerprint()


def test_another_packing_of_the_same_tokens_is_not_the_plans(corpus: Corpus) -> None:
    facts = make_plan(corpus).facts()
    facts["sources"][0]["packings"]["8"]["digest"] = "blake2b-128:" + "0" * 32
    with pytest.raises(UserError, match="source code has other packed rows of 8"):
        open_sources(RowPlan.from_facts(facts), [corpus])


def test_a_damaged_packing_is_refused_when_it_is_opened(corpus: Corpus, tmp_path: Path) -> None:
    shutil.copytree(corpus.folder, tmp_path / "corpus")
    damaged = open_corpus(tmp_path / "corpus")
    (shard, *_) = damaged.shards_of("code", "train")
    path = packing_path(damaged.prefix(shard), 8)
    shutil.copyfile(packing_path(damaged.prefix(shard), 16), path)
    with pytest.raises(PackingError, match="not the packing that is listed"):
        PackedRows(damaged, "code", "train", 8).read(0)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(PackingError, match="its header says"):
        PackedRows(damaged, "code", "train", 8).read(0)
