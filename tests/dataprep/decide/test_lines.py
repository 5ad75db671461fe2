from __future__ import annotations

import random

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dataprep.decide.lines import in_groups, resolve_units
from dataprep.kernels.removal import without
from dataprep.kernels.texts import Texts
from dataprep.kernels.units import KINDS, Kind, units
from tests.reference.lines import resolve_units as slow
from tests.reference.units import pieces

Record = tuple[tuple[int, int], int, int]
hashes = st.tuples(st.integers(0, 2), st.integers(0, 1)).map(lambda pair: (pair[0] << 62, pair[1] << 63))
records = st.lists(
    st.tuples(hashes, st.integers(0, 4), st.integers(0, 9)), max_size=40, unique_by=lambda record: record[1:]
)


def run(drawn: list[Record], min_documents: int) -> list[bool]:
    table = np.array([each[0] for each in drawn], dtype=np.uint64).reshape(-1, 2)
    rank, unit = (np.array([each[column] for each in drawn], dtype=np.int64) for column in (1, 2))
    return resolve_units(table, rank, unit, min_documents).tolist()


@given(records, st.integers(1, 4))
@example([((0, 0), 1, 0), ((0, 1 << 63), 0, 0), ((0, 0), 1, 1)], 1)
def test_result_is_that_of_the_slow_twin(drawn: list[Record], min_documents: int) -> None:
    assert run(drawn, min_documents) == slow(drawn, min_documents)


@given(records, st.integers(1, 3), st.randoms(use_true_random=False))
def test_neither_order_nor_partitions_matter(
    drawn: list[Record], min_documents: int, shuffler: random.Random
) -> None:
    whole = dict(zip((each[1:] for each in drawn), run(drawn, min_documents), strict=True))
    shuffler.shuffle(drawn)
    for first in range(3):
        part = [each for each in drawn if each[0][0] >> 62 == first]
        for each, removed in zip(part, run(part, min_documents), strict=True):
            assert whole[each[1:]] == removed


def test_who_stays() -> None:
    same, other = (7, 7), (7, 8)
    drawn = [(same, 5, 0), (same, 2, 9), (same, 2, 4), (other, 1, 0), (other, 1, 1)]
    assert run(drawn, 2) == [True, True, False, False, False]
    assert run(drawn, 1) == [True, True, False, False, True]
    assert run(drawn, 3) == [False] * 5


@given(st.lists(st.tuples(hashes, st.integers(0, 2)), max_size=20))
def test_groups_keep_apart(drawn: list[tuple[tuple[int, int], int]]) -> None:
    table = np.array([each[0] for each in drawn], dtype=np.uint64).reshape(-1, 2)
    mixed = in_groups(table, np.array([each[1] for each in drawn], dtype=np.uint64))
    assert len({tuple(row) for row in mixed.tolist()}) == len(set(drawn))


parts = st.sampled_from(["aa.", "bb.", "cc.", "dd!", "\u4e2d\u3002", " ", "\n", "\n\n", "ee"])
documents = st.lists(st.lists(parts, max_size=14).map(" ".join), max_size=5)


@settings(max_examples=200)
@given(documents, st.sampled_from(list(KINDS)), st.integers(1, 3))
def test_nothing_vanishes_and_what_is_left_is_not_repeated(
    strings: list[str], kind: Kind, min_documents: int
) -> None:
    """Of every line, paragraph and sentence at least one copy stays, overlapping spans included."""
    texts = Texts.from_strings(strings)
    found = units(texts.data, texts.offsets, kind, "exact", 1)
    removed = resolve_units(found.hashes, found.rows, found.numbers, min_documents)
    left = without(texts, found.rows[removed], found.starts[removed], found.ends[removed])

    def said(texts: list[str]) -> list[str]:
        return [text[start:end].strip() for text in texts for start, end in pieces(text, kind)]

    assert {*said(strings)} == {*said(left.to_strings())}
    if kind != "sentences3" and min_documents == 1:
        with_letters = [each for each in said(left.to_strings()) if any(map(str.isalpha, each))]
        assert len(with_letters) == len({*with_letters})
