from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.repeats import TableFull, expanded, left_open, resolve, table_of
from dataprep.kernels.windows import PIECE, by_part, window_runs

documents = st.lists(
    st.one_of(
        st.lists(st.integers(0, 3), max_size=40),
        st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(1, 12)).map(
            lambda pair: pair[0] * pair[1]
        ),
    ),
    max_size=6,
)

COLLIDING = np.array([559805, 1966853, 1137922], dtype=np.uint32)
"""Added to a window of three tokens, this leaves its hash as it is (found by lattice reduction)."""


def flat(docs: list[list[int]], dtype: type = np.uint16) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, docs)]).astype(np.int64)
    return np.array([token for doc in docs for token in doc], dtype=dtype), offsets


def all_runs(docs: list[list[int]], length: int, chunk: int) -> np.ndarray:
    tokens, offsets = flat(docs)
    parts = list(window_runs(tokens, offsets, offsets[:-1] * 3, length, chunk))
    return np.concatenate([np.zeros((0, 3), dtype=np.int64), *parts])


@given(documents, st.integers(2, 9), st.integers(1, 60))
def test_runs_hold_each_window_once_and_equal_windows_have_equal_keys(
    docs: list[list[int]], length: int, chunk: int
) -> None:
    keys: dict[int, int] = {}
    for key, place, size in all_runs(docs, length, chunk).tolist():
        windows = range(place, place + (size >> 1))
        assert len(windows) > 0 and not keys.keys() & set(windows)
        keys |= dict.fromkeys(windows, key)
    places: dict[tuple[int, ...], list[int]] = defaultdict(list)
    start = 0
    for doc in docs:
        for at in range(len(doc) - length + 1):
            places[tuple(doc[at : at + length])].append(3 * start + at)
        start += len(doc)
    assert sorted(keys) == sorted(place for group in places.values() for place in group)
    assert all(len({keys[place] for place in group}) == 1 for group in places.values())


@given(documents, st.integers(2, 9))
def test_a_run_with_equal_windows_says_so(docs: list[list[int]], length: int) -> None:
    tokens, offsets = flat(docs)
    for runs in window_runs(tokens, offsets, offsets[:-1], length):
        for _, place, size in runs.tolist():
            windows = [tuple(tokens[at : at + length]) for at in range(place, place + (size >> 1))]
            assert size & 1 or len(set(windows)) == len(windows)


def test_a_run_ends_after_so_many_windows() -> None:
    tokens = np.zeros(3 * PIECE, dtype=np.uint8)
    offsets = np.array([0, tokens.size], dtype=np.int64)
    runs = np.concatenate(list(window_runs(tokens, offsets, offsets[:1], 5)))
    assert (runs[:, 2] >> 1).tolist() == [PIECE, PIECE, PIECE - 4]
    assert runs[:, 1].tolist() == [0, PIECE, 2 * PIECE]
    assert len(set(runs[:, 0].tolist())) == 1 and (runs[:, 2] & 1).all()


def test_in_text_there_is_a_run_for_about_every_quarter_window() -> None:
    tokens = np.random.default_rng(5).integers(0, 50_000, 100_000).astype(np.uint16)
    offsets = np.array([0, tokens.size], dtype=np.int64)
    runs = np.concatenate(list(window_runs(tokens, offsets, offsets[:1], 50)))
    assert len(runs) == pytest.approx(2 * tokens.size / 27, rel=0.05)
    counts = np.diff(by_part(runs, 7)[1])
    assert counts.sum() == len(runs) and counts.min() > 0.8 * len(runs) / 7


@given(documents, st.integers(1, 9))
def test_parts_are_by_key(docs: list[list[int]], parts: int) -> None:
    runs = all_runs(docs, 3, 1 << 18)
    rows, bounds = by_part(runs, parts)
    assert sorted(rows.tolist()) == sorted(runs.tolist()) and bounds[-1] == len(runs)
    keys = [set(rows[bounds[part] : bounds[part + 1], 0].tolist()) for part in range(parts)]
    assert sum(map(len, keys)) == len(set().union(*keys))


def test_a_window_needs_two_tokens() -> None:
    with pytest.raises(ValueError, match="at least 2 tokens"):
        list(window_runs(np.zeros(3, dtype=np.uint8), np.array([0, 3]), np.array([0]), 1))


def windows_of(contents: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(tokens, rows of one key, addresses): each content a run of one window."""
    tokens = np.concatenate(contents).astype(np.uint32)
    places = np.arange(len(contents), dtype=np.int64) * 3
    rows = np.stack([np.full(places.size, 7), places, np.full(places.size, 2)], axis=1)
    return tokens, rows, places * tokens.itemsize + tokens.ctypes.data


def test_equal_hashes_of_different_windows_decide_nothing() -> None:
    one, other = np.array([5, 6, 7]), np.array([5, 6, 7]) + COLLIDING
    tokens, rows, addresses = windows_of([one, other, other, np.array([1, 2, 3]), one, other])
    hashes = expanded(tokens, rows, addresses, 3)[:, 0]
    assert len(set(hashes[[0, 1, 2, 4, 5]].tolist())) == 1 != len(set(hashes.tolist()))
    marked, kept = resolve(tokens, rows, addresses, 3, table_of(6))
    assert marked.tolist() == [[6, 1], [12, 1], [15, 1]]
    assert kept.tolist() == [[0, 1], [3, 1]]


def test_after_a_window_that_is_known_the_next_is_compared_too() -> None:
    """(p, a, b, c) is known; (a, b, c, t) is not, but for one with its hash and its last token."""
    p, a, b, c, t = 3, 10, 20, 30, 40
    other = np.append(np.array([a, b, c]) + COLLIDING, t)
    tokens = np.array([p, a, b, c, *other, p, a, b, c, t], dtype=np.uint32)
    places = np.array([0, 4, 8])
    rows = np.stack([np.full(3, 7), places, np.array([2, 2, 4])], axis=1)
    marked, kept = resolve(tokens, rows, places * 4 + tokens.ctypes.data, 4, table_of(4))
    assert marked.tolist() == [[8, 1]] and kept.tolist() == [[0, 1]]


def test_a_group_may_go_on_over_several_calls() -> None:
    contents = [np.array([5, 6, n % 3]) for n in range(9)]
    tokens, rows, addresses = windows_of(contents)
    whole, kept = resolve(tokens, rows, addresses, 3, table_of(9))
    assert whole.tolist() == [[3 * n, 1] for n in range(3, 9)] and kept.tolist() == [[0, 1], [3, 1], [6, 1]]
    table = table_of(3)
    parts = [
        resolve(tokens, rows[at : at + 2], addresses[at : at + 2], 3, table, continues=at > 0, closes=False)
        for at in range(0, 9, 2)
    ]
    assert np.concatenate([part[0] for part in parts]).tolist() == whole.tolist()
    assert not any(len(part[1]) for part in parts) and left_open(table).tolist() == kept.tolist()
    with pytest.raises(TableFull):
        resolve(tokens, rows, addresses, 3, table_of(2), closes=False)
