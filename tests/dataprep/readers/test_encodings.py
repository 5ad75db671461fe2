from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.readers import READERS, ReadOptions
from dataprep.readers.decompress import DamagedFile
from dataprep.readers.encodings import character_set, transcoded
from dataprep.readers.splits import make_splits
from manifests.errors import UserError
from tests.dataprep.readers.reading import Found, input_file, read_file

SETS = [
    "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso8859-1", "cp1252", "ascii", "shift_jis", "gb18030",
    "big5", "euc_kr", "koi8-r", "iso2022_jp",
]  # fmt: skip
TEXT = {"shift_jis": "\u65e5\u672c\u8a9e", "iso2022_jp": "\u65e5\u672c\u8a9e", "koi8-r": "\u0442\u0435\u043a"}


def sample_of(encoding: str) -> str:
    """Text that the character set has, with what escapes and quotes are made of."""
    candidates = (
        "caf\u00e9 \u4e2d\u6587 \U0001f600",
        "caf\u00e9",
        "\u65e5\u672c\u8a9e \\ {",
        "\ud55c\uad6d",
        "plain",
    )
    for text in (TEXT.get(encoding, ""), *candidates):
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            continue
        if text:
            return text
    raise AssertionError(encoding)


@pytest.mark.parametrize("encoding", SETS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_text_format_in_every_set(encoding: str, packed: bool, tmp_path: Path) -> None:
    text = sample_of(encoding)
    line = json.dumps({"id": text, "text": f"{text}\n", "more": text}, ensure_ascii=False)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("id", "text"), (text, f"{text}\n"), ("2", "b")])
    contents = {
        "jsonl": f'{line}\r\n\n{{"text":"b","id":"2"}}',
        "csv": out.getvalue(),
        "text": f"{text}\r\n",
    }
    for format, content in contents.items():
        stored = content.encode(encoding)
        (tmp_path / "a").write_bytes(gzip.compress(stored) if packed else stored)
        own_id = "id" if READERS[format].has_fields else None
        found = read_file(format, tmp_path / "a", ReadOptions(id=own_id, encoding=encoding))
        expected = [("a", f"{text}\r\n")] if format == "text" else [(text, f"{text}\n"), ("2", "b")]
        assert [(each, value) for _, each, value in found.documents] == expected
        assert found.bad == [] and found.damage == []


@given(st.text(), st.sampled_from([*SETS, "utf-8", "utf-8-sig"]), st.integers(1, 5))
def test_pieces_do_not_matter(text: str, encoding: str, size: int) -> None:
    encoded = text.encode(encoding, "ignore")
    whole = encoded.decode(encoding)
    pieces = [encoded[at : at + size] for at in range(0, len(encoded), size)]
    name = character_set(encoding)
    decoded = b"".join(transcoded(pieces, name)).decode()
    assert decoded.removeprefix("\ufeff" if name == "utf-8" else "") == whole


@given(st.binary(max_size=30), st.sampled_from(SETS), st.integers(1, 5))
def test_what_is_not_of_the_set_is_no_utf8(data: bytes, encoding: str, size: int) -> None:
    mark = {"utf-16": codecs.BOM_UTF16_LE, "utf-32": codecs.BOM_UTF32_BE}.get(encoding, b"")
    data = mark + data
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    decoded = b"".join(transcoded(pieces, encoding))
    assert decoded == b"".join(transcoded([data], encoding))
    try:
        expected = data.decode(encoding)
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            decoded.decode()
    else:
        assert decoded.decode() == expected


def bad(found: Found) -> list[tuple[int, int | None, str]]:
    return [(each.position, each.line, each.reason) for each in found.bad]


def test_bad_lines_leave_the_others_alone(tmp_path: Path) -> None:
    lines = [b'{"text":"caf\xe9"}', b'{"text":"\x81"}', b'{"text":"c","m":"\x8d"}', b'{"text":"\x80"}']
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    found = read_file("jsonl", tmp_path / "a.jsonl", ReadOptions(encoding="cp1252"))
    assert found.texts == ["caf\u00e9", "\u20ac"]
    assert bad(found) == [(17, 2, "invalid_encoding"), (32, 3, "invalid_encoding")]
    assert "bytes that are not cp1252" in found.bad[0].detail


