from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.paragraphs import long_lines
from tests.dataprep.kernels.strategies import sliced, text_lists


@given(text_lists, st.integers(0, 12))
def test_lines_are_those_of_python(strings: list[str], length: int) -> None:
    texts = sliced(strings)
    assert long_lines(texts.data, texts.offsets, length).tolist() == [
        sum(len(line) >= length for line in string.split("\n")) for string in strings
    ]
