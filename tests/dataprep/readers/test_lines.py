from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.readers import Extent
from dataprep.readers.decompress import PIECE_BYTES, DamagedFile
from dataprep.readers.lines import LineBlock, LongLine, frame, read_lines
from tests.dataprep.readers.reading import input_file

contents = st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r", b"defgh"]), max_size=25).map(b"".join)


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    bounds = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(bounds) if start < end]


def lines_in(blocks: Iterator[LineBlock | LongLine]) -> list[tuple[int, bytes | None]]:
    """(offset, line with its newline), None for a long one."""
    found: list[tuple[int, bytes | None]] = []
    for block in blocks:
        if isinstance(block, LongLine):
            found.append((block.offset, None))
            continue
        offset = block.offset
        for line in split(block.data):
            found.append((offset, line))
            offset += len(line)
    return found


def split(data: bytes | memoryview) -> list[bytes]:
    lines = [line + b"\n" for line in bytes(data).split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return [line for line in lines if line]


def expected(data: bytes, start: int, end: int) -> list[tuple[int, bytes]]:
    offset, found = 0, []
    for line in split(data):
        if start <= offset < end:
            found.append((offset, line))
        offset += len(line)
    return found


@given(contents, st.lists(st.integers(0, 100), max_size=6), st.integers(1, 30), st.integers(0, 12))
def test_pieces_and_blocks_of_any_size_give_the_same_lines(
    data: bytes, cuts: list[int], block_bytes: int, limit: int
) -> None:
    found = lines_in(frame(pieces_of(data, cuts), (), 0, limit, block_bytes))
    wanted = expected(data, 0, len(data))
    assert [offset for offset, _ in found] == [offset for offset, _ in wanted]
    for (_, line), (_, whole) in zip(found, wanted, strict=True):
        if line is None:
            assert len(whole.rstrip(b"\n")) > limit
        else:
            assert line == whole


@given(contents, st.data())
def test_a_line_belongs_to_the_range_of_its_first_byte(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    if start == end:
        return
    first, last = max(start - 1, 0), end - 1
    cuts = draw.draw(st.lists(st.integers(0, 100), max_size=4))
    inside, tail = pieces_of(data[first:last], cuts), pieces_of(data[last:], cuts)
    found = lines_in(frame(inside, tail, start, 100, draw.draw(st.integers(1, 30))))
    assert found == expected(data, start, end)


@given(contents, st.integers(1, 30), st.integers(0, 12), st.integers(1, 20))
def test_ranges_of_a_file_give_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, block_bytes: int, limit: int, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "ranges.txt"
    path.write_bytes(data)
    file = input_file(path)
    found: list[tuple[int, bytes | None]] = []
    for start in range(0, len(data), size):
        extent = Extent(file, start, min(start + size, len(data)))
        found += lines_in(read_lines(extent, limit, block_bytes))
    wanted = expected(data, 0, len(data))
    assert [offset for offset, _ in found] == [offset for offset, _ in wanted]
    assert all(line is None or line == whole for (_, line), (_, whole) in zip(found, wanted, strict=True))
    assert all(
        line is not None or len(whole.rstrip(b"\n")) > limit
        for (_, line), (_, whole) in zip(found, wanted, strict=True)
    )


def test_whole_lines_before_damage_come_first() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"one\ntw"
        yield b"o\nthr"
        raise DamagedFile("truncated", "cut", 5)

    blocks = frame(pieces(), (), 0, 100, 100)
    assert next(blocks) == LineBlock(0, b"one\ntwo\n")
    with pytest.raises(DamagedFile) as damage:
        next(blocks)
    assert (damage.value.position, damage.value.unread_bytes) == (8, 5)


def test_a_range_inside_a_long_line_stops_at_its_own_end() -> None:
    read = 0

    def tail() -> Iterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b"x" * 100

    assert list(frame([b"x" * 50], tail(), 7, 1000, 10)) == []
    assert read == 1
    assert list(frame([b"\n" + b"x" * 50], tail(), 7, 1000, 10)) == [LongLine(7)]
    assert read < 15


def test_a_file_without_newlines_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * (PIECE_BYTES + 5))
    file = input_file(tmp_path / "a")
    (block,) = read_lines(Extent(file, 0, file.size_bytes), PIECE_BYTES + 5)
    assert isinstance(block, LineBlock) and len(block.data) == PIECE_BYTES + 5
    assert list(read_lines(Extent(file, 0, file.size_bytes), PIECE_BYTES)) == [LongLine(0)]
