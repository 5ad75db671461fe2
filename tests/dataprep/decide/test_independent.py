from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.decide.independent import Removed, cluster_sizes, independent, independent_in_ranges
from tests.dataprep.kernels.timing import ratio
from tests.reference import independent as slow

Edge = tuple[int, int, int]


@st.composite
def graphs(draw: st.DrawFn) -> list[Edge]:
    """Chains, cliques, stars and loose edges over few documents, that meet; ranks far apart or not."""
    count = draw(st.integers(2, 25))
    pairs: set[tuple[int, int]] = set()
    for _ in range(draw(st.integers(0, 5))):
        shape = draw(st.sampled_from(["chain", "clique", "star", "loose"]))
        members = draw(st.lists(st.integers(0, count - 1), min_size=2, max_size=8, unique=True))
        if shape == "chain":
            pairs |= set(zip(sorted(members), sorted(members)[1:], strict=False))
        elif shape == "clique":
            pairs |= {(a, b) for a in members for b in members}
        else:
            pairs |= {(members[0], b) for b in members[1:]} if shape == "star" else {(members[0], members[1])}
    spread = draw(st.sampled_from([1, 3, 10**9]))
    ordered = {(min(pair) * spread, max(pair) * spread) for pair in pairs if pair[0] != pair[1]}
    edges = [(a, b, 750_000 + (a * 31 + b) % 250_000) for a, b in sorted(ordered)]
    return draw(st.permutations(edges))


def rows(edges: list[Edge]) -> np.ndarray:
    return np.array(edges, dtype=np.int64).reshape(-1, 3)


def told(removed: Removed) -> dict[int, tuple[int, int]]:
    assert (np.diff(removed.documents) > 0).all()
    return {
        document: (match, similarity)
        for document, match, similarity in zip(
            removed.documents.tolist(), removed.matches.tolist(), removed.similarity_ppm.tolist(), strict=True
        )
    }


def in_ranges(parts: list[np.ndarray], limit: int) -> dict[int, tuple[int, int]]:
    most = max((int(part[:, 1].max()) for part in parts if len(part)), default=0)
    found: dict[int, tuple[int, int]] = {}
    with TemporaryDirectory() as folder:
        for removed in independent_in_ranges(parts, most + 1, limit, Path(folder)):
            part = told(removed)
            assert not found or min(part) > max(found)
            found |= part
        assert list(Path(folder).iterdir()) == []
    return found


@given(graphs())
@example([(0, 1, 900_000), (1, 2, 800_000), (2, 3, 900_000), (3, 4, 900_000)])
def test_result_is_that_of_the_slow_twin(edges: list[Edge]) -> None:
    found = independent(rows(edges))
    assert told(found) == slow.independent(edges)
    keepers, sizes = cluster_sizes([found.matches[:2], found.matches[2:]])
    assert dict(zip(keepers.tolist(), sizes.tolist(), strict=True)) == slow.sizes(slow.independent(edges))
    assert (np.diff(keepers) > 0).all()


@given(graphs(), st.integers(1, 30), st.integers(1, 4))
def test_ranges_give_the_same(edges: list[Edge], limit: int, parts: int) -> None:
    cut = [rows(edges[part::parts]) for part in range(parts)]
    assert in_ranges(cut, limit) == slow.independent(edges)


@given(graphs())
def test_what_goes_is_similar_to_what_stays_and_what_stays_is_not(edges: list[Edge]) -> None:
    removed = told(independent(rows(edges)))
    similar = {(a, b) for a, b, _ in edges}
    assert all((match, document) in similar for document, (match, _) in removed.items())
    assert not any(match in removed for match, _ in removed.values())
    assert not any(a not in removed and b not in removed for a, b in similar)


def test_a_chain_from_a_to_z() -> None:
    """Documents that drift step by step: every second stays, and none is removed for one far away."""
    edges = [(letter, letter + 1, 900_000) for letter in range(25)]
    removed = told(independent(rows(edges)))
    assert removed == {letter: (letter - 1, 900_000) for letter in range(1, 26, 2)}
    assert in_ranges([rows(edges)], 3) == removed


def test_the_best_of_several_that_stay_is_named() -> None:
    """1 is better than 2, but it went itself."""
    edges = [(0, 1, 800_000), (1, 4, 900_000), (2, 4, 990_000), (3, 4, 770_000)]
    assert told(independent(rows(edges))) == {1: (0, 800_000), 4: (2, 990_000)}


def test_memory_maps_and_a_large_random_graph(tmp_path: Path) -> None:
    draw = random.Random(11)
    pairs = {(draw.randrange(3000), draw.randrange(3000)) for _ in range(9000)} | {
        (5, n) for n in range(3000)
    }
    edges = [(min(p), max(p), draw.randrange(700_000, 10**6)) for p in {(min(p), max(p)) for p in pairs}]
    edges = [edge for edge in edges if edge[0] != edge[1]]
    draw.shuffle(edges)
    path = tmp_path / "edges"
    path.write_bytes(rows(edges).tobytes())
    mapped = np.memmap(path, dtype=np.int64, mode="r").reshape(-1, 3)
    wanted = slow.independent(edges)
    assert told(independent(rows(edges))) == wanted
    assert in_ranges([mapped], 500) == wanted


def test_no_edges() -> None:
    nothing = np.zeros((0, 3), dtype=np.int64)
    assert told(independent(nothing)) == {} == in_ranges([nothing], 1) == in_ranges([], 1)
    assert cluster_sizes([])[0].size == 0


@pytest.mark.slow
def test_a_chain_of_a_million_is_linear(tmp_path: Path) -> None:
    def chain(count: int) -> Callable[[], None]:
        ranks = np.arange(count)
        edges = np.stack([ranks, ranks + 1, np.full(count, 800_000)], axis=1)
        edges = edges[np.random.default_rng(1).permutation(count)]

        def run() -> None:
            parts = list(independent_in_ranges([edges], count + 1, count // 10, tmp_path))
            assert sum(part.documents.size for part in parts) == (count + 1) // 2

        return run

    chain(1000)()  # compiles
    assert ratio(chain(100_000), chain(1_000_000), at_most=40, floor=0.01) <= 40
