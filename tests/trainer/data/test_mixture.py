from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests.reference import mixture as slow
from trainer.data.mixture import Mixture, PhaseTable, quotas
from trainer.data.walk import CHUNK_ROWS, MAX_SOURCES, PERIOD, walk


def skewed(num_sources: int, seed: int) -> np.ndarray:
    """Weights over five orders of magnitude: the least are 1e-5."""
    weights = 10.0 ** np.random.default_rng(seed).uniform(-5, 0, num_sources)
    weights /= weights.sum()
    return np.maximum(weights, 1e-5)


def wild(generator: np.random.Generator, num_sources: int) -> np.ndarray:
    """Quotas of at least 1, from even to nearly all in one source."""
    weights = generator.dirichlet(np.full(num_sources, generator.choice([0.05, 0.3, 1.0, 5.0])))
    quota = 1 + np.floor(weights * (PERIOD - num_sources)).astype(np.int64)
    quota[np.argmax(quota)] += PERIOD - quota.sum()
    return quota


def worst_lead_and_lag(quota: np.ndarray, sources: np.ndarray, ordinals: np.ndarray) -> int:
    """Greatest |count - w * i| of any source at any prefix of rows, in units of 1 / period row.

    A source leads most just after each of its rows and lags most just before.
    """
    period, row = int(quota.sum()), np.arange(1, len(sources) + 1)
    own = quota[sources]
    lead = (ordinals + 1) * period - own * row
    lag = own * (row - 1) - ordinals * period
    end = quota * len(sources) - period * np.bincount(sources, minlength=len(quota))
    return int(max(lead.max(), lag.max(), np.abs(end).max()))


@st.composite
def small_runs(draw: st.DrawFn) -> tuple[int, list[tuple[int, list[int]]]]:
    """(period, phases of (start, quotas)); sources may be absent from phases."""
    period = draw(st.sampled_from([8, 64, 256]))
    num_sources = draw(st.integers(1, 6))
    phases: list[tuple[int, list[int]]] = []
    for _ in range(draw(st.integers(1, 5))):
        weight = st.sampled_from([0, 1, 1, 3, 50, 1000])
        weights = draw(st.lists(weight, min_size=num_sources, max_size=num_sources).filter(any))
        start = phases[-1][0] + draw(st.integers(1, 3 * period)) if phases else 0
        phases.append((start, quotas(weights, period).tolist()))
    return period, phases


@settings(max_examples=25)
@given(small_runs())
def test_equals_the_slow_twin(run: tuple[int, list[tuple[int, list[int]]]]) -> None:
    period, phases = run
    num_rows = phases[-1][0] + 4 * period
    mixture = Mixture(np.array([quota for _, quota in phases]), [start for start, _ in phases], period)
    found, ordinals = mixture.locate(np.arange(num_rows))
    assert found.tolist() == slow.mixture(phases, num_rows, period)
    counts = np.zeros(len(phases[0][1]), np.int64)
    for row, (source, ordinal) in enumerate(zip(found.tolist(), ordinals.tolist(), strict=True)):
        assert mixture.counts(row).tolist() == counts.tolist()
        assert ordinal == counts[source]
        assert mixture.row_of(source, ordinal) == row
        counts[source] += 1


@settings(max_examples=15)
@given(small_runs(), st.integers(0, 10**12), st.randoms(use_true_random=False))
def test_any_order_of_questions_gives_the_same_rows(run, far: int, random) -> None:  # type: ignore[no-untyped-def]
    period, phases = run
    starts, by_phase = [start for start, _ in phases], np.array([quota for _, quota in phases])
    rows = [*range(phases[-1][0] + 2 * period), far, far + 1, far + period]
    whole, ordinals = Mixture(by_phase, starts, period).locate(np.array(rows))
    order = list(range(len(rows)))
    random.shuffle(order)
    mixture = Mixture(by_phase, starts, period)
    for place in order:
        source, ordinal = mixture.locate(np.array([rows[place]]))
        assert (source[0], ordinal[0]) == (whole[place], ordinals[place])
        assert mixture.row_of(int(source[0]), int(ordinal[0])) == rows[place]


