from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts, concat
from tests.dataprep.kernels.strategies import sliced, text_lists

START_STOP = st.one_of(st.none(), st.integers(-8, 8))


@given(text_lists)
def test_strings_go_in_and_come_out(strings: list[str]) -> None:
    texts = Texts.from_strings(strings)
    assert texts.to_strings() == strings
    assert [text.decode() for text in texts] == strings
    assert len(texts) == len(strings)
    assert texts.lengths.tolist() == [len(string.encode()) for string in strings]
    assert texts.num_bytes == sum(len(string.encode()) for string in strings)


@given(text_lists, START_STOP, START_STOP)
def test_slice_is_a_list_slice_without_a_copy(
    strings: list[str], start: int | None, stop: int | None
) -> None:
    texts = sliced(strings)
    start, stop = 0 if start is None else start, len(strings) if stop is None else stop
    part = texts.slice(start, stop)
    assert part.to_strings() == strings[start:stop]
    assert part.data is texts.data


@given(text_lists, st.data())
def test_take_by_mask_and_by_index(strings: list[str], data: st.DataObject) -> None:
    texts = sliced(strings)
    mask = data.draw(st.lists(st.booleans(), min_size=len(strings), max_size=len(strings)))
    kept = [string for string, keep in zip(strings, mask, strict=True) if keep]
    assert texts.take(np.array(mask, dtype=bool)).to_strings() == kept
    indices = data.draw(st.lists(st.integers(-len(strings), len(strings) - 1), max_size=8)) if strings else []
    assert texts.take(indices).to_strings() == [strings[index] for index in indices]


@given(st.lists(text_lists, max_size=4))
def test_concat_is_list_addition(parts: list[list[str]]) -> None:
    joined = concat([sliced(part) for part in parts])
    assert joined.to_strings() == [string for part in parts for string in part]
    assert joined.offsets[0] == 0 and joined.offsets[-1] == joined.data.size


@given(text_lists)
def test_compact_starts_at_byte_0_and_ends_with_the_data(strings: list[str]) -> None:
    compact = sliced(strings).compact()
    assert compact.to_strings() == strings
    assert compact.offsets[0] == 0 and compact.offsets[-1] == compact.data.size
    assert compact.compact() is compact


def test_index_counts_from_the_end_and_is_checked() -> None:
    texts = Texts.from_strings(["a", "bc"])
    assert texts[-1] == b"bc"
    with pytest.raises(IndexError):
        texts[2]
    with pytest.raises(IndexError):
        texts.take([2])


def test_read_only_memory_will_do() -> None:
    data = np.frombuffer(b"abc", dtype=np.uint8)
    assert not data.flags.writeable
    assert Texts(data, np.array([0, 1, 3])).take([1]).to_strings() == ["bc"]


def test_a_mask_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="mask of 1 values cannot choose from 2"):
        Texts.from_strings(["a", "b"]).take(np.array([True]))


def test_a_lone_surrogate_is_no_text() -> None:
    with pytest.raises(UnicodeEncodeError):
        Texts.from_strings(["\ud800"])


@pytest.mark.parametrize(
    ("data", "offsets", "error"),
    [
        (np.zeros(3, np.int8), np.zeros(1, np.int64), TypeError),
        (np.zeros(3, np.uint8), np.zeros(1, np.int32), TypeError),
        (np.zeros(3, np.uint8), np.zeros(0, np.int64), ValueError),
        (np.zeros((3, 1), np.uint8), np.zeros(1, np.int64), ValueError),
        (np.zeros(3, np.uint8), np.array([0, 4]), ValueError),
        (np.zeros(3, np.uint8), np.array([-1, 3]), ValueError),
    ],
)
def test_what_does_not_fit_is_refused(data: np.ndarray, offsets: np.ndarray, error: type[Exception]) -> None:
    with pytest.raises(error):
        Texts(data, offsets)
