from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from manifests.errors import UserError
from trainer.data.schedule import BatchSchedule, PhaseSpec, resolve_starts, row_weights

BATCH = BatchSchedule((0, 3, 10), (5, 8, 2))


def phases(*starts: int | str, length: int = 100) -> list[PhaseSpec]:
    return [PhaseSpec(start, length, {"a": 1.0}) for start in starts]


def test_rows_and_steps() -> None:
    listed = [step for step in range(20) for _ in range(BATCH.rows_in(step))]
    assert listed[:15] == [step for step in range(3) for _ in range(5)]
    assert BATCH.step_of(np.arange(len(listed))).tolist() == listed
    for step in range(20):
        assert BATCH.first_row(step) == listed.index(step)
    assert BatchSchedule.constant(3).first_row(10**12) == 3 * 10**12


@given(st.integers(0, 10**9))
def test_step_boundary_is_the_next_one(row: int) -> None:
    boundary = BATCH.step_boundary(row)
    step = int(BATCH.step_of(boundary))
    assert BATCH.first_row(step) == boundary >= row
    assert step == 0 or BATCH.first_row(step - 1) < row


@pytest.mark.parametrize(
    ("starts", "rows"),
    [((), ()), ((1,), (5,)), ((0, 0), (5, 5)), ((0, 4), (5,)), ((0,), (0,)), ((0, 9, 3), (1, 1, 1))],
)
def test_impossible_batch_schedules_are_refused(starts: tuple[int, ...], rows: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="steps"):
        BatchSchedule(starts, rows)


@pytest.mark.parametrize(
    ("start", "row"),
    [
        (15, 15),
        (16, 23),  # rounded up to a step boundary
        ("16", 23),
        ("16 rows", 23),
        ("3 steps", 15),
        ("11 steps", 73),
        ("1500 tokens", 15),
        ("1501 tokens", 23),
        ("1.5k tokens", 15),
        ("0.001M tokens", 10),
        ("1M tokens", 10_001),
    ],
)
def test_starts_become_rows_at_step_boundaries(start: int | str, row: int) -> None:
    assert resolve_starts(phases(0, start), BATCH) == [0, row]


def test_tokens_count_from_the_start_of_the_run_over_phases_of_other_lengths() -> None:
    specs = [PhaseSpec(0, 100, {}), PhaseSpec("1000 tokens", 50, {}), PhaseSpec("2000 tokens", 10, {})]
    # 10 rows of 100, then 20 of 50, up to boundaries of steps of 4 rows: 12 rows, 1,200 tokens; 16 more.
    assert resolve_starts(specs, BatchSchedule.constant(4)) == [0, 12, 28]


@pytest.mark.parametrize("start", ["soon", "1.5 steps", "-3", "3 step", "2X tokens", "", "1.0005k tokens"])
def test_unreadable_starts_are_refused(start: str) -> None:
    with pytest.raises(UserError, match="is no start") as caught:
        resolve_starts(phases(0, start), BATCH)
    assert caught.value.where == "data.phases.1.start"


def test_starts_must_begin_at_zero_and_ascend() -> None:
    with pytest.raises(UserError, match="not at 0"):
        resolve_starts(phases(3), BATCH)
    for starts in ([0, 0], [0, "5 steps", "5 steps"], [0, "9 steps", 20], [0, 16, 17], [0, 20, "100 tokens"]):
        with pytest.raises(UserError, match="must ascend"):
            resolve_starts(phases(*starts), BATCH)


@pytest.mark.parametrize("start", [10**30, "99999999999999999999 steps", "999999999T tokens", 2**62])
def test_starts_beyond_64_bits_are_refused(start: int | str) -> None:
    with pytest.raises(UserError, match="after all rows that a run can have"):
        resolve_starts(phases(0, start), BATCH)


def test_the_smallest_weight_is_still_a_weight() -> None:
    assert row_weights({"a": 5e-324}, {"a": 16.0}) == {"a": 1.0}


def test_weights_are_shares_of_targets() -> None:
    rows = row_weights({"a": 0.5, "b": 0.5}, {"a": 100.0, "b": 50.0})
    assert rows == pytest.approx({"a": 1 / 3, "b": 2 / 3})
    assert row_weights({"a": 3.0, "b": 1.0}, {"a": 7.0, "b": 7.0}) == pytest.approx({"a": 0.75, "b": 0.25})
