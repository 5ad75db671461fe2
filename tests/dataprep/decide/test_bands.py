from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.decide.bands import (
    best_bands,
    candidates,
    distinct_pairs,
    keys_of_bands,
    keys_of_signatures,
)
from tests.dataprep.kernels.timing import ratio
from tests.reference import bands as slow

records = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**12), st.integers(0, 2)), max_size=40)


def columns(drawn: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(drawn, dtype=np.int64).reshape(-1, 3)
    return table[:, 0].astype(np.uint64) << np.uint64(61), table[:, 1].copy(), table[:, 2].astype(np.uint64)


@given(records, st.integers(1, 8), st.integers(1, 7))
def test_pairs_are_those_of_the_slow_twin(drawn: list[tuple[int, int, int]], limit: int, chunk: int) -> None:
    drawn = list({document: (key, document, signature) for key, document, signature in drawn}.values())
    found = candidates(*columns(drawn), limit)
    wanted, limited = slow.candidates(drawn, limit)
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *found.chunks(chunk)])
    assert sorted(map(tuple, pairs.tolist())) == wanted
    assert (len(found), found.limited) == (len(wanted), limited)
    assert distinct_pairs(pairs).tolist() == sorted(map(list, set(wanted)))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20), st.booleans())
def test_distinct_pairs(drawn: list[tuple[int, int]], large: bool) -> None:
    pairs = np.array(drawn, dtype=np.int64).reshape(-1, 2) + (2**40 if large else 0)
    assert distinct_pairs(pairs).tolist() == sorted(map(list, set(map(tuple, pairs.tolist()))))


@given(
    st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=6, max_size=6), max_size=4),
    st.sampled_from([(1, 1), (3, 2), (2, 3), (1, 6), (6, 1)]),
    st.integers(0, 2**64 - 1),
)
def test_keys_are_those_of_the_slow_twin(rows: list[list[int]], shape: tuple[int, int], group: int) -> None:
    bands, depth = shape
    signatures = np.array(rows, dtype=np.uint32).reshape(-1, 6)
    groups = np.full(len(rows), group, dtype=np.uint64)
    assert keys_of_bands(signatures, bands, depth, groups).tolist() == [
        [slow.band_key(group, row[band * depth : (band + 1) * depth], band) for band in range(bands)]
        for row in rows
    ]
    wanted = [slow.band_key(0, row, 0) for row in rows]
    assert keys_of_signatures(signatures).tolist() == wanted


def test_more_bands_than_values_are_refused() -> None:
    with pytest.raises(ValueError, match="3 bands of 4 rows need more than 11 permutations"):
        keys_of_bands(np.zeros((1, 11), dtype=np.uint32), 3, 4)


def test_best_bands_of_the_default() -> None:
    assert best_bands(0.75, 112) == (14, 8)


@pytest.mark.parametrize("permutations", [1, 30, 112, 128])
@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95])
def test_best_bands_are_those_of_datasketch(threshold: float, permutations: int) -> None:
    from datasketch.lsh import _optimal_param

    assert best_bands(threshold, permutations) == _optimal_param(threshold, permutations, 0.2, 0.8)
    assert best_bands(threshold, permutations, 0.5) == _optimal_param(threshold, permutations, 0.5, 0.5)


def test_nothing_is_lost_while_there_are_few_signatures() -> None:
    """A template with many copies: whoever stays among all pairs is a leader, and paired with all others."""
    random = np.random.default_rng(5)
    documents, signatures = random.permutation(3000), random.integers(0, 60, 3000).astype(np.uint64)
    found = candidates(np.zeros(3000, dtype=np.uint64), documents, signatures)
    assert found.limited == 0 and len(found) < 60 * 3000
    leaders = {int(documents[signatures == each].min()) for each in np.unique(signatures)}
    assert set(found.pairs(0, len(found))[:, 0].tolist()) == leaders - {2999}


@pytest.mark.slow
@pytest.mark.parametrize("signatures", [1, 10**9])
@pytest.mark.parametrize("runs", [1, 17])
def test_a_template_with_a_million_copies_is_linear(signatures: int, runs: int) -> None:
    """Also if the ranks come as a few ascending runs, one from each file."""

    def template(count: int) -> Callable[[], None]:
        random = np.random.default_rng(7)
        whole = random.integers(0, signatures, count).astype(np.uint64)
        ranks = np.concatenate([np.arange(run, count, runs) for run in random.permutation(runs)])

        def run() -> None:
            found = candidates(np.zeros(count, dtype=np.uint64), ranks.copy(), whole)
            for _ in found.chunks(1 << 20):
                pass
            assert len(found) < 64 * count and found.limited == (signatures > 1)

        return run

    template(1000)()  # compiles
    assert ratio(template(100_000), template(1_000_000), at_most=40, floor=0.01) <= 40
