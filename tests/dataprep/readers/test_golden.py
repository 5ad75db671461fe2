"""What every reader makes of fixed bytes is pinned, so that a result cannot change under an unchanged
version.

After a wanted change: raise the reader's VERSION and put the digest that the failure shows into
tests/golden/readers.json. Details of bad records are messages and not pinned.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataprep.readers import READERS, Extent, ReadOptions
from tests.dataprep.readers.reading import input_file, read_extents
from tests.dataprep.readers.test_archive import tar, zip_
from tests.dataprep.readers.warcs import gzipped, record, response

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "readers.json").read_text())

LINES = (
    b'\xef\xbb\xbf{"id":"a","text":"caf\\u00e9 \\ud83d\\ude00\\n"}\r\n\n'
    b'{"id":7,"text":"\xe4\xb8\xad","more":[{}]}\n'
    b'{"text":null}\n{"text":5}\n{"id":[],"text":"x"}\nnot json\n[1]\n{"text":"\xff"}\n{"text":"\\ud800"}\n'
    b'{"id":1.50,"text":""}\n{"text":"' + b"long " * 300 + b'"}\n'
    b'{"text":"x","m":' + b"[" * 300 + b"]" * 300 + b'}\n{"text":"last"}'
)  # fmt: skip
CRAWL = (
    response()
    + record("request", b"GET /")
    + response("x" * 1001, 2)
    + b"garbage\r\n\r\n"
    + response(b"caf\xe9", 3, http=["Content-Type: text/plain"])
    + record("response", b"HTTP/1.1 200 OK\r\n\r\n", 4, length=7)
    + record("resource", b"<p>", 5, ["Content-Type: text/html"])
    + response("cut", 6)[:-6]
)
ARC = (
    b"filedesc://a 0.0.0.0 20140216050221 text/plain 3\nabc\n"
    b"http://b 0.0.0.0 20140216050221 text/html 3\n<p>\n"
)
MEMBERS = {
    "a.jsonl": LINES,
    "b/c.txt": b"text",
    "d.zip": b"",
    "e.py": b"",
    ".f.txt": b"",
    "g.csv": b"id,text\n1,b\n",
}
FILES = {
    "jsonl": [LINES, gzip.compress(LINES, mtime=0), gzip.compress(LINES, mtime=0)[:-30], b"[\n", b"\xff\xfe"],
    "csv": [b'\xef\xbb\xbfid,text\n1,"a\nb"\n2\n\n3,"x"y\n4,\xff\n5,c\n', b'id,"te"xt\n', b""],
    "text": [b"\xef\xbb\xbfa\r\nb\0", b"", b"\xff", b"\xff\xfe", b"x" * 2000, b"PK\x03\x04"],
    "html": [
        b"<meta charset=koi8-r>\xcb\xcf\xd4",
        b"\xef\xbb\xbf<p>",
        b"caf\xe9",
        b"\xff\xfea\0",
        b"x" * 2000,
    ],
    "warc": [CRAWL, gzipped([CRAWL[:400], CRAWL[400:]])[:-60], b"no WARC", ARC],
    "wet": [record("conversion", b"a") + CRAWL],
    "archive": [tar(MEMBERS), gzip.compress(tar(MEMBERS), mtime=0)[:-60], zip_(MEMBERS), b"x" * 600],
    "metadata": [b"Name: a\n\nbody\n", b"Description: x\n        y\n\n", b"Name: a\n\nUNKNOWN\n"],
    "docstrings": [b"'''One.\n\n    Two.\n    '''\ndef f():\n    'Three.'\n", b"x = 1", b"def"],
}


IN_CP1252 = {
    "jsonl": [b'{"id":"a","text":"caf\xe9 \x80"}\n{"text":"\x81"}\n{"text":"b"}'],
    "csv": [b"id,text\na,caf\xe9\nb,\x81\nc,\x80\n"],
    "text": [b"caf\xe9\r\n", b"\x81"],
}


IN_CP1252["archive"] = [tar({"a.jsonl": IN_CP1252["jsonl"][0], "b.txt": b"caf\xe9", "c.html": b"caf\xe9"})]
IDS = {"warc": "url", "wet": "date"}  # what has them, but for "id"
CARRIED = {"jsonl": ("more", "text"), "warc": ("host", "WARC-Type"), "wet": ("url", "nowhere")}


def parquet(path: Path) -> None:
    texts = pa.array([b"a", None, b"\xff", "\u4e2d".encode(), b"x" * 2000], type=pa.binary())
    ids = pa.array([1, 2, None, 4, 5])
    pq.write_table(pa.table({"id": ids, "text": texts}), path, row_group_size=2)


def digest(format: str, folder: Path, contents: list[bytes], options: ReadOptions) -> str:
    """SHA-256 over documents, bad records and damage of the files."""
    if format == "parquet":
        parquet(folder / "0")
        extents = [Extent(input_file(folder / "0"), 0, 3, "row_groups")]
    else:
        for number, content in enumerate(contents):
            (folder / str(number)).write_bytes(content)
        files = [input_file(folder / str(number)) for number in range(len(contents))]
        extents = [Extent(file, 0, file.size_bytes) for file in files]
    found = read_extents(format, extents, options)
    bad = [(each.extent, each.position, each.line, each.reason) for each in found.bad]
    damage = [(each.extent, each.position, each.unread_bytes, each.reason) for each in found.damage]
    whole = [found.documents, found.extents, bad, damage, *([found.carried] if options.carry else [])]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def digests(format: str, folder: Path) -> dict[str, str]:
    """With a limit of 1,000 bytes; of formats that have them also with templates, carried fields and another
    encoding."""
    reader = READERS[format]
    own_id = IDS.get(format, "id") if reader.has_fields else None
    plain = ReadOptions(id=own_id, max_document_bytes=1000)
    contents = FILES.get(format, [])
    found = {"digest": digest(format, folder, contents, plain)}
    if reader.has_fields:
        options = replace(plain, text="{id?} {text}", carry=CARRIED.get(format, ("id", "text")))
        found["with_fields"] = digest(format, folder, contents, options)
    if reader.is_text:
        options = replace(plain, encoding="cp1252")
        found["in_cp1252"] = digest(format, folder, IN_CP1252[format], options)
    return found


@pytest.mark.parametrize("format", READERS)
def test_result_changes_only_with_the_version(format: str, tmp_path: Path) -> None:
    assert {"version": READERS[format].version, **digests(format, tmp_path)} == GOLDEN[format]


def test_every_reader_is_pinned() -> None:
    assert set(GOLDEN) == set(READERS)
