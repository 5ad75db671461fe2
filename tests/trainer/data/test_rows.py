from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests.reference.rows import list_rows
from tests.trainer.data.plans import TOKENS, WEIGHTS, plan, short_plan
from trainer.data.order import SORT_LIMIT
from trainer.data.rows import RowPlan, RowRefs, rank_slice
from trainer.data.schedule import BatchSchedule, PhaseSpec

FIELDS = ("source", "epoch", "block", "part", "start", "length")


def as_tuples(refs: RowRefs) -> list[tuple[int, ...]]:
    return list(zip(*(getattr(refs, name).tolist() for name in FIELDS), strict=True))


def fresh() -> RowPlan:
    """Three sources of 8, 5 and 2 blocks, four phases of changing length and weights, a period of 32 rows."""
    return short_plan(
        [130, 90, 40],
        [(0, 4, [5, 3, 2]), (42, 16, [1, 6, 3]), (60, 2, [9, 0, 1]), (200, 4, [1, 1, 1])],
        block_tokens=16,
        batch=BatchSchedule((0, 7), (6, 9)),
    )


@st.composite
def plans(draw: st.DrawFn) -> RowPlan:
    num_sources = draw(st.integers(1, 4))
    block_tokens = draw(st.sampled_from([4, 12]))
    tokens = draw(st.lists(st.integers(block_tokens + 1, 200), min_size=num_sources, max_size=num_sources))
    phases: list[tuple[int, int, list[float]]] = []
    for _ in range(draw(st.integers(1, 4))):
        start = phases[-1][0] + draw(st.integers(1, 60)) if phases else 0
        length = draw(st.sampled_from([1, 2, 4]))
        weights = draw(st.lists(st.sampled_from([0, 1, 2, 7]), min_size=num_sources, max_size=num_sources))
        phases.append((start, length, weights if any(weights) else [1] * num_sources))
    return short_plan(tokens, phases, block_tokens=block_tokens, period=16)


@settings(max_examples=30)
@given(plans())
def test_equals_the_slow_twin_and_goes_back(found: RowPlan) -> None:
    num_rows = found.phases[-1].start_row + 100
    listed = list_rows(found, num_rows)
    assert as_tuples(found.locate(np.arange(num_rows))) == listed
    first_place = {}
    for row, (source, epoch, block, part, start, _) in enumerate(listed):
        # Parts of phases with other lengths may have the same numbers, at another start.
        first_place.setdefault((source, epoch, block, part), (row, start))
        if first_place[source, epoch, block, part] == (row, start):
            assert found.row_of(source, epoch, block, part) == row


def test_large_sources_equal_the_slow_twin() -> None:
    found = short_plan([4 * (SORT_LIMIT + 10) + 1, 50], [(0, 2, [3, 1])], block_tokens=4)
    assert as_tuples(found.locate(np.arange(40))) == list_rows(found, 40)


def test_every_target_once_an_epoch() -> None:
    """Tokens 1 to N * U: all but the source's first token, and what is left after whole blocks."""
    for length in (2, 4, 16):
        found = short_plan([130, 90], [(0, length, [1, 1])], block_tokens=16)
        refs = found.locate(np.arange(5000))
        for source, blocks in ((0, 8), (1, 5)):
            for epoch in range(3):
                mine = refs.take((refs.source == source) & (refs.epoch == epoch))
                targets = Counter((mine.start[:, None] + np.arange(1, length + 1)).ravel().tolist())
                assert targets == Counter(range(1, blocks * 16 + 1))


def test_epochs_follow_each_other_in_other_orders() -> None:
    found = plan(steps=1)
    refs = found.locate(np.arange(3000))
    for source in range(3):
        mine = refs.take(refs.source == source)
        assert np.all(np.diff(mine.epoch) >= 0) and np.all(np.diff(mine.epoch) <= 1)
        orders = [tuple(mine.block[mine.epoch == epoch].tolist()) for epoch in range(5)]
        assert len(set(orders)) == 5
        assert len({tuple(sorted(order)) for order in orders}) == 1


def test_a_new_source_moves_no_other() -> None:
    """Each source goes through its own blocks in the same order, whatever it is mixed with."""
    alone = plan(phases=(PhaseSpec(0, 16, {"code": 1.0}),), steps=1).locate(np.arange(500))
    mixed = plan(steps=1).locate(np.arange(2000))
    mine = mixed.take(mixed.source == 0)
    np.testing.assert_array_equal(mine.block[:500], alone.block)
    np.testing.assert_array_equal(mine.epoch[:500], alone.epoch)


def test_seed_changes_every_source() -> None:
    first, second = plan(steps=1), plan(steps=1, seed=8)
    left, right = first.locate(np.arange(60)), second.locate(np.arange(60))
    np.testing.assert_array_equal(left.source, right.source)
    for source in range(3):
        mine = left.source == source
        assert left.block[mine].tolist() != right.block[mine].tolist()


@pytest.mark.parametrize("extent", [1, 3])
def test_resume_at_every_boundary_equals_the_uninterrupted_run(extent: int) -> None:
    """Batch, epoch of a source, phase and period, and one row before and after each: a fresh plan agrees."""

    def build() -> RowPlan:
        return short_plan(
            [130, 90, 40],
            [(0, 4, [5, 3, 2]), (42, 16, [1, 6, 3]), (60, 2, [9, 0, 1]), (200, 4, [1, 1, 1])],
            block_tokens=16,
            batch=BatchSchedule((0, 7), (6, 9)),
            extent=extent,
        )

    whole = build()
    num_rows = 600
    refs = whole.locate(np.arange(num_rows))
    listed = as_tuples(refs)
    boundaries = {whole.first_row(step) for step in range(60)}
    boundaries |= {phase.start_row for phase in whole.phases}
    boundaries |= {phase.start_row + 32 * k for phase in whole.phases for k in range(5)}
    for source in range(3):
        mine = refs.take(refs.source == source)
        boundaries |= set(mine.row[1:][np.diff(mine.epoch) > 0].tolist())
    assert len({phase.sequence_length for phase in whole.phases}) == 3 and int(refs.epoch.max()) >= 3
    for boundary in sorted(boundaries):
        for row in (boundary - 1, boundary, boundary + 1):
            if 0 <= row < num_rows - 1:
                resumed, end = build(), min(row + 20, num_rows)
                assert as_tuples(resumed.locate(np.arange(row, end))) == listed[row:end]
                assert resumed.counts(row).tolist() == [
                    sum(1 for place in listed[:row] if place[0] == source) for source in range(3)
                ]


