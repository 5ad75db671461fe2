"""The cap on bytes is a choice by hash: the same documents whatever their order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dataprep.decide.capped import beyond, cut_of


def capped(
    source: np.ndarray, raw_hash: np.ndarray, sizes: np.ndarray, limits: list[int | None]
) -> np.ndarray:
    """Every source by itself, judged in two parts as tasks do."""
    over = np.zeros(len(source), dtype=bool)
    for index, limit in enumerate(limits):
        rows = np.flatnonzero(source == index)
        cut = None if limit is None else cut_of(raw_hash[rows], sizes[rows], limit)
        half = len(rows) // 2
        if cut is not None:
            over[rows[:half]] = beyond(raw_hash[rows[:half]], 0, cut)
            over[rows[half:]] = beyond(raw_hash[rows[half:]], half, cut)
    return over


def slow_capped(documents: list[tuple[int, int, int]], limits: list[int | None]) -> set[int]:
    """Twin: sort, add up, stop."""
    over: set[int] = set()
    for source, limit in enumerate(limits):
        total = 0
        for _, row in sorted(
            (hash_, row) for row, (owner, hash_, _) in enumerate(documents) if owner == source
        ):
            total += documents[row][2]
            if limit is not None and total > limit:
                over.add(row)
    return over


documents = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2**64 - 1), st.integers(0, 100)), max_size=40
)
limits = st.lists(st.none() | st.integers(0, 400), min_size=3, max_size=3)


@given(documents, limits)
def test_equals_the_slow_twin(rows: list[tuple[int, int, int]], caps: list[int | None]) -> None:
    source = np.array([row[0] for row in rows], dtype=np.int32)
    hashes = np.array([(row[1], 0) for row in rows], dtype=np.uint64).reshape(-1, 2)
    sizes = np.array([row[2] for row in rows], dtype=np.int64)
    over = capped(source, hashes, sizes, caps)
    assert set(np.flatnonzero(over).tolist()) == slow_capped(rows, caps)
    for index, cap in enumerate(caps):
        if cap is not None:
            assert sizes[(source == index) & ~over].sum() <= cap


def test_both_words_of_the_hash_count() -> None:
    hashes = np.array([[5, 9], [5, 1], [5, 5]], dtype=np.uint64)
    over = capped(np.zeros(3, np.int32), hashes, np.array([10, 10, 10]), [20])
    assert over.tolist() == [True, False, False]