def test_bad_rows_and_bad_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text,b\na,\u00e9\n".encode("shift_jis", "ignore") + b"b,\x81\nc,d\n")
    found = read_file("csv", tmp_path / "a.csv", ReadOptions(encoding="shift_jis"))
    assert found.texts == ["a", "c"] and bad(found) == [(1, 3, "invalid_encoding")]
    (tmp_path / "a.csv").write_bytes(b"text,\x81\xff\na,b\n")
    (damage,) = read_file("csv", tmp_path / "a.csv", ReadOptions(encoding="shift_jis")).damage
    assert (damage.reason, damage.detail) == ("bad_header", "bytes that are not shift_jis")
    (tmp_path / "a.txt").write_bytes(b"plain \xff")
    found = read_file("text", tmp_path / "a.txt", ReadOptions(encoding="ascii"))
    assert bad(found) == [(0, None, "invalid_encoding")]


def test_a_cut_character_at_the_end_is_bad(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes('{"text":"a"}\n{"text":"b"}'.encode("utf-16")[:-1])
    found = read_file("jsonl", tmp_path / "a.jsonl", ReadOptions(encoding="utf-16"))
    assert found.texts == ["a"] and found.reasons == ["invalid_encoding"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("content", [b"{", b"{\0", b'{\0"\0t\0'])
def test_the_order_of_bytes_is_not_guessed(encoding: str, content: bytes, tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match=f"say encoding: {encoding}-le or {encoding}-be"):
        list(transcoded([content], encoding))
    (tmp_path / "a.jsonl").write_bytes(content)
    assert read_file("jsonl", tmp_path / "a.jsonl", ReadOptions(encoding=encoding)).damages == [
        "invalid_encoding"
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_an_empty_file_is_empty(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert read_file("jsonl", tmp_path / "a", ReadOptions(encoding=encoding)) == Found()
    assert read_file("text", tmp_path / "a", ReadOptions(encoding=encoding)).texts == [""]


def test_limits_are_in_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\u00e9\u00e9\u00e9\u00e9".encode("latin-1"))
    for limit, reasons in ((8, []), (7, ["too_long"])):
        options = ReadOptions(encoding="latin-1", max_document_bytes=limit)
        assert read_file("text", tmp_path / "a.txt", options).reasons == reasons
    (tmp_path / "a.txt").write_bytes(("a" * 8).encode("utf-16"))
    assert read_file("text", tmp_path / "a.txt", ReadOptions(encoding="utf-16", max_document_bytes=8)).texts


def test_a_large_file_in_another_encoding_is_one_split(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes('{"text":"a"}\n'.encode("utf-16-le") * 100)
    options = ReadOptions(encoding="utf-16-le")
    (split,) = make_splits("s", "jsonl", [input_file(tmp_path / "a.jsonl")], options, split_bytes=100)
    assert len(read_file("jsonl", tmp_path / "a.jsonl", options).texts) == 100
    assert split.extents[0].is_whole


@pytest.mark.parametrize("format", [name for name, reader in READERS.items() if not reader.is_text])
def test_other_formats_settle_it_themselves(format: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(UserError, match=f"format {format} settles its encoding itself; cp1252 was asked for"):
        make_splits("s", format, [input_file(tmp_path / "a")], ReadOptions(encoding="cp1252"))


@pytest.mark.parametrize(
    ("name", "canonical"),
    [("UTF8", "utf-8"), ("utf-8-sig", "utf-8"), ("latin-1", "iso8859-1"), ("L1", "iso8859-1"),
     ("Windows-1252", "cp1252"), ("SJIS", "shift_jis"), ("UTF-16LE", "utf-16-le")],
)  # fmt: skip
def test_names(name: str, canonical: str) -> None:
    assert character_set(name) == canonical == ReadOptions(encoding=name).encoding


@pytest.mark.parametrize(
    "name", ["", "nope", "hex", "rot13", "zlib", "idna", "unicode_escape", "utf-7", "undefined", "a\0b"]
)
def test_what_is_no_character_set(name: str) -> None:
    with pytest.raises(ValueError, match="no character set"):
        character_set(name)


def test_the_key_names_the_tables() -> None:
    assert "codecs" not in ReadOptions().components()
    assert ReadOptions(encoding="cp1252").components()["codecs"].startswith("python 3.")
    assert ReadOptions(carry=("a",)).components() == ReadOptions().components()