@pytest.mark.parametrize("world", [1, 2, 3, 4, 7])
def test_rows_consumed_are_the_same_for_every_world_size(world: int) -> None:
    found = fresh()
    for step in range(30):
        rows = found.rows_of_step(step)
        slices = [rank_slice(rows, rank, world) for rank in range(world)]
        assert len({len(part) for part in slices}) == 1  # every rank has the same work
        joined = np.concatenate(slices)
        assert joined[joined >= 0].tolist() == rows.tolist()
        assert int((joined < 0).sum()) == world * len(slices[0]) - len(rows)
        assert joined.tolist() == [*rows.tolist(), *[-1] * (len(joined) - len(rows))]


def test_rank_must_be_in_the_world() -> None:
    for rank, world in ((2, 2), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match="rank"):
            rank_slice(np.arange(3), rank, world)


def test_steps_partition_the_rows_and_never_hold_two_phases() -> None:
    found = plan(
        phases=(PhaseSpec(0, 16, WEIGHTS), PhaseSpec(33, 8, WEIGHTS), PhaseSpec("2k tokens", 16, WEIGHTS)),
        batch=BatchSchedule((0, 4), (5, 7)),
    )
    rows = np.concatenate([found.rows_of_step(step) for step in range(found.num_steps)])
    assert rows.tolist() == list(range(found.num_rows))
    assert found.step_of(rows).tolist() == [
        step for step in range(found.num_steps) for _ in found.rows_of_step(step)
    ]
    for step in range(found.num_steps):
        refs = found.locate(found.rows_of_step(step))
        assert set(refs.length.tolist()) == {found.sequence_length(step) + 1}


def test_a_change_of_length_moves_up_to_the_next_block_and_counts_what_it_skips() -> None:
    found = short_plan([161, 161], [(0, 4, [3, 1]), (9, 8, [1, 1]), (11, 8, [1, 1])], block_tokens=16)
    refs = found.locate(np.arange(40))
    before = found.counts(9).tolist()
    assert before == [7, 2]
    assert found.skipped_tokens(9).tolist() == [0, 0]
    # 7 parts of 4 tokens are one block and three parts: one part is passed over; 2 parts leave two.
    assert found.skipped_tokens(10).tolist() == [4, 8]
    for source, blocks in ((0, 2), (1, 1)):
        mine = refs.take(refs.source == source)
        first = mine.take(mine.length == 9)
        assert first.part[0] == 0
        assert len(set(mine.block[mine.length == 5].tolist())) == blocks
        assert first.block[0] not in mine.block[mine.length == 5]
    # The same length goes on with the next part.
    assert found.skipped_tokens(40).tolist() == [4, 8]


def test_other_blocks_start_a_new_epoch() -> None:
    found = plan(
        phases=(PhaseSpec(0, 16, WEIGHTS), PhaseSpec("3 steps", 12, WEIGHTS)), accept_repeat=True, steps=1
    )
    assert [phase.block_tokens for phase in found.phases] == [16, 24]
    refs = found.locate(np.arange(40))
    assert set(refs.epoch[:15].tolist()) == {0}
    assert set(refs.epoch[15:].tolist()) == {1}
    blocks = np.array([(TOKENS[source.source] - 1) // 16 for source in found.sources])
    assert found.skipped_tokens(16).tolist() == ((blocks - found.counts(15)) * 16).tolist()


def test_far_rows_are_as_near_as_the_first() -> None:
    found = plan(steps=1)
    rows = np.array([10**12, 10**12 + 1, 10**12 + 7])
    refs = found.locate(rows)
    for index, row in enumerate(rows.tolist()):
        place = [int(getattr(refs, name)[index]) for name in ("source", "epoch", "block", "part")]
        assert found.row_of(*place) == row
    assert found.counts(10**12).sum() == 10**12
    assert float(found.epochs(10**12)[0]) == pytest.approx(5e11 / 62, rel=1e-6)


def test_places_that_no_row_comes_to() -> None:
    found = short_plan([161, 161], [(0, 4, [3, 1]), (9, 8, [1, 0])], block_tokens=16)
    skipped = found.locate(np.arange(9)).take(np.array([6]))
    assert found.row_of(0, 0, int(skipped.block[0]), 3) is None  # passed over by the change of length
    assert found.row_of(1, 5, 0, 0) is None  # the source is in no later phase
    assert found.row_of(0, 0, 99, 0) is None
    assert found.row_of(0, 0, 0, 99) is None


def test_rows_in_any_order_and_refs_taken() -> None:
    found = fresh()
    order = np.random.default_rng(0).permutation(300)
    whole = found.locate(np.arange(300))
    assert as_tuples(fresh().locate(order)) == as_tuples(whole.take(order))
    assert as_tuples(whole.take(whole.source == 1)) == [ref for ref in as_tuples(whole) if ref[0] == 1]
    assert len(found.locate(np.empty(0, np.int64))) == 0
    with pytest.raises(IndexError):
        found.locate(np.array([-1]))
