from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.columns import texts_from_arrow, texts_to_arrow
from tests.dataprep.kernels.strategies import sliced, text_lists

TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]


@given(text_lists, st.sampled_from(TYPES), st.integers(0, 3), st.integers(0, 3))
def test_from_arrow_takes_any_slice_of_any_string_type(
    strings: list[str], type_: pa.DataType, start: int, count: int
) -> None:
    values = [string.encode() for string in strings] if "binary" in str(type_) else strings
    array = pa.array(values, type=type_).slice(start, count)
    assert texts_from_arrow(array).to_strings() == strings[start : start + count]


@given(st.lists(text_lists, max_size=3), st.sampled_from(TYPES[:2]))
def test_from_arrow_joins_chunks(parts: list[list[str]], type_: pa.DataType) -> None:
    column = pa.chunked_array([pa.array(part, type=type_) for part in parts], type=type_)
    assert texts_from_arrow(column).to_strings() == [string for part in parts for string in part]


@given(text_lists)
def test_to_arrow_takes_slices(strings: list[str]) -> None:
    array = texts_to_arrow(sliced(strings))
    array.validate(full=True)
    assert array.type == pa.large_string()
    assert array.to_pylist() == strings


@given(text_lists)
def test_to_arrow_and_back(strings: list[str]) -> None:
    assert texts_from_arrow(texts_to_arrow(sliced(strings))).to_strings() == strings


def test_no_text_is_copied_either_way() -> None:
    array = pa.array(["ab", "cde"], type=pa.large_string())
    texts = texts_from_arrow(array)
    assert texts.data.ctypes.data == array.buffers()[2].address
    assert texts.offsets.ctypes.data == array.buffers()[1].address
    back = texts_to_arrow(texts)
    assert back.buffers()[2].address == array.buffers()[2].address


def test_offsets_that_are_not_contiguous_are_copied() -> None:
    texts = texts_from_arrow(pa.array(["a", "b", "c"]))
    every_second = type(texts)(texts.data, np.array([0, 9, 1, 9, 3])[::2].copy()[:3])
    assert texts_to_arrow(every_second).to_pylist() == ["a", "bc"]
    strided = type(texts)(texts.data, np.array([0, 9, 1, 9, 3])[::2])
    assert texts_to_arrow(strided).to_pylist() == ["a", "bc"]


def test_a_null_is_refused() -> None:
    with pytest.raises(ValueError, match="1 null texts in a column of 2"):
        texts_from_arrow(pa.array(["a", None]))


def test_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="int64"):
        texts_from_arrow(pa.array([1]))