@pytest.mark.parametrize("num_sources", [1, 2, 3, 20, 300])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_first_phase_is_the_best_possible_at_every_prefix(num_sources: int, seed: int) -> None:
    """|count - w * i| <= 1 - 1 / (2K - 2) (Tijdeman 1980), w as realised, over a whole period."""
    quota = quotas(skewed(num_sources, seed))
    mixture = Mixture(quota[None], [0])
    sources, ordinals = mixture.locate(np.arange(PERIOD))
    worst = worst_lead_and_lag(quota, sources, ordinals)
    if num_sources == 1:
        assert worst == 0
    else:
        assert worst * (2 * num_sources - 2) <= PERIOD * (2 * num_sources - 3)
    np.testing.assert_array_equal(mixture.counts(PERIOD), quota)


@pytest.mark.parametrize("num_sources", [1, 2, 3, 20, 300])
def test_the_error_never_adds_up_over_phases(num_sources: int) -> None:
    """1,000 phases of 1 to 2,000 rows with wildly changing weights: every source within 4 rows at every row.

    Half of the phases of every other run leave out about half of the sources.
    """
    generator = np.random.default_rng(num_sources)
    credits, worst = np.zeros(num_sources, np.int64), 0
    for phase in range(1000):
        quota = wild(generator, num_sources)
        if phase % 2:
            quota[generator.random(num_sources) < 0.5] = 0
            quota[0] += PERIOD - quota.sum()
        sources, after = walk(quota, credits, int(generator.integers(1, 2001)))
        worst = max(worst, int(np.abs(after).max()), worst_within(quota, credits, sources))
        credits = after
    assert worst < 4 * PERIOD
    assert num_sources < 3 or worst > PERIOD // 2  # or else this measures nothing


def worst_within(quota: np.ndarray, credits: np.ndarray, sources: np.ndarray) -> int:
    """Greatest credit, from either side, inside a phase: just before and just after each row's own source."""
    order = np.argsort(sources, kind="stable")
    counts = np.bincount(sources, minlength=len(quota))
    ordinals = np.empty(len(sources), np.int64)
    ordinals[order] = np.arange(len(sources)) - np.repeat(np.cumsum(counts) - counts, counts)
    before = credits[sources] + quota[sources] * np.arange(len(sources)) - PERIOD * ordinals
    after = before + quota[sources] - PERIOD
    return int(max(np.abs(before).max(), np.abs(after).max()))


def test_phases_continue_each_source() -> None:
    starts = [0, 100, 101, 5000]
    by_phase = np.array([quotas(weights) for weights in ([5, 3, 2], [1, 0, 1], [0, 1, 9], [1, 1, 1])])
    sources, ordinals = Mixture(by_phase, starts).locate(np.arange(10_000))
    for source in range(3):
        mine = ordinals[sources == source]
        np.testing.assert_array_equal(mine, np.arange(len(mine)))
    assert not np.any(sources[100:101] == 1) and not np.any(sources[101:5000] == 0)


@pytest.mark.parametrize("num_sources", [1, 2, 3])
def test_far_rows_cost_no_more_and_are_periodic(num_sources: int) -> None:
    by_phase = np.array([quotas(skewed(num_sources, seed)) for seed in (0, 1)])
    mixture = Mixture(by_phase, [0, 777])
    far = 10**12
    rows = far + np.arange(1000)
    sources, ordinals = mixture.locate(rows)
    again, near = mixture.locate(rows - PERIOD)
    np.testing.assert_array_equal(sources, again)
    np.testing.assert_array_equal(ordinals - near, by_phase[1][sources])
    for row in range(0, 1000, 97):
        assert mixture.row_of(int(sources[row]), int(ordinals[row])) == far + row
    counts = mixture.counts(far)
    assert counts.sum() == far
    assert np.abs(mixture.credits(far)).max() < 2 * PERIOD
    assert mixture.counts(far + 1).tolist() == (counts + np.eye(num_sources, dtype=int)[sources[0]]).tolist()


