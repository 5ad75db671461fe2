from __future__ import annotations

import gzip
import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.readers import READERS, ReadOptions, charsets, warc
from manifests.errors import UserError
from tests.dataprep.readers.reading import read_file
from tests.dataprep.readers.warcs import HTML, gzipped, read, record, response

THREE = [response(number=number) for number in (1, 2, 3)]
ID = "<urn:uuid:{}>"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.warc"


def test_a_response_is_a_document(path: Path) -> None:
    found, counts = read(path, b"".join(THREE))
    places = [0, len(THREE[0]), 2 * len(THREE[0])]
    assert found.documents == [(at, ID.format(n), HTML) for at, n in zip(places, (1, 2, 3), strict=True)]
    assert not found.bad and not found.damage and not counts


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress, lambda each: each])
def test_compression_does_not_matter(path: Path, compress: object) -> None:
    plain, _ = read(path, b"".join(THREE))
    found, _ = read(path, b"".join(map(compress, THREE)))  # type: ignore[arg-type]
    assert found.documents == plain.documents


@pytest.mark.parametrize("is_compressed", [True, False])
def test_zstd_with_a_dictionary_in_its_first_frame(path: Path, is_compressed: bool) -> None:
    many = [response(f"<p>{n} {'word ' * (n % 50)}</p>", n) for n in range(400)]
    dictionary = zstandard.train_dictionary(2000, many)
    stored = dictionary.as_bytes()
    frame = zstandard.compress(stored) if is_compressed else stored
    coder = zstandard.ZstdCompressor(dict_data=dictionary)
    content = b"\x5d\x2a\x4d\x18" + len(frame).to_bytes(4, "little") + frame
    content += b"".join(map(coder.compress, many))
    found, _ = read(path, content)
    assert len(found.documents) == 400 and not found.damage
    without = content[8 + len(frame) :]
    assert read(path, without)[0].damages == ["corrupt"]
    broken = content[:8] + b"\x28\xb5\x2f\xfd" + b"\xff" * (len(frame) - 4) + without
    assert read(path, broken)[0].damages == ["corrupt"]


def test_fields_as_ids_and_carried(path: Path) -> None:
    carry = ("url", "date", "content_type", "status", "host", "charset", "WARC-Type", "nowhere")
    found, _ = read(path, THREE[0], ReadOptions(id="url", carry=carry))
    url = "https://example.org/1"
    assert [each[1] for each in found.documents] == [url]
    assert found.carried == [
        (url, "2024-05-01T12:00:00Z", "text/html", "200", "example.org", "utf-8", "response", None)
    ]
    for name, own_id in (("WARC-Target-URI", url), ("warc-date", "2024-05-01T12:00:00Z"), ("none", None)):
        assert read(path, THREE[0], ReadOptions(id=name))[0].documents[0][1] == own_id


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (record("request", b"GET / HTTP/1.1\r\n\r\n"), "request"),
        (record("warcinfo", b"software: x\r\n"), "warcinfo"),
        (record("metadata", b"x: y\r\n"), "metadata"),
        (record("revisit", b"HTTP/1.1 200 OK\r\n\r\n"), "revisit"),
        (record("", b"x"), "unknown"),
        (response(status="404 Not Found"), "status_4xx"),
        (response(status="301 Moved"), "status_3xx"),
        (response(status="206 Partial Content"), "status_2xx"),
        (response(http=["Content-Type: image/png"]), "media_type"),
        (response(http=["Content-Type: application/json"]), "media_type"),
        (response(b"\x89PNG", http=[]), "media_type"),
        (record("resource", b"x", headers=["Content-Type: image/png"]), "media_type"),
    ],
)
def test_other_records_are_passed_over_and_counted(path: Path, content: bytes, count: str) -> None:
    found, counts = read(path, THREE[0] + content + THREE[2])
    assert [each[1] for each in found.documents] == [ID.format(1), ID.format(3)]
    assert counts == {f"passed_over:{count}": 1} and not found.bad and not found.damage


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (response(b"caf\xe9", http=["content-type: text/plain;charset=latin1"]), "caf\xe9"),
        (response(http=["CONTENT-TYPE:Application/XHTML+xml"]), HTML),
        (response(http=[]), HTML),  # begins like a page
        (response(gzip.compress(HTML.encode()), http=["Content-Encoding: gzip"]), HTML),
        (response(HTML, headers=["WARC-Truncated: length"]), HTML),
        (response(HTML, status="203 Non-Authoritative"), HTML),
        (record("resource", HTML.encode(), headers=["Content-Type: text/html"]), HTML),
        (record("conversion", b"plain", headers=["Content-Type: text/plain"]), "plain"),
        (record("conversion", b"plain"), "plain"),
        (response("", http=["Content-Type: text/html"]), ""),
    ],
)
def test_what_else_is_a_document(path: Path, content: bytes, text: str) -> None:
    found, counts = read(path, content)
    assert found.texts == [text] and not counts


