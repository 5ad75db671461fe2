from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dataprep.readers import READERS, Extent, ReadOptions, Split
from dataprep.readers.formats import format_of
from tests.dataprep.readers.reading import input_file, read_file


@pytest.mark.parametrize("name", ["a.html", "b.HTM", "c.xhtml.gz"])
def test_a_page_is_a_document_with_its_name_as_id(tmp_path: Path, name: str) -> None:
    page = "<p>кот".encode("koi8-r")
    content = b"<meta charset=koi8-r>" + page
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert format_of(name) == "html"
    found = read_file("html", tmp_path / name)
    assert found.documents == [(0, name, "<meta charset=koi8-r><p>кот")]


def test_an_empty_page_is_an_empty_document(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"")
    assert read_file("html", tmp_path / "a.html").texts == [""]


def test_pages_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"x" * 11)
    (tmp_path / "b.html").write_bytes(gzip.compress(b"x" * 9)[:-9])
    options = ReadOptions(max_document_bytes=10)
    assert read_file("html", tmp_path / "a.html", options).reasons == ["too_long"]
    assert read_file("html", tmp_path / "b.html", options).damages == ["truncated"]


def test_what_cannot_be_decoded_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes("<p>кот кот кот кот".encode()[:-1])
    file = input_file(tmp_path / "a.html")
    (chunk,) = READERS["html"].read(Split("s", "html", (Extent(file, 0, file.size_bytes),)), ReadOptions())
    assert chunk.records.column("text").to_pylist() == ["<p>кот кот кот ко\ufffd"]
    assert chunk.counts == {"replaced:documents": 1, "replaced:characters": 1}
