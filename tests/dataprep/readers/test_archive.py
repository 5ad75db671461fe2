from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.readers import READERS, Extent, ReadOptions, Split
from dataprep.readers.formats import format_of, resolve
from dataprep.readers.splits import make_splits
from manifests.errors import UserError
from tests.dataprep.readers.reading import IDS, Found, input_file
from tests.dataprep.readers.warcs import gzipped, read, response

LINES = b"".join(b'{"id":"%d","text":"line %d"}\n' % (n, n) for n in range(3))
FILES = {
    "a.jsonl": LINES,
    "docs/b.txt": b"text of b",
    "docs/c.html": b"<p>caf\xe9",
    "d.csv": b"id,text\n7,seven\n",
}
DOCUMENTS = [
    ("0", "line 0"),
    ("1", "line 1"),
    ("2", "line 2"),
    ("docs/b.txt", "text of b"),
    ("docs/c.html", "<p>caf\xe9"),
    ("7", "seven"),
]


def tar(files: Mapping[str, bytes], format: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def zip_(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


ARCHIVES: dict[str, Callable[[Mapping[str, bytes]], bytes]] = {
    "gnu.tar": lambda files: tar(files, tarfile.GNU_FORMAT),
    "pax.tar": tar,
    "ustar.tar": lambda files: tar(files, tarfile.USTAR_FORMAT),
    "a.tar.gz": lambda files: gzip.compress(tar(files)),
    "a.tgz": lambda files: gzip.compress(tar(files)),
    "a.tar.zst": lambda files: zstandard.compress(tar(files)),
    "a.tar.xz": lambda files: lzma.compress(tar(files)),
    "a.tar.bz2": lambda files: bz2.compress(tar(files)),
    "a.zip": zip_,
    "stored.zip": lambda files: zip_(files, zipfile.ZIP_STORED),
    "bz2.zip": lambda files: zip_(files, zipfile.ZIP_BZIP2),
    "lzma.zip": lambda files: zip_(files, zipfile.ZIP_LZMA),
}


def found_in(path: Path, content: bytes, options: ReadOptions = IDS) -> tuple[Found, dict[str, int]]:
    return read(path, content, options, "archive")


def bodies(found: Found) -> list[tuple[str | None, str]]:
    return [(own_id, text) for _, own_id, text in found.documents]


@pytest.mark.parametrize("name", ARCHIVES)
def test_members_are_read_as_files_are(tmp_path: Path, name: str) -> None:
    found, counts = found_in(tmp_path / name, ARCHIVES[name](FILES))
    assert bodies(found) == DOCUMENTS
    assert not found.bad and not found.damage and not counts
    positions = [each[0] for each in found.documents]
    assert len(set(positions)) == len(positions) and positions == sorted(positions)


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_without_members(tmp_path: Path, name: str) -> None:
    found, _ = found_in(tmp_path / name, ARCHIVES[name]({}))
    assert not found.documents and not found.bad and not found.damage


def test_positions_in_a_tar_are_places_in_it(tmp_path: Path) -> None:
    content = tar(FILES, tarfile.GNU_FORMAT)
    found, _ = found_in(tmp_path / "a.tar", content)
    for position, own_id, text in found.documents:
        line = content[position : position + 40]
        # A row of CSV is the number of the row.
        assert text.encode("latin-1") in line or (own_id == "7" and position == content.find(b"id,text"))


def test_compressed_members_have_positions_of_their_own(tmp_path: Path) -> None:
    files = {"a.jsonl.gz": gzip.compress(LINES * 500, mtime=0), "b.jsonl.zst": zstandard.compress(LINES)}
    for name in ("a.tar", "a.zip"):
        found, _ = found_in(tmp_path / name, ARCHIVES["pax.tar" if name == "a.tar" else name](files))
        positions = [each[0] for each in found.documents]
        assert len(positions) == 1503 == len(set(positions)) and positions == sorted(positions)


def test_what_is_passed_over_is_counted(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in (("dir", tarfile.DIRTYPE), ("l.txt", tarfile.SYMTYPE), ("h.txt", tarfile.LNKTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "a.txt"
            archive.addfile(member)
        member = tarfile.TarInfo("fifo.txt")
        member.type = tarfile.FIFOTYPE
        archive.addfile(member)
        for name in ("a.txt", ".hidden.txt", "dir/.git/x.txt", "./b.txt", "x.py", "README", "../c.txt"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
    found, counts = found_in(tmp_path / "a.tar", out.getvalue())
    assert [own_id for own_id, _ in bodies(found)] == ["a.txt", "b.txt", "../c.txt"]
    assert counts == {
        "passed_over:folder": 1,
        "passed_over:link": 2,
        "passed_over:device": 1,
        "passed_over:hidden_file": 2,
        "passed_over:unknown_suffix": 2,
    }


def test_folders_and_links_of_a_zip(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("folder/", b"")
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, b"a.txt")
        archive.writestr("__MACOSX/._a.txt", b"x")
    found, counts = found_in(tmp_path / "a.zip", out.getvalue())
    assert not found.documents
    assert counts == {"passed_over:folder": 1, "passed_over:link": 1, "passed_over:hidden_file": 1}


def test_the_recipe_may_name_the_format_of_the_members(tmp_path: Path) -> None:
    content = tar({"x.py": b"'''Doc.'''\n", "README": b"'Read.'\n"})
    found, counts = found_in(tmp_path / "a.tar", content, ReadOptions(members="docstrings"))
    assert bodies(found) == [("x.py", "Doc."), ("README", "Read.")] and not counts
    (tmp_path / "a.tar").write_bytes(content)
    (split,) = make_splits("s", "docstrings", [input_file(tmp_path / "a.tar")], ReadOptions())
    assert split.format == "archive"


@pytest.mark.parametrize(
    ("format", "name", "expected"),
    [
        ("auto", "a.tar.gz", "archive"),
        ("text", "a.tar.gz", "archive"),
        ("archive", "x", "archive"),
        ("parquet", "a.zip", "parquet"),
        ("text", "a.jsonl", "text"),
        ("auto", "x", None),
    ],
)
def test_which_reader_is_chosen(format: str, name: str, expected: str | None) -> None:
    assert resolve(format, name) == expected


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.zst", "a.tar.xz", "a.tbz2", "a.TGZ", "x/a.zip"])
def test_names_of_archives(name: str) -> None:
    assert format_of(name) == "archive"


BAD = {
    "bad.txt": (b"\xff", "invalid_utf8"),
    "cut.jsonl": (LINES[:-10], "not_json"),
    "in.tar.gz": (b"", "nested_archive"),
    "in.zip": (b"PK\x03\x04", "nested_archive"),
    "q.parquet": (b"PAR1", "unsupported_member"),
    "cut.txt.gz": (gzip.compress(b"x" * 100)[:-5], "truncated"),
    "zip.txt": (b"PK\x03\x04", "unsupported_compression"),
    "long.txt": (b"x" * 5000, "too_long"),
    "array.json": (b"[\n1\n]", "json_array"),
}


@pytest.mark.parametrize("archive", ["pax.tar", "a.tar.gz", "a.zip"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_member_leaves_the_others_alone(tmp_path: Path, archive: str, name: str) -> None:
    content, reason = BAD[name]
    files = {"a.txt": b"before", name: content, "z.txt": b"after"}
    options = ReadOptions(id="id", max_document_bytes=1000)
    found, _ = found_in(tmp_path / archive, ARCHIVES[archive](files), options)
    texts = [text for own_id, text in bodies(found) if own_id in ("a.txt", "z.txt")]
    assert texts == ["before", "after"] and found.reasons == [reason] and not found.damage
    assert found.bad[0].detail.startswith(name)
    assert found.documents[0][0] < found.bad[0].position <= found.documents[-1][0]


def test_lines_before_the_damage_of_a_member_are_kept(tmp_path: Path) -> None:
    lines = b"".join(b'{"text":"%d"}\n' % n for n in range(100_000))
    files = {"a.jsonl.gz": gzip.compress(lines)[:-5], "b.txt": b"b"}
    found, _ = found_in(tmp_path / "a.tar", tar(files))
    assert len(found.documents) > 90_000 and found.texts[-1] == "b" and found.reasons == ["truncated"]


@pytest.mark.parametrize("archive", ["gnu.tar", "a.tar.gz", "a.tar.zst"])
def test_an_archive_that_is_cut(tmp_path: Path, archive: str) -> None:
    """At any byte: what was whole before is there, and one damage, unless the cut is between members."""
    whole = ARCHIVES[archive](FILES)
    fewest = 0
    for cut in range(1, 4096 if archive == "gnu.tar" else len(whole), 61 if archive == "gnu.tar" else 9):
        found, _ = found_in(tmp_path / archive, whole[:cut])
        assert bodies(found) == DOCUMENTS[: len(found.documents)]
        assert len(found.documents) >= fewest
        fewest = len(found.documents)
        assert len(found.damage) == 1 and not found.bad, cut
        if archive == "gnu.tar":
            (damage,) = found.damage
            assert damage.unread_bytes == cut - damage.position
    assert fewest >= 5 or archive == "a.tar.zst"  # which is one block here, and nothing without its end


def test_an_archive_behind_an_archive(tmp_path: Path) -> None:
    whole = tar({"a.txt": b"a"}) + tar({"b.txt": b"b"})
    assert bodies(found_in(tmp_path / "a.tar", whole)[0]) == [("a.txt", "a"), ("b.txt", "b")]
    found, _ = found_in(tmp_path / "a.tar", tar({"a.txt": b"a"}) + b"x" * 600)
    assert bodies(found) == [("a.txt", "a")] and found.damages == ["trailing_garbage"]
    without_zeros = tar({"a.txt": b"a"})[:1024]
    found, _ = found_in(tmp_path / "a.tar", without_zeros)
    assert bodies(found) == [("a.txt", "a")] and not found.damage


def test_a_header_that_is_broken_ends_the_archive_with_a_word(tmp_path: Path) -> None:
    content = bytearray(tar(FILES, tarfile.GNU_FORMAT))
    second = content.find(b"docs/b.txt")
    content[second] ^= 1
    found, _ = found_in(tmp_path / "a.tar", bytes(content))
    assert bodies(found) == DOCUMENTS[:3]
    (damage,) = found.damage
    assert (damage.reason, damage.position, damage.unread_bytes) == ("corrupt", second, len(content) - second)


@pytest.mark.parametrize("cut", [10, 200, -30])
def test_a_zip_without_its_directory(tmp_path: Path, cut: int) -> None:
    found, _ = found_in(tmp_path / "a.zip", zip_(FILES)[:cut])
    assert not found.documents and found.damages == ["truncated"]


def test_a_zip_member_that_fails_its_checksum(tmp_path: Path) -> None:
    content = bytearray(zip_({"a.txt": b"first", "b.txt": b"second"}, zipfile.ZIP_STORED))
    content[content.find(b"first")] ^= 1
    found, _ = found_in(tmp_path / "a.zip", bytes(content))
    assert bodies(found) == [("b.txt", "second")] and found.reasons == ["corrupt"]


def test_an_encrypted_member(tmp_path: Path) -> None:
    content = bytearray(zip_({"a.txt": b"first", "b.txt": b"second"}))
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(header) + flags] |= 1
    found, _ = found_in(tmp_path / "a.zip", bytes(content))
    assert bodies(found) == [("b.txt", "second")] and found.reasons == ["encrypted"]


def test_members_that_overlap_are_a_bomb(tmp_path: Path) -> None:
    """One compressed member that the directory names many times."""
    content = zip_({"a.txt": b"x" * 100_000})
    directory = content.find(b"PK\x01\x02")
    entry = content[directory : content.find(b"PK\x05\x06")]
    end = bytearray(content[content.find(b"PK\x05\x06") :])
    end[8:10] = end[10:12] = (200).to_bytes(2, "little")
    end[12:16] = (200 * len(entry)).to_bytes(4, "little")
    bomb = content[:directory] + entry * 200 + bytes(end)
    assert len(zipfile.ZipFile(io.BytesIO(bomb)).infolist()) == 200
    found, _ = found_in(tmp_path / "a.zip", bomb)
    assert len(found.documents) + len(found.bad) + len(found.damage) in (1, 200)
    many = {f"{n}.txt": b"x" for n in range(50)}
    assert len(found_in(tmp_path / "b.zip", zip_(many))[0].documents) == 50


def test_attributes_and_long_names_of_a_tar(tmp_path: Path) -> None:
    name = "d/" * 120 + "\u4e2d.txt"
    for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        found, _ = found_in(tmp_path / "a.tar", tar({name: b"x", "b.txt": b"y"}, format))
        assert bodies(found) == [(name, "x"), ("b.txt", "y")]


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    content = bytearray(tar({"a?.txt": b"x"}, tarfile.USTAR_FORMAT))
    content[1] = 0xFF
    content[148:156] = b"%06o\0 " % (sum(content[:148]) + 8 * 32 + sum(content[156:512]))
    assert bodies(found_in(tmp_path / "a.tar", bytes(content))[0]) == [("a\ufffd.txt", "x")]


def test_a_crawl_inside_an_archive(tmp_path: Path) -> None:
    records = [response(number=1), response(number=2, status="404 Gone")]
    options = ReadOptions(id="url", carry=("status",))
    files = {"crawl.warc.gz": gzipped(records), "a.txt": b"x"}
    found, counts = found_in(tmp_path / "a.tar", tar(files), options)
    assert [own_id for own_id, _ in bodies(found)] == ["https://example.org/1", "a.txt"]
    assert found.carried == [("200",), (None,)] and counts == {"passed_over:status_4xx": 1}


def test_a_csv_without_the_column_is_the_users_to_mend(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no column 'text'") as error:
        found_in(tmp_path / "a.tar", tar({"d/a.csv": b"x\n1\n"}))
    assert str(error.value.where).endswith("a.tar!d/a.csv")


def test_many_small_members_come_in_few_chunks(tmp_path: Path) -> None:
    files = {f"{n:05}.txt": b"x" * 100 for n in range(2000)}
    (tmp_path / "a.tar").write_bytes(tar(files, tarfile.USTAR_FORMAT))
    file = input_file(tmp_path / "a.tar")
    chunks = list(READERS["archive"].read(Split("s", "archive", (Extent(file, 0, file.size_bytes),)), IDS))
    assert [chunk.records.num_rows for chunk in chunks] == [2000]


@settings(max_examples=40)
@given(st.sampled_from(["gnu.tar", "pax.tar", "a.zip"]), st.data())
def test_any_damage_ends_in_records_and_reasons(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    whole = ARCHIVES[name](FILES)
    at = data.draw(st.integers(0, len(whole) - 1))
    content = whole[:at] + data.draw(st.binary(max_size=30)) + whole[at + data.draw(st.integers(0, 40)) :]
    found, _ = found_in(tmp_path_factory.mktemp("archive") / name, content)
    json.dumps([[bad.reason, bad.detail] for bad in found.bad])
    assert len(found.damage) <= 1


def test_a_recipe_option_reaches_the_members(tmp_path: Path) -> None:
    options = ReadOptions(encoding="koi8-r")
    files: dict[str, Any] = {"a.txt": "кот".encode("koi8-r"), "b.html": "<p>кот".encode()}
    assert found_in(tmp_path / "a.tar", tar(files), options)[0].texts == ["кот", "<p>кот"]