def test_wet_takes_conversions_only(path: Path) -> None:
    found, counts = read(path, THREE[0] + record("conversion", b"plain", 2), format="wet")
    assert found.texts == ["plain"] and counts == {"passed_over:response": 1}


def test_what_cannot_be_decoded_is_counted(path: Path) -> None:
    found, counts = read(path, response("кот кот кот кот".encode() + b"\xff\xff\xff"))
    assert found.texts == ["кот кот кот кот\ufffd\ufffd\ufffd"]
    assert counts == {"replaced:documents": 1, "replaced:characters": 3}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (record("response", b"<html>no status line"), "bad_response"),
        (response(gzip.compress(HTML.encode())[:-9], http=["Content-Encoding: gzip"]), "bad_payload"),
        (record("response", b"HTTP/1.1 200 OK\r\n\r\nbody", length=21), "bad_length"),
        (record("response", b"HTTP/1.1 200 OK\r\n\r\nbody", ending=b""), "bad_length"),
        (record(headers=["Content-Length: x"]), "bad_header"),
        (record(headers=["no colon"]), "bad_header"),
        (b"garbage\r\n\r\n", "bad_header"),
        (b"WARC/one.two\r\n\r\n", "bad_header"),
        (response("x" * 3000), "too_long"),
        (response("x" * 300_000), "too_long"),
        (response(gzip.compress(b"x" * 3000), http=["Content-Encoding: gzip"]), "too_long"),
    ],
)
def test_bad_records_leave_the_others_alone(path: Path, content: bytes, reason: str) -> None:
    found, _ = read(path, THREE[0] + content + THREE[2], ReadOptions(max_document_bytes=2000))
    assert [each[1] for each in found.documents] == [ID.format(1), ID.format(3)]
    assert found.reasons == [reason] and not found.damage
    assert found.bad[0].position == len(THREE[0])


def test_a_length_that_reaches_into_the_next_record_costs_only_itself(path: Path) -> None:
    bad = record("response", b"HTTP/1.1 200 OK\r\n\r\nbody", length=200)
    found, _ = read(path, bad + THREE[1] + THREE[2])
    assert [each[1] for each in found.documents] == [ID.format(2), ID.format(3)]
    assert found.reasons == ["bad_length"]


def test_a_wrong_length_of_what_is_passed_over_is_a_gap(path: Path) -> None:
    bad = record("request", b"GET / HTTP/1.1\r\n\r\n", length=5)
    found, counts = read(path, THREE[0] + bad + THREE[2])
    assert len(found.documents) == 2 and found.reasons == ["bad_header"]
    assert counts == {"passed_over:request": 1}
    assert "bytes up to the next record" in found.bad[0].detail


def test_a_plain_file_that_is_cut(path: Path) -> None:
    whole = b"".join(THREE)
    for cut in range(len(whole)):
        found, _ = read(path, whole[:cut])
        num_whole = sum(cut >= (n + 1) * len(THREE[0]) - 4 for n in range(3))
        assert len(found.documents) == num_whole, cut
        start = num_whole * len(THREE[0])
        if cut > start:
            (damage,) = found.damage
            assert (damage.reason, damage.position, damage.unread_bytes) == ("truncated", start, cut - start)
        else:  # between two records
            assert not found.damage
        assert not found.bad


def test_a_compressed_file_that_is_cut(path: Path) -> None:
    whole = gzipped(THREE[:1] * 3)
    one = len(whole) // 3
    for cut in range(1, len(whole), 7):
        found, _ = read(path, whole[:cut])
        if cut % one < 3:  # of a member too little is left to know it
            assert found.damages in ([], ["trailing_garbage"], ["not_warc"])
        else:
            assert found.damages == ["truncated"]
        assert cut // one <= len(found.documents) <= cut // one + 1


def test_a_file_that_is_no_warc(path: Path) -> None:
    found, _ = read(path, b"something else\n" * 1000)
    assert not found.documents and not found.bad and found.damages == ["not_warc"]
    assert found.damage[0].unread_bytes == 15_000 and "15,000 bytes" in found.damage[0].detail


def test_an_empty_file_has_no_records(path: Path) -> None:
    found, _ = read(path, b"")
    assert not found.documents and not found.bad and not found.damage


def test_folded_and_repeated_headers(path: Path) -> None:
    content = record("conversion", b"x", headers=["WARC-Other: one", "  two", "WARC-Other: three"])
    assert read(path, content, ReadOptions(id="warc-other"))[0].documents[0][1] == "one two"


ARC = b"filedesc://a.arc 0.0.0.0 20140216050221 text/plain 75\n1 0 Test\n" + b"x" * 66 + b"\n"


def arc(url: str, body: bytes, fields: int = 5) -> bytes:
    more = " 200 - - 0 a.arc" if fields == 10 else ""
    return f"{url} 127.0.0.1 20140216050221 text/html{more} {len(body)}\n".encode() + body + b"\n"


