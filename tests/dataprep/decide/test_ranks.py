from __future__ import annotations

import tempfile
from itertools import chain
from pathlib import Path

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dataprep.decide.ranks import NAMES, best_first_in_ranges, write_part

Record = tuple[list[int], list[int]]  # keys, names
numbers = st.sampled_from([0, 1, 2, 255, 256, -1, -(2**63), 2**63 - 1])
names = st.sampled_from([0, 1, 256, 2**63, 2**64 - 1])
records = st.tuples(
    st.lists(numbers, min_size=2, max_size=2), st.lists(names, min_size=NAMES, max_size=NAMES)
)


def best_first(parts: list[list[Record]], limit: int) -> list[int]:
    with tempfile.TemporaryDirectory() as folder:
        paths, row = [], 0
        for number, part in enumerate(parts):
            keys = np.array([keys for keys, _ in part], dtype=np.int64).reshape(-1, 2)
            named = np.array([names for _, names in part], dtype=np.uint64).reshape(-1, NAMES)
            paths.append(Path(folder) / f"{number}.npy")
            write_part(paths[-1], row, [keys[:, 0], keys[:, 1]], named)
            row += len(part)
        scratch = Path(folder) / "scratch"
        scratch.mkdir()
        found = [each.tolist() for each in best_first_in_ranges(paths, limit, scratch)]
        assert not list(scratch.iterdir())
        return list(chain.from_iterable(found))


@settings(max_examples=150)
@given(st.lists(st.lists(records, max_size=9), min_size=1, max_size=4), st.integers(1, 40))
@example([[([0, 0], [0] * NAMES)] * 9], 1)
@example([[], []], 1)
def test_documents_are_in_the_order_of_tuples(parts: list[list[Record]], limit: int) -> None:
    together = list(chain.from_iterable(parts))
    expected = sorted(range(len(together)), key=lambda row: (*together[row][0], *together[row][1], row))
    assert best_first(parts, limit) == expected
