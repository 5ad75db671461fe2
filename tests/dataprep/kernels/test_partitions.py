from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.comparisons import comparable
from dataprep.kernels.partitions import maybe_repeated, scattered
from dataprep.kernels.radix import order_of
from tests.reference import partitions as slow

some_keys = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 5), st.integers(0, 5).map(lambda n: n << 60))
lists = st.lists(some_keys, max_size=60)


def columns(values: list[int]) -> np.ndarray:
    """A column of a table, as records are."""
    table = np.zeros((len(values), 3), dtype=np.uint64)
    table[:, 0] = values
    return table[:, 0]


@given(lists)
def test_order_is_that_of_a_stable_sort(values: list[int]) -> None:
    assert order_of(columns(values)).tolist() == sorted(range(len(values)), key=values.__getitem__)


@given(lists)
def test_what_is_repeated_is_found(values: list[int]) -> None:
    found = maybe_repeated(columns(values)).tolist()
    assert all(ours or not wanted for ours, wanted in zip(found, slow.repeated(values), strict=True))


def test_few_others_are_thought_to_be_repeated() -> None:
    keys = np.random.default_rng(3).integers(0, 2**64, 100_000, dtype=np.uint64)
    assert maybe_repeated(keys).mean() < 0.125


@given(st.lists(st.lists(some_keys, min_size=3, max_size=3), max_size=20), st.integers(1, 70))
def test_records_are_scattered_as_by_the_slow_twin(rows: list[list[int]], partitions: int) -> None:
    keys, ranks = np.array(rows, dtype=np.uint64).reshape(-1, 3), np.arange(len(rows))
    records, offsets = scattered(keys, ranks, keys[:, 2].copy(), partitions)
    found = [records[offsets[part] : offsets[part + 1]].tolist() for part in range(partitions)]
    assert [list(map(tuple, part)) for part in found] == slow.scattered(rows, ranks.tolist(), partitions)


@given(st.lists(st.tuples(st.sampled_from([0, 1, 255, 256, 511]), st.integers(0, 2)), max_size=20))
def test_comparable_records(rows: list[tuple[int, int]]) -> None:
    rows.sort()
    table = np.array(rows, dtype=np.uint64).reshape(-1, 2)
    buckets = {key: [mine for each, mine in rows if each == key] for key, _ in rows}
    wanted = [len(buckets[key]) > 1 and (len(set(buckets[key])) > 1 or key % 256 == 255) for key, _ in rows]
    assert comparable(table[:, 0], table[:, 1]).tolist() == wanted
