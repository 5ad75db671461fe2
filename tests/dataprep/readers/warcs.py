"""Small WARC files for tests, written by hand so that they can be wrong in any way."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from dataprep.readers import READERS, Chunk, Extent, ReadOptions, Split
from tests.dataprep.readers.reading import Found, collect, input_file

HTML = "<html><p>caf\xe9 кот</p></html>"


def record(
    kind: str = "response",
    block: bytes = b"",
    number: int = 1,
    headers: Sequence[str] = (),
    length: int | None = None,
    ending: bytes = b"\r\n\r\n",
) -> bytes:
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:{number}>",
        f"WARC-Target-URI: https://example.org/{number}",
        "WARC-Date: 2024-05-01T12:00:00Z",
        *headers,
        f"Content-Length: {len(block) if length is None else length}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + ending


def response(
    body: bytes | str = HTML,
    number: int = 1,
    status: str = "200 OK",
    http: Sequence[str] = ("Content-Type: text/html; charset=utf-8",),
    headers: Sequence[str] = (),
) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    head = "\r\n".join([f"HTTP/1.1 {status}", *http]).encode()
    return record("response", head + b"\r\n\r\n" + content, number, headers)


def gzipped(records: Sequence[bytes]) -> bytes:
    """One member a record, as crawlers write them."""
    return b"".join(gzip.compress(each, mtime=0) for each in records)


def read(
    path: Path, content: bytes, options: ReadOptions | None = None, format: str = "warc"
) -> tuple[Found, dict[str, int]]:
    """What is found in a file of this content, and what was counted."""
    path.write_bytes(content)
    options = options or ReadOptions()
    file = input_file(path)
    split = Split("source", format, (Extent(file, 0, file.size_bytes),))
    chunks: list[Chunk] = list(READERS[format].read(split, options))
    counts: dict[str, int] = {}
    for chunk in chunks:
        for slug, number in chunk.counts.items():
            counts[slug] = counts.get(slug, 0) + number
    return collect(chunks, options), counts
