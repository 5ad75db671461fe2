"""Documents fitted into rows: nothing cut without need, every target once, few rows."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.fit import cut_by_rows, fit_documents
from manifests.packing import Packing, misfits
from tests.dataprep.golden_packing import golden

GOLDEN = Path(__file__).parents[1] / "golden" / "packing.json"
Lengths = st.lists(st.integers(1, 60), max_size=40)


def rows_of(packing: Packing) -> list[list[tuple[int, int]]]:
    """Pieces of each row as (first token, token after the last)."""
    rows = []
    for row in range(packing.num_rows):
        starts, lengths = packing.pieces(row)
        rows.append(list(zip(starts.tolist(), (starts + lengths).tolist(), strict=True)))
    return rows


@given(Lengths, st.integers(1, 30))
def test_every_target_of_every_document_is_in_one_row_once(lengths: list[int], sequence_length: int) -> None:
    packing = fit_documents(np.array(lengths, np.int64), sequence_length)
    targets = Counter(
        token for row in rows_of(packing) for start, end in row for token in range(start + 1, end)
    )
    offsets = np.cumsum([0, *lengths])
    wanted = {token for first, end in pairwise(offsets.tolist()) for token in range(first + 1, end)}
    assert set(targets) == wanted and set(targets.values()) <= {1}
    assert packing.num_targets == len(wanted)
    assert list(misfits(packing, offsets)) == []


@given(Lengths, st.integers(1, 30))
def test_a_document_is_cut_only_where_a_row_cannot_hold_it(lengths: list[int], sequence_length: int) -> None:
    packing = fit_documents(np.array(lengths, np.int64), sequence_length)
    offsets = np.cumsum([0, *lengths])
    pieces = Counter(int(np.searchsorted(offsets, start, side="right")) - 1 for start in packing.start)
    for document, length in enumerate(lengths):
        assert pieces[document] == -(-(length - 1) // sequence_length)


@given(Lengths, st.integers(1, 30))
def test_rows_come_in_the_order_of_the_shard(lengths: list[int], sequence_length: int) -> None:
    rows = rows_of(fit_documents(np.array(lengths, np.int64), sequence_length))
    assert all(row == sorted(row) and row for row in rows)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert all(sum(end - start for start, end in row) <= sequence_length + 1 for row in rows)


@given(Lengths, st.integers(1, 30))
def test_documents_that_consecutive_rows_cut(lengths: list[int], sequence_length: int) -> None:
    total = sum(lengths)
    rows = [(at, at + sequence_length + 1) for at in range(0, max(total, 1), sequence_length)]
    cut = sum(
        not any(first <= start and end <= last for first, last in rows)
        for start, end in pairwise(np.cumsum([0, *lengths]).tolist())
        if end - start > 1
    )
    assert cut_by_rows(np.array(lengths, np.int64), sequence_length) == cut


def test_an_example_by_hand() -> None:
    """Rows of 4 inputs: 9 tokens make two whole rows; 3 and 2 go together, 4 and the lone token do not."""
    packing = fit_documents(np.array([9, 3, 4, 1, 2]), 4)
    assert rows_of(packing) == [[(0, 5)], [(4, 9)], [(9, 12), (17, 19)], [(12, 16)]]
    assert (packing.num_tokens, packing.num_targets) == (19, 14)


@pytest.mark.parametrize("part", ["version", "cases", "many"])
def test_packings_are_those_of_the_version(part: str) -> None:
    """A difference makes other rows of the same corpus: see golden_packing.py before touching the file."""
    assert golden()[part] == json.loads(GOLDEN.read_text())[part]


def test_no_documents_make_no_rows() -> None:
    for lengths in ([], [1, 1]):
        packing = fit_documents(np.array(lengths, np.int64), 8)
        assert (packing.num_rows, packing.num_tokens) == (0, 0)


@pytest.mark.parametrize("sequence_length", [0, -1, 2**31 - 1])
def test_a_length_of_row_that_cannot_be_is_refused(sequence_length: int) -> None:
    with pytest.raises(ValueError, match="rows of"):
        fit_documents(np.array([3]), sequence_length)
