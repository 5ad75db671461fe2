"""Statistics of the shuffle over 100 keys, at sizes that weak constructions get wrong.

Each statistic is a chi-square of counts over bins, summed over the keys, judged from both sides: too uneven
and too even both fail. Places are drawn without replacement, so their counts vary less than those of a
multinomial, by the share of the range that is left out; the chi-square is divided by it. (Distances between
disjoint pairs are as good as independent.) The limit is 1e-6 a test, as is: with some 100 tests here, a right
shuffle would fail for one choice of the seed in 10,000, and the seed is fixed. The worst single key is judged
too, at 1e-6 over the 100 keys (Bonferroni).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from trainer.data.order import Permutation, permutation_key

SIZES = [1000, 2**16, 2**16 + 1, 2**20 - 1, 2**26 - 3, 60_000_000, 2**33 + 5]
NUM_KEYS = 100
BINS = 16
LIMIT = 1e-6

Order = Callable[[np.ndarray], np.ndarray]


@functools.lru_cache(maxsize=4 * NUM_KEYS)
def keyed(size: int, number: int, source: str = "corpus/source") -> Order:
    return Permutation(size, permutation_key(20, "blocks", source, number)).forward


def weak(size: int, number: int) -> Order:
    """The control: a five-round Feistel whose round function is one multiplication and one addition.

    (That of Levanter's data/_prp.py.) Its low bits mix with low bits only.
    """
    bits = (size - 1).bit_length()
    bits += bits % 2
    half, mask = np.uint64(bits // 2), np.uint64((1 << bits // 2) - 1)
    keys = np.random.default_rng(number).integers(0, 1 << 32, 5, dtype=np.uint64)

    def turn(values: np.ndarray) -> np.ndarray:
        left, right = values >> half, values & mask
        for key in keys:
            left, right = right, left ^ ((right * np.uint64(2654435761) + key) & mask)
        return left << half | right

    def forward(index: np.ndarray) -> np.ndarray:
        values = turn(index.astype(np.uint64))
        while len(outside := np.flatnonzero(values >= size)):
            values[outside] = turn(values[outside])
        return values.astype(np.int64)

    return forward


def sample(size: int, count: int, stride: int) -> np.ndarray:
    """Indices 0, stride, 2 stride, ...: at most half of them."""
    return np.arange(min(count, size // (2 * stride))) * stride


def low_bits(size: int, order: Order, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(counts, probabilities) of the shuffled index modulo BINS."""
    counts = np.bincount(order(index) % BINS, minlength=BINS)
    return counts, np.array([len(range(k, size, BINS)) for k in range(BINS)]) / size


def high_bits(size: int, order: Order, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of the sixteenth of the range that it falls into."""
    edges = [-(-size * k // BINS) for k in range(BINS + 1)]
    counts = np.bincount(np.searchsorted(edges, order(index), side="right") - 1, minlength=BINS)
    return counts, np.diff(edges) / size


def distance(size: int, order: Order, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of how far neighbours lie apart, around the end: 1 to size - 1, all equally likely."""
    shuffled = order(index)
    apart = (shuffled[1::2] - shuffled[: len(shuffled) // 2 * 2 : 2]) % size
    edges = [1 + -(-(size - 1) * k // BINS) for k in range(BINS + 1)]
    counts = np.bincount(np.searchsorted(edges, apart, side="right") - 1, minlength=BINS)
    return counts, np.diff(edges) / (size - 1)


def distance_low_bits(size: int, order: Order, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of that distance modulo BINS."""
    shuffled = order(index)
    apart = (shuffled[1::2] - shuffled[: len(shuffled) // 2 * 2 : 2]) % size
    counts = np.bincount(apart % BINS, minlength=BINS)
    return counts, np.array([len(range(k or BINS, size, BINS)) for k in range(BINS)]) / (size - 1)


STATISTICS = [low_bits, high_bits, distance, distance_low_bits]


def p_values(
    statistic: Callable[..., tuple[np.ndarray, np.ndarray]],
    size: int,
    orders: Callable[[int, int], Order],
    index: np.ndarray,
) -> tuple[float, float, float]:
    """(p of too uneven, p of too even, p of the worst single key times the number of keys)."""
    left_out = 1 - len(index) / size if statistic in (low_bits, high_bits) else 1.0
    values = []
    for number in range(NUM_KEYS):
        counts, probabilities = statistic(size, orders(size, number), index)
        expected = probabilities * counts.sum()
        values.append(((counts - expected) ** 2 / expected).sum() / left_out)
    degrees = BINS - 1
    whole, worst = sum(values), max(values)
    return (
        float(stats.chi2.sf(whole, degrees * NUM_KEYS)),
        float(stats.chi2.cdf(whole, degrees * NUM_KEYS)),
        float(stats.chi2.sf(worst, degrees)) * NUM_KEYS,
    )


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("size", SIZES)
def test_shuffled_indices_are_spread_evenly(
    size: int, statistic: Callable[..., tuple[np.ndarray, np.ndarray]]
) -> None:
    found = p_values(statistic, size, keyed, sample(size, 4096, 1))
    assert min(found) > LIMIT, found


@pytest.mark.slow
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda function: function.__name__)
@pytest.mark.parametrize(
    ("size", "stride"),
    [
        (size, stride)
        for size in SIZES[3:]
        for stride in (1, 2, 16, 4096, 2**16)
        if size > 512 * BINS * stride
    ],
)
def test_large_samples_and_strides_are_spread_evenly(
    size: int, statistic: Callable[..., tuple[np.ndarray, np.ndarray]], stride: int
) -> None:
    index = sample(size, 1 << 16, stride)
    found = p_values(statistic, size, keyed, index)
    assert min(found) > LIMIT, found


@pytest.mark.parametrize("size", [2**26 - 3, 60_000_000])
def test_these_statistics_would_catch_a_weak_round_function(size: int) -> None:
    assert min(p_values(low_bits, size, weak, sample(size, 4096, 1))) < LIMIT


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("other", ["epoch", "source"])
def test_epochs_and_sources_are_independent(size: int, other: str) -> None:
    """Where an index goes in one epoch says nothing of where it goes in the next, or in another source."""
    index = sample(size, 4096, 1)
    value = 0.0
    degrees = 0
    for number in range(NUM_KEYS):
        first = keyed(size, number)(index)
        second = keyed(size, number + 1)(index) if other == "epoch" else keyed(size, number, "a/b")(index)
        for bins in ((first * 8 // size, second * 8 // size), (first % 8, second % 8)):
            table = np.bincount(bins[0] * 8 + bins[1], minlength=64).reshape(8, 8)
            found = stats.chi2_contingency(table, correction=False)
            value, degrees = value + found.statistic, degrees + found.dof
    # The margins are taken from the sample, so drawing without replacement needs no correction.
    assert LIMIT < stats.chi2.cdf(value, degrees) < 1 - LIMIT


@pytest.mark.parametrize("size", [1000, 2**16, 2**16 + 1])
def test_fixed_points_between_epochs_are_as_many_as_chance_has(size: int) -> None:
    """Two unrelated orders agree in one place on average, whatever the size: Poisson of mean 1 a pair."""
    orders = [keyed(size, number)(np.arange(size)) for number in range(NUM_KEYS + 1)]
    agree = sum(int(np.sum(first == second)) for first, second in pairwise(orders))
    assert stats.poisson.cdf(agree, NUM_KEYS) > LIMIT
    assert stats.poisson.sf(agree - 1, NUM_KEYS) > LIMIT
