from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dataprep.decide.exact import copies
from tests.reference.exact import copies as slow

Pair = tuple[int, int]
hashes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=40)


def run(drawn: list[Pair], ranks: list[int]) -> list[Pair]:
    table = np.array(drawn, dtype=np.uint64).reshape(-1, 2) << np.uint64(62)
    return [(worse, best) for worse, best in copies(table, np.array(ranks, dtype=np.int64)).tolist()]


@given(hashes, st.randoms(use_true_random=False))
def test_result_is_that_of_the_slow_twin_in_any_order(drawn: list[Pair], shuffler: random.Random) -> None:
    ranks = shuffler.sample(range(100), len(drawn))
    wanted = slow(list(zip(drawn, ranks, strict=True)))
    assert run(drawn, ranks) == wanted
    order = list(range(len(drawn)))
    shuffler.shuffle(order)
    assert run([drawn[row] for row in order], [ranks[row] for row in order]) == wanted


@given(hashes)
def test_one_of_each_stays(drawn: list[Pair]) -> None:
    found = run(drawn, list(range(len(drawn))))
    gone = {worse for worse, _ in found}
    assert len(drawn) - len(gone) == len(set(drawn))
    assert not gone & {best for _, best in found}


def test_half_equal_hashes_are_different() -> None:
    table = np.array([[1, 1], [1, 2], [2, 1], [1, 1]], dtype=np.uint64)
    assert copies(table, np.array([3, 2, 1, 0])).tolist() == [[3, 0]]
