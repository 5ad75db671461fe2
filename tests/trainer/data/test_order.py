from __future__ import annotations

from itertools import permutations, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from tests.reference import order as slow
from trainer.data.order import (
    SORT_LIMIT,
    ExtentPermutation,
    Permutation,
    block_order,
    derived_words,
    mix,
    permutation_key,
)


def key_of(epoch: int = 0, source: str = "a/b", seed: int = 17) -> bytes:
    return permutation_key(seed, "blocks", source, epoch)


@given(size=st.integers(1, 3000), epoch=st.integers(0, 10**9))
@example(size=1, epoch=0)
@example(size=SORT_LIMIT, epoch=0)
@example(size=SORT_LIMIT + 1, epoch=0)
@example(size=(1 << 17) - 1, epoch=0)
@example(size=1 << 17, epoch=1)
def test_bijection_with_inverse(size: int, epoch: int) -> None:
    order = Permutation(size, key_of(epoch))
    index = np.arange(size)
    shuffled = order.forward(index)
    np.testing.assert_array_equal(np.sort(shuffled), index)
    np.testing.assert_array_equal(order.inverse(shuffled), index)


@given(
    size=st.integers(SORT_LIMIT + 1, 1 << 62),
    epoch=st.integers(0, 10**9),
    places=st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=50),
)
@example(size=1 << 62, epoch=0, places=[0.0, 1 - 1e-16])
def test_inverse_of_large_sizes(size: int, epoch: int, places: list[float]) -> None:
    order = Permutation(size, key_of(epoch))
    index = np.array([min(int(place * size), size - 1) for place in places], np.uint64)
    shuffled = order.forward(index)
    assert int(shuffled.max()) < size
    assert shuffled.dtype == np.uint64
    np.testing.assert_array_equal(order.inverse(shuffled), index)
    assert order.inverse(order.forward(int(index[0]))) == int(index[0])


@given(size=st.integers(SORT_LIMIT + 1, 1 << 62), place=st.floats(0, 1, exclude_max=True))
def test_equals_the_slow_twin(size: int, place: float) -> None:
    index = min(int(place * size), size - 1)
    assert Permutation(size, key_of()).forward(index) == slow.feistel(index, size, key_of())


@given(size=st.integers(1, 500), epoch=st.integers(0, 9))
def test_sorted_order_equals_the_slow_twin(size: int, epoch: int) -> None:
    order = Permutation(size, key_of(epoch)).forward(np.arange(size))
    assert order.tolist() == slow.sorted_order(size, key_of(epoch))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_permutation_of_small_sizes_comes_as_often(size: int) -> None:
    index = np.arange(size)
    found = [tuple(Permutation(size, key_of(epoch)).forward(index).tolist()) for epoch in range(600)]
    counts = {order: found.count(order) for order in permutations(range(size))}
    assert sum(counts.values()) == 600
    # 5 standard deviations; no permutation has fewer than 600 / 6.
    expected = 600 / len(counts)
    assert all(abs(count - expected) <= 5 * expected**0.5 for count in counts.values()), counts


@given(size=st.integers(1, 5000), extent=st.integers(2, 700))
@example(size=64 * 7 * 2 + 3, extent=7)
@example(size=5, extent=100)
def test_extents_are_a_bijection_with_inverse(size: int, extent: int) -> None:
    order = block_order(size, key_of(), extent)
    index = np.arange(size)
    shuffled = order.forward(index)
    assert shuffled.tolist() == slow.extents(size, key_of(), extent)
    np.testing.assert_array_equal(order.inverse(shuffled), index)
    assert order.forward(size - 1) == shuffled[-1]
    assert order.inverse(int(shuffled[-1])) == size - 1


def test_extents_keep_reads_near_each_other() -> None:
    order = ExtentPermutation(1_000_000, key_of(), 100)
    blocks = order.forward(np.arange(6400))
    assert len(np.unique(blocks // 100)) == 64
    assert np.mean(np.diff(blocks) == 1) < 0.01  # but not in their old order


@given(
    st.lists(st.tuples(st.integers(0, 99), st.text(), st.text(), st.integers(0, 99)), unique=True, min_size=2)
)
@example([(1, "a", "bc", 0), (1, "ab", "c", 0), (11, "", "abc", 0), (1, "1abc", "", 0)])
def test_keys_of_different_fields_differ(fields: list[tuple[int, str, str, int]]) -> None:
    assert len({permutation_key(*field) for field in fields}) == len(fields)


def test_avalanche_both_ways() -> None:
    """Each input bit flips each output bit in half of the cases: low bits reach high ones and the reverse."""
    values = np.random.default_rng(0).integers(0, 1 << 63, 4000, dtype=np.uint64)
    words = derived_words(key_of(), "round", 0)
    for first, second in (words, (np.uint64(0), np.uint64(0))):
        before = mix(values, first, second)
        for bit in range(64):
            changed = before ^ mix(values ^ np.uint64(1 << bit), first, second)
            share = [np.mean(changed >> np.uint64(out) & np.uint64(1)) for out in range(64)]
            assert min(share) > 0.45 and max(share) < 0.55, (bit, min(share), max(share))


@pytest.mark.parametrize("size", [5, SORT_LIMIT + 5])
@pytest.mark.parametrize("extent", [1, 3])
def test_indices_outside_are_refused(size: int, extent: int) -> None:
    order = block_order(size, key_of(), extent)
    for method, index in product((order.forward, order.inverse), (-1, size)):
        with pytest.raises(IndexError):
            method(index)


@pytest.mark.parametrize("size", [0, -1, (1 << 62) + 1])
def test_impossible_sizes_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="2\\^62"):
        Permutation(size, key_of())
