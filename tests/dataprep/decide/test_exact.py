from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dataprep.decide.exact import resolve
from tests.reference.exact import resolve as slow

small = st.integers(0, 2)
rows = st.lists(st.tuples(small, small, small, small, small, small, small), max_size=40)
Row = tuple[int, ...]


def run(drawn: list[Row], ties: list[int]) -> tuple[list[bool], list[int]]:
    table = np.array(drawn, dtype=np.int64).reshape(-1, 7)
    hashes = table[:, :2].astype(np.uint64) << np.uint64(63)
    keep, match = resolve(
        hashes,
        table[:, 2].astype(np.int32),
        [table[:, 3], -table[:, 4]],
        table[:, 5:].astype(np.uint64) << np.uint64(63),
        np.array(ties, dtype=np.int64),
    )
    return keep.tolist(), match.tolist()


def key(row: Row, tie: int) -> tuple[Row, Row]:
    """Hashes shift 2 to 0, as 64 bits do, so that more of them are equal."""
    low = [value % 2 for value in row]
    return (low[0], low[1], row[2]), (row[3], -row[4], low[5], low[6], tie)


@given(rows)
def test_result_is_that_of_the_slow_twin(drawn: list[Row]) -> None:
    ties = list(range(len(drawn)))
    assert run(drawn, ties) == slow([key(row, tie) for row, tie in zip(drawn, ties, strict=True)])


@given(rows, st.randoms(use_true_random=False))
def test_result_is_independent_of_the_order_of_rows(drawn: list[Row], shuffler: random.Random) -> None:
    ties = list(range(len(drawn)))
    keep, match = run(drawn, ties)
    order = ties.copy()
    shuffler.shuffle(order)
    new_keep, new_match = run([drawn[row] for row in order], order)
    assert {order[row] for row, kept in enumerate(new_keep) if kept} == {
        r for r, kept in enumerate(keep) if kept
    }
    for row, best in enumerate(new_match):
        assert (order[best] if best >= 0 else -1) == match[order[row]]


@given(rows)
def test_one_of_each_stays_and_every_match_stays(drawn: list[Row]) -> None:
    keep, match = run(drawn, list(range(len(drawn))))
    assert sum(keep) == len({key(row, 0)[0] for row in drawn})
    assert all((best == -1) == kept for kept, best in zip(keep, match, strict=True))
    assert all(keep[best] for best in match if best >= 0)


def test_half_equal_hashes_are_different() -> None:
    hashes = np.array([[1, 1], [1, 2], [2, 1], [1, 1]], dtype=np.uint64)
    keep, match = resolve(hashes, np.zeros(4, np.int32), [], hashes, np.array([3, 2, 1, 0]))
    assert keep.tolist() == [False, True, True, True]
    assert match.tolist() == [3, -1, -1, -1]
