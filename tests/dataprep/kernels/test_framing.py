from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.framing import line_bounds, nesting_depth, strip_lines
from tests.reference import json_lines as twin

line_pieces = st.lists(
    st.sampled_from([b"\n", b"\r", b" ", b"\t", b"{", b"}", b"[", b'"', b"\\", b"x", b"\x0b"]), max_size=30
)


def as_array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype=np.uint8)


def lines_of(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(line_pieces.map(b"".join))
def test_line_bounds_equal_split(data: bytes) -> None:
    starts, ends = line_bounds(as_array(data))
    assert [data[start:end] for start, end in zip(starts, ends, strict=True)] == lines_of(data)


candidates = st.sampled_from(
    [b"{}", b" {[]}", b"{x}\r", b"{[{}]}\t", b"", b" ", b"{", b"}", b"x}", b"{x", b'{"["}']
)


@given(
    st.one_of(line_pieces.map(b"".join), st.lists(candidates, max_size=4).map(b"\n".join)), st.integers(0, 3)
)
def test_strip_lines_equals_strip(data: bytes, deepest: int) -> None:
    starts, ends = line_bounds(as_array(data))
    inner_starts, inner_ends, plain = strip_lines(as_array(data), starts, ends, deepest)
    stripped = [line.strip(b" \t\r") for line in lines_of(data)]
    assert [data[start:end] for start, end in zip(inner_starts, inner_ends, strict=True)] == stripped
    assert plain == all(
        line.startswith(b"{") and line.endswith(b"}") and twin.depth(line.decode()) <= deepest
        for line in stripped
        if line
    )


@given(st.text(alphabet='[]{}"\\ax', max_size=30))
def test_depth_equals_a_walk(line: str) -> None:
    assert nesting_depth(as_array(line.encode())) == twin.depth(line)


@pytest.mark.parametrize(
    ("data", "expected"), [(b"", []), (b"\n", [b""]), (b"a", [b"a"]), (b"a\n\nb", [b"a", b"", b"b"])]
)
def test_a_last_line_needs_no_newline(data: bytes, expected: list[bytes]) -> None:
    starts, ends = line_bounds(as_array(data))
    assert [data[start:end] for start, end in zip(starts, ends, strict=True)] == expected
