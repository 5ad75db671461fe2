"""Best-fit decreasing against its slow twin, and what the paper promises of it."""

from __future__ import annotations

import resource

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.best_fit import best_fit
from tests.reference import best_fit as reference


@given(st.data())
def test_equals_the_slow_twin(data: st.DataObject) -> None:
    capacity = data.draw(st.integers(1, 40))
    sizes = data.draw(st.lists(st.integers(1, capacity), max_size=60))
    wanted = reference.best_fit(sizes, capacity)
    assert best_fit(np.array(sizes, np.int64), capacity).tolist() == wanted
    assert best_fit(np.array(sizes, np.int64), capacity, largest_tree=0).tolist() == wanted


@given(st.data())
def test_no_bin_is_too_full_and_no_two_could_be_one(data: st.DataObject) -> None:
    capacity = data.draw(st.integers(1, 5000))
    sizes = np.array(data.draw(st.lists(st.integers(1, capacity), max_size=300)), np.int64)
    bins = best_fit(sizes, capacity)
    filled = np.bincount(bins, sizes).astype(np.int64)
    assert (filled <= capacity).all() and (filled > 0).all()
    # A bin is opened only when nothing fits: what opened the later one did not fit into the earlier.
    lightest = np.sort(filled)[:2]
    assert len(filled) < 2 or lightest.sum() > capacity


def test_real_lengths_leave_next_to_no_room() -> None:
    """Documents of web-like lengths, cut at a row as the plan of a shard cuts them."""
    sizes = np.minimum(np.random.default_rng(5).lognormal(6, 1.2, 200_000).astype(np.int64) + 1, 2049)
    bins = best_fit(sizes, 2049)
    padding = 1 - sizes.sum() / ((bins.max() + 1) * 2049)
    assert padding < 0.001
    np.testing.assert_array_equal(best_fit(sizes, 2049, largest_tree=0), bins)


def test_memory_does_not_grow_with_the_capacity() -> None:
    """A recipe may ask for rows of 2,000,000,000 tokens; a tree for those would take 24 GB."""
    sizes = np.array([2**31 - 1, 5, 2**30, 2**30 - 1, 7, 1], np.int64)
    best_fit(sizes, 2**31 - 1)  # compiled
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert best_fit(sizes, 2**31 - 1).tolist() == reference.best_fit(sizes.tolist(), 2**31 - 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


@pytest.mark.parametrize("sizes", [[0], [-1], [5], [3, 5]])
def test_a_size_that_fits_no_bin_is_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="for bins of 4"):
        best_fit(np.array(sizes, np.int64), 4)


def test_nothing_needs_no_bin() -> None:
    assert best_fit(np.zeros(0, np.int64), 8).tolist() == []
