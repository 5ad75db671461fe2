from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.gather import gather_documents
from tests.reference import tokens as twin


@given(st.data())
def test_equals_slice_assignments(data: st.DataObject) -> None:
    source = data.draw(st.lists(st.integers(0, 65535), max_size=40))
    count = data.draw(st.integers(0, 6))
    starts = data.draw(st.lists(st.integers(0, len(source)), min_size=count, max_size=count))
    lengths = [data.draw(st.integers(0, len(source) - start)) for start in starts]
    order = data.draw(st.permutations(range(count)))
    places = [0] * count
    place = 2
    for index in order:
        places[index] = place
        place += lengths[index] + data.draw(st.integers(0, 2))
    expected = [7] * (place + 2)
    twin.gather_documents(source, starts, lengths, expected, places)
    for dtype in (np.uint16, np.int32, np.uint32):
        out = np.full(place + 2, 7, dtype=dtype)
        arrays = (np.array(values, dtype=np.int64) for values in (starts, lengths, places))
        a, b, c = arrays
        gather_documents(np.array(source, dtype=np.uint32), a, b, out, c)
        assert out.tolist() == expected


def test_source_may_be_a_map_of_a_file(tmp_path: Path) -> None:
    np.arange(10, dtype="<u2").tofile(tmp_path / "tokens.bin")
    out = np.zeros(3, dtype="<u2")
    one = np.array([4], dtype=np.int64)
    gather_documents(np.memmap(tmp_path / "tokens.bin", "<u2", "r"), one, one - 1, out, one - 4)
    assert out.tolist() == [4, 5, 6]


@pytest.mark.parametrize(
    ("start", "length", "place"), [(8, 3, 0), (0, 3, 8), (-1, 1, 0), (0, -1, 0), (0, 1, -1)]
)
def test_slices_outside_are_refused(start: int, length: int, place: int) -> None:
    tokens, out = np.zeros(10, dtype=np.uint32), np.zeros(10, dtype=np.uint32)
    arrays = [np.array([value], dtype=np.int64) for value in (start, length, place)]
    with pytest.raises(ValueError, match=r"reaches past|not negative"):
        gather_documents(tokens, arrays[0], arrays[1], out, arrays[2])
