from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from manifests.corpus import Corpus
from tests.trainer.feeding import count_step, make_plan, make_tiny_corpus, read_rows
from trainer.counts import COLUMNS, StepCounts, count_batch, row_hash, step_record, token_hash, zero_counts
from trainer.data.source_tokens import open_sources
from trainer.data.targets import CLASSES, PADDING


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_tiny_corpus(tmp_path_factory.mktemp("corpus"))


def same(left: StepCounts, right: StepCounts) -> bool:
    return (
        np.array_equal(left.counts, right.counts)
        and left.row_digest == right.row_digest
        and left.token_digest == right.token_digest
    )


@pytest.mark.parametrize("world", [2, 3, 4, 11])
def test_counts_are_the_same_for_every_world_size(corpus: Corpus, world: int) -> None:
    plan = make_plan(corpus)
    sources = open_sources(plan, [corpus])
    for step in range(plan.num_steps):
        assert same(count_step(plan, sources, step, world), count_step(plan, sources, step))


def test_counts_are_those_of_the_rows(corpus: Corpus) -> None:
    plan = make_plan(corpus)
    sources = open_sources(plan, [corpus])
    total = zero_counts(plan)
    for step in range(plan.num_steps):
        counts = count_step(plan, sources, step)
        assert counts.counts[:, 0].sum() == len(plan.rows_of_step(step))
        assert counts.counts[:, 1:-1].sum() == len(plan.rows_of_step(step)) * plan.sequence_length(step)
        total = total + counts
    np.testing.assert_array_equal(total.counts[:, 0], plan.counts(plan.num_rows))
    refs = plan.locate(np.arange(plan.num_rows))
    np.testing.assert_array_equal(total.counts[:, -1], np.bincount(refs.source, refs.epoch).astype(int))
    masked = CLASSES.index("masked") + 1
    assert 0 < total.counts[:, masked].sum() < total.counts[:, 1].sum()


def test_micro_batches_add_up(corpus: Corpus) -> None:
    plan = make_plan(corpus)
    sources = open_sources(plan, [corpus])
    rows, refs, tokens, classes = read_rows(plan, sources, plan.rows_of_step(3), 3)
    whole = count_batch(plan, rows, refs, tokens, classes)
    total = zero_counts(plan)
    for part in np.array_split(np.arange(len(rows)), 3):
        total = total + count_batch(plan, rows[part], refs.take(part), tokens[part], classes[part])
    assert same(total, whole)


def test_vectors_add_up_wrapping() -> None:
    counts = np.arange(2 * len(COLUMNS)).reshape(2, -1)
    big = StepCounts(counts, (1 << 64) - 3, 1 << 63)
    with np.errstate(over="ignore"):
        total = StepCounts.from_vector(big.to_vector() + big.to_vector())
    assert same(total, big + big)
    assert (total.row_digest, total.token_digest) == ((1 << 64) - 6, 0)
    assert same(StepCounts.from_vector(big.to_vector()), big)
    assert big.to_vector().dtype == np.int64


def test_fill_rows_are_never_counted(corpus: Corpus) -> None:
    plan = make_plan(corpus)
    sources = open_sources(plan, [corpus])
    rows, refs, tokens, classes = read_rows(plan, sources, np.array([0, 1, -1, -1]), 0)
    classes[2:] = PADDING
    tokens[2:] = 7
    only = np.arange(2)
    short = count_batch(plan, rows[only], refs.take(only), tokens[only], classes[only])
    assert same(count_batch(plan, rows, refs, tokens, classes), short)
    assert same(count_batch(plan, np.full(4, -1), refs, tokens, classes), zero_counts(plan))


def test_digests_see_swaps_and_changes(corpus: Corpus) -> None:
    plan = make_plan(corpus)
    sources = open_sources(plan, [corpus])
    rows, refs, tokens, classes = read_rows(plan, sources, plan.rows_of_step(0), 0)
    whole = count_batch(plan, rows, refs, tokens, classes)
    swapped = np.array([1, 0, *range(2, len(rows))])
    # Whole batches of two ranks swapped: the coordinate says other row numbers than the batch was read for.
    other = count_batch(plan, rows, refs.take(swapped), tokens[swapped], classes[swapped])
    assert other.row_digest != whole.row_digest and other.token_digest != whole.token_digest
    np.testing.assert_array_equal(other.counts.sum(axis=0), whole.counts.sum(axis=0))
    # A stale shard: the same place, another token.
    stale = tokens.copy()
    stale[2, 3] ^= 1
    changed = count_batch(plan, rows, refs, stale, classes)
    assert changed.row_digest == whole.row_digest and changed.token_digest != whole.token_digest


def test_hashes_are_pinned() -> None:
    """Ledgers of the past must stay readable: these never change."""
    assert f"{row_hash(5, 'tiny/code', 1, 2, 3):016x}" == "e36705943ca9bc1f"
    tokens = np.array([1, 2, 70_000], "<u4")
    assert f"{token_hash(5, tokens.tobytes()):016x}" == "3769577ff7f33f36"
    places = [(5, "a", 1, 2, 3), (5, "b", 1, 2, 3), (1, "a", 5, 2, 3), (5, "a", 1, 3, 2)]
    assert len({row_hash(*place) for place in places}) == 4


def test_a_record_is_plain(corpus: Corpus, tmp_path: Path) -> None:
    plan = make_plan(corpus)
    record = step_record(plan, 8, count_step(plan, open_sources(plan, [corpus]), 8))
    assert (record["step"], record["row"], record["rows"]) == (9, 56, 7)
    assert list(record["sources"]) == ["tiny/licences", "tiny/prose"]  # code is not in this phase
    assert set(record["sources"]["tiny/prose"]) == set(COLUMNS)
    assert all(type(value) is int for counts in record["sources"].values() for value in counts.values())