def test_arc(path: Path) -> None:
    page = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>x"
    content = ARC + arc("http://a.org/x y", page) + b"garbage\nmore\n" + arc("http://b.org/", page, 10)
    found, counts = read(path, content, ReadOptions(carry=("date", "host")))
    assert [each[1:] for each in found.documents] == [("http://a.org/x y", "<p>x"), ("http://b.org/", "<p>x")]
    assert found.carried == [("2014-02-16T05:02:21Z", "a.org"), ("2014-02-16T05:02:21Z", "b.org")]
    assert found.reasons == ["bad_header"] and counts == {"passed_over:filedesc": 1}
    for cut in (len(content) - 10, len(content) - 60):
        assert len(read(path, content[:cut])[0].documents) == 1


@settings(max_examples=60)
@given(st.data())
def test_any_damage_ends_in_records_and_reasons(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes of a file changed, removed or put in: never a crash, and records before them are kept."""
    whole = b"".join(THREE)
    at = data.draw(st.integers(0, len(whole) - 1))
    removed = data.draw(st.integers(0, 300))
    content = whole[:at] + data.draw(st.binary(max_size=40)) + whole[at + removed :]
    path = tmp_path_factory.mktemp("warc") / "a.warc"
    found, _ = read(path, content)
    assert [each[1] for each in found.documents][: at // len(THREE[0])] == [
        ID.format(n + 1) for n in range(at // len(THREE[0]))
    ]
    positions = [each[0] for each in found.documents]
    assert positions == sorted(positions)


def test_the_crawl_of_the_data_pack(data_pack: Path) -> None:
    """260 pages, some of them coded or chunked: every one is the page that html/ has, byte for byte."""
    found = read_file("warc", data_pack / "warc" / "pages.warc.gz", ReadOptions(carry=("url",)))
    assert not found.bad and not found.damage and len(found.documents) == 260
    pages: dict[str, set[str]] = {}
    with (data_pack / "html" / "html_pages.jsonl.zst").open("rb") as file:
        data = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    for line in data.splitlines():
        page = json.loads(line)
        pages.setdefault(page["url"], set()).add(page["text"])
    texts = [
        text in pages[str(url)] for (_, _, text), (url,) in zip(found.documents, found.carried, strict=True)
    ]
    assert all(texts)
    wet = read_file("wet", data_pack / "warc" / "pages.warc.wet.gz", ReadOptions(carry=("url",)))
    assert [url for (url,) in wet.carried] == [url for (url,) in found.carried]


def test_what_common_crawl_wrote(data_pack: Path) -> None:
    folder = data_pack / "warc"
    (page,) = read_file("warc", folder / "cc_whirlwind.warc.gz", ReadOptions(id="url")).documents
    (text,) = read_file("wet", folder / "cc_whirlwind.warc.wet.gz", ReadOptions(id="url")).documents
    assert page[1] == text[1] == "https://an.wikipedia.org/wiki/Escopete"
    assert page[2].startswith("<!DOCTYPE html>") and text[2].startswith("Escopete")
    assert not read_file("warc", folder / "cc_whirlwind.warc.wat.gz", ReadOptions()).documents


def test_records_are_those_of_fastwarc(data_pack: Path) -> None:
    """The reference: places, identifiers and lengths of every record of intact files."""
    from fastwarc.warc import ArchiveIterator

    from dataprep.readers.decompress import read_pieces
    from dataprep.readers.streams import Stream
    from dataprep.readers.warc_records import Record, read_records
    from tests.dataprep.readers.reading import input_file

    names = ["pages.warc.gz", "pages.warc.wet.gz", "cc_whirlwind.warc.gz"]
    messy = [
        "example.warc",
        "post-test.warc.gz",
        "block-sized-records.warc.gz",
        "example-iana.org-chunked.warc",
    ]
    paths = [data_pack / "warc" / name for name in names] + [
        data_pack / "messy" / "warc" / name for name in messy
    ]
    for path in paths:
        theirs = []
        for each in ArchiveIterator(str(path), parse_http=False):
            theirs.append((each.record_id, each.content_length, each.reader.read()))
        ours = []
        for found in read_records(Stream(read_pieces(input_file(path)))):
            assert isinstance(found, Record)
            block = found.block()
            assert block is not None
            ours.append((found.headers["warc-record-id"], found.length, block))
        assert ours == theirs, path


@pytest.mark.parametrize("package", ["resiliparse", "brotli"])
def test_a_missing_package_is_named_while_planning(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    def without(name: str) -> str:
        if name == package:
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(charsets, "version", without)
    monkeypatch.setattr(warc, "version", without)
    with pytest.raises(UserError, match=package) as error:
        READERS["warc"].depends()
    assert error.value.hint == "pip install 'headrace[warc]'"
