from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard
from hypothesis import given

from dataprep.readers import READERS, Extent, ReadOptions, Split
from tests.dataprep.kernels.strategies import texts
from tests.dataprep.readers.reading import collect, input_file, read_extents, read_file


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text") / "a.txt"


@given(texts)
def test_a_file_is_a_document_with_its_name_as_id(path: Path, text: str) -> None:
    path.write_bytes(text.encode())
    assert read_file("text", path).documents == [(0, "a.txt", text.removeprefix("\ufeff"))]


def test_newlines_and_control_characters_stay(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\x00\x0c")
    assert read_file("text", path).texts == ["a\r\nb\rc\x00\x0c"]


def test_an_empty_file_is_an_empty_document(path: Path) -> None:
    path.write_bytes(b"")
    assert read_file("text", path).texts == [""]


@pytest.mark.parametrize(
    "data", [b"caf\xe9", b"\xc0\xaf", b"\xed\xa0\x80", b"cut \xe2\x82", "x".encode("utf-16")]
)
def test_what_is_not_utf8_is_refused(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    found = read_file("text", path)
    assert found.documents == [] and found.reasons == ["invalid_utf8"]
    assert ("UTF-16" in found.bad[0].detail) == data.startswith(b"\xff\xfe")


def test_the_limit_of_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10)
    (tmp_path / "b").write_bytes(b"x" * 11)
    (tmp_path / "c").write_bytes(zstandard.compress(b"x" * 50_000_000))
    options = ReadOptions(max_document_bytes=10)
    assert [read_file("text", tmp_path / name, options).reasons for name in "abc"] == [
        [],
        ["too_long"],
        ["too_long"],
    ]


def test_half_a_compressed_text_is_no_document(tmp_path: Path) -> None:
    stored = gzip.compress(bytes(range(32, 127)) * 10)
    (tmp_path / "a.gz").write_bytes(stored[:-9])
    found = read_file("text", tmp_path / "a.gz")
    assert found.documents == []
    (damage,) = found.damage
    assert (damage.reason, damage.position, damage.unread_bytes) == ("truncated", 0, len(stored) - 9)


def test_a_bad_file_leaves_the_others_of_its_split_alone(tmp_path: Path) -> None:
    contents = [b"a", b"\xff", b"\x1f\x8b\x08 no gzip", b"", b"b"]
    files = []
    for number, content in enumerate(contents):
        (tmp_path / f"{number}.txt").write_bytes(content)
        files.append(input_file(tmp_path / f"{number}.txt", f"sub/{number}.txt"))
    found = read_extents("text", [Extent(file, 0, file.size_bytes) for file in files])
    assert found.documents == [(0, "sub/0.txt", "a"), (0, "sub/3.txt", ""), (0, "sub/4.txt", "b")]
    assert found.extents == [0, 3, 4]
    assert [bad.extent for bad in found.bad] == [1] and [damage.extent for damage in found.damage] == [2]


def test_chunks_are_closed_before_they_grow_large(path: Path) -> None:
    path.write_bytes(b"x" * 1_000_000)
    file = input_file(path)
    split = Split("s", "text", tuple(Extent(file, 0, file.size_bytes) for _ in range(12)))
    chunks = list(READERS["text"].read(split, ReadOptions()))
    assert [chunk.records.num_rows for chunk in chunks] == [4, 4, 4]
    assert len(collect(chunks, ReadOptions()).documents) == 12
