from __future__ import annotations

import numpy as np

from dataprep.decide.verify import edges_of, least_estimate, unsettled


def test_estimates_near_the_threshold_are_not_believed() -> None:
    estimates = np.array([0, 650_000, 650_001, 750_000, 849_999, 850_000, 10**6], dtype=np.int32)
    assert unsettled(estimates, 750_000).tolist() == [False, False, True, True, True, False, False]
    assert not unsettled(estimates, 750_000, 0).any()


def test_edges_reach_the_threshold() -> None:
    pairs = np.array([[0, 1], [2, 9], [3, 4]], dtype=np.int64)
    similarity = np.array([749_999, 750_000, 10**6], dtype=np.int32)
    edges = edges_of(pairs, similarity, 750_000)
    assert edges.dtype == np.int64
    assert edges.tolist() == [[2, 9, 750_000], [3, 4, 10**6]]


def test_estimates_alone_must_be_a_little_over_the_threshold() -> None:
    assert [least_estimate(threshold) for threshold in (0, 750_000, 990_000)] == [20_000, 770_000, 10**6]
