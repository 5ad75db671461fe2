from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.ranking import (
    NO_VALUE,
    RankingParams,
    order_words,
    ranking_columns,
    ranks_of,
    signal_words,
)

values = st.lists(
    st.one_of(st.none(), st.text(max_size=12), st.sampled_from(["2024-01-01", "2024", "x" * 30]))
)


@given(values)
@example(["a", "a\x00", "", None])
def test_words_sort_as_the_first_bytes_of_texts_do(drawn: list[str | None]) -> None:
    column = pa.array(["before", *drawn], pa.string()).slice(1)
    padded = [each.encode()[:24].ljust(24, b"\0") if each else b"\xff" * 24 for each in drawn]
    numbers = [b"".join(int(word).to_bytes(8, "big") for word in row) for row in order_words(column)]
    assert numbers == padded


def order(keep: list[Any], dates: list[str | None], lengths: list[int], sources: list[int]) -> list[int]:
    """Rows from best to worst."""
    params = RankingParams(keep=keep)
    columns = ranking_columns(Batch.of(Texts.from_strings([""] * len(dates)), fields={"date": dates}), params)
    ranks = ranks_of(params, columns, np.array(sources, dtype=np.int32), np.array(lengths, dtype=np.int64))
    assert all(rank.dtype == np.int64 and rank.shape == (len(dates),) for rank in ranks)
    rows = np.arange(len(dates))
    return np.lexsort([rows, *reversed(ranks)]).tolist()


DATES = ["2024-01-31", None, "2023", "", "2024-01-31T08:00"]


def test_ranks() -> None:
    rest = ([10, 30, 20, 30, 0], [1, 0, 1, 0, 0])
    assert order(["source_priority", "longest"], DATES, *rest) == [1, 3, 4, 2, 0]
    assert order(["shortest"], DATES, *rest) == [4, 0, 2, 1, 3]
    assert order([{"first": "date"}], DATES, *rest) == [2, 0, 4, 1, 3]
    assert order([{"last": "date"}], DATES, *rest) == [4, 0, 2, 1, 3]  # without a value: the worst
    assert order(["source_priority", {"last": "date"}], DATES, *rest) == [4, 1, 3, 0, 2]
    assert order([], DATES, *rest) == [0, 1, 2, 3, 4]


@given(
    st.lists(st.one_of(st.none(), st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6)))
)
def test_first_and_last_are_opposite_and_no_value_is_the_worst(drawn: list[str | None]) -> None:
    fill = ([0] * len(drawn), [0] * len(drawn))
    first, last = (
        [drawn[row] or "" for row in order([{key: "date"}], drawn, *fill)] for key in ("first", "last")
    )
    there = sorted((each for each in drawn if each), key=str.encode)
    nothing = [""] * (len(drawn) - len(there))
    assert first == there + nothing
    assert last == there[::-1] + nothing


def test_columns_are_named_by_field_and_say_no_direction() -> None:
    batch = Batch.of(Texts.from_strings(["a"]), fields={"b": ["x"], "c": [None]})
    keep: list[Any] = [{"last": "c"}, {"first": "b"}]
    columns = ranking_columns(batch, RankingParams(keep=keep, within={"field": "c"}))
    assert list(columns) == ["group", "order_b", "order_c"]
    assert (columns["order_c"] == NO_VALUE).all() and columns["order_b"].shape == (1, 3)


@given(
    st.one_of(
        st.tuples(st.just("float64"), st.lists(st.floats())),
        st.tuples(st.just("float32"), st.lists(st.floats(width=32))),
        st.tuples(st.just("uint64"), st.lists(st.integers(0, 2**64 - 1))),
        st.tuples(st.just("int64"), st.lists(st.integers(-(2**63), 2**63 - 1))),
        st.tuples(st.just("uint8"), st.lists(st.integers(0, 255))),
        st.tuples(st.just("bool"), st.lists(st.booleans())),
    )
)
@example(("float64", [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324, -5e-324]))
def test_signals_are_ranked_as_numbers_and_nan_is_the_worst(drawn: tuple[str, list[Any]]) -> None:
    dtype, numbers = drawn
    signal = np.array(numbers, dtype=dtype)
    rows = np.arange(len(signal))
    nothing = np.zeros(len(signal), dtype=np.int32), np.zeros(len(signal), dtype=np.int64)
    there = [row for row in rows.tolist() if signal[row] == signal[row]]
    missing = [row for row in rows.tolist() if signal[row] != signal[row]]
    for key, sign in (("lowest", 1), ("highest", -1)):
        params = RankingParams(keep=[{key: "step.name"}])
        ranks = ranks_of(params, {"step.name": signal_words(signal)}, *nothing)
        assert all(rank.dtype == np.int64 for rank in ranks)
        found = np.lexsort([rows, *reversed(ranks)]).tolist()
        assert found == sorted(there, key=lambda row: (sign * signal[row].item(), row)) + missing


@pytest.mark.parametrize(
    "keep",
    [
        [{"first": "date", "highest": "a.b"}],
        [{}],
        [{"highest": "score"}],
        [{"highest": "a.b"}, "longest", {"lowest": "a.b"}],
        [{"first": "date"}, {"last": "date"}],
    ],
)
def test_keys_that_say_nothing_or_too_much(keep: list[Any]) -> None:
    with pytest.raises(ValidationError):
        RankingParams(keep=keep)


def test_a_field_and_a_signal_of_one_name_are_two_keys() -> None:
    params = RankingParams(keep=[{"first": "a.b"}, {"lowest": "a.b"}])
    assert (params.order_fields, params.order_signals) == (("a.b",), ("a.b",))