@given(st.integers(0, 10**6))
def test_a_steady_period_is_found_from_any_credits(seed: int) -> None:
    """Credits of up to 4 rows either way: after some transient periods, one reproduces its own end state."""
    generator = np.random.default_rng(seed)
    period = int(generator.choice([16, 64, 256]))
    num_sources = int(generator.integers(2, 12))
    quota = quotas(1 / num_sources + generator.dirichlet(np.full(num_sources, 0.1)), period)
    credits = np.round(generator.uniform(-4, 4, num_sources) * period).astype(np.int64)
    table = PhaseTable(quota, credits, None, period)
    far = 1000 * period
    sources, ordinals = table.locate(np.arange(far, far + 2 * period))
    np.testing.assert_array_equal(sources[:period], sources[period:])
    np.testing.assert_array_equal(np.bincount(sources[:period], minlength=num_sources), quota)
    np.testing.assert_array_equal(table.credits(far), table.credits(far + period))
    assert [table.row_of(int(k), int(j)) for k, j in zip(sources, ordinals, strict=True)] == list(
        range(far, far + 2 * period)
    )


@given(st.integers(0, 10**6), st.integers(1, 500), st.integers(1, 500))
def test_walking_in_pieces_is_walking_at_once(seed: int, first: int, second: int) -> None:
    quota = wild(np.random.default_rng(seed), 7)
    start = np.zeros(7, np.int64)
    whole, end = walk(quota, start, first + second)
    left, between = walk(quota, start, first)
    right, pieces_end = walk(quota, between, second)
    np.testing.assert_array_equal(whole, np.concatenate([left, right]))
    np.testing.assert_array_equal(end, pieces_end)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50).filter(any))
def test_quotas_are_the_nearest_whole_numbers(weights: list[float]) -> None:
    quota = quotas(weights)
    assert quota.sum() == PERIOD
    total = sum(map(Fraction, weights))
    for rows, weight in zip(quota.tolist(), weights, strict=True):
        assert abs(rows - Fraction(weight) / total * PERIOD) < 1 + Fraction(1, 10**6)
        assert weight or not rows


def test_quotas_by_largest_remainder() -> None:
    assert quotas([1, 1, 1], 10).tolist() == [4, 3, 3]
    assert quotas([0.26, 0.26, 0.48], 10).tolist() == [3, 2, 5]


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [1, float("nan")], [1] * (MAX_SOURCES + 1)])
def test_impossible_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        quotas(weights)


def test_impossible_walks_are_refused() -> None:
    quota, credits = quotas([1, 1]), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="rows"):
        walk(quota, credits, CHUNK_ROWS + 1)
    with pytest.raises(ValueError, match="add up"):
        walk(quota + 1, credits, 1)
    for starts in ([], [1], [0, 0], [0, 5, 4]):
        with pytest.raises(ValueError, match="ascending"):
            Mixture(np.tile(quota, (len(starts), 1)), starts)
    with pytest.raises(IndexError):
        Mixture(quota[None], [0]).locate(np.array([-1]))
    with pytest.raises(IndexError):
        PhaseTable(quota, credits, 10).locate(np.array([10]))


def test_the_greatest_numbers_do_not_overflow() -> None:
    """The most sources, the most rows at a time, credits of 4 rows: the last rows are still right."""
    quota = np.ones(MAX_SOURCES, np.int64)
    quota[0] = PERIOD - MAX_SOURCES + 1
    credits = np.where(np.arange(MAX_SOURCES) % 2, 4 * PERIOD, -4 * PERIOD)
    sources, _ = walk(quota, credits, CHUNK_ROWS)
    _, before = walk(quota, credits, CHUNK_ROWS - 20)
    weights = [Fraction(int(rows), PERIOD) for rows in quota]
    for owed, expected in ((credits, sources[:20]), (before, sources[-20:])):
        reference = slow.chairman(weights, [Fraction(int(credit), PERIOD) for credit in owed])
        assert expected.tolist() == [next(reference) for _ in range(20)]


def test_threads_may_ask_at_once() -> None:
    """Tables grow while others read them."""
    by_phase = np.array([quotas([5, 3, 2], 4096), quotas([1, 6, 3], 4096)])
    rows = np.random.default_rng(0).integers(0, 30_000, (200, 50))
    whole, ordinals = Mixture(by_phase, [0, 9000], 4096).locate(rows.ravel())
    mixture = Mixture(by_phase, [0, 9000], 4096)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(mixture.locate, rows))
    np.testing.assert_array_equal(np.concatenate([sources for sources, _ in found]), whole)
    np.testing.assert_array_equal(np.concatenate([places for _, places in found]), ordinals)
