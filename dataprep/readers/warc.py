"""Crawls as WARC, WET or ARC: a web page is a document, its HTML as it stands, or its text in a WET.

Documents are `response` records of HTTP with a status of 2xx but 204 and 206, `resource` records and
`conversion` records (the format `wet` takes these alone), of the media types in MEDIA_TYPES. All others are
passed over and counted by kind. Content and transfer codings are undone (`dataprep.readers.http`), bytes are
decoded as `dataprep.readers.charsets` says, and what could not be decoded is counted.

id        WARC-Record-ID (ARC: the URL), or what `id` names: a field of FIELDS or any header of the record.
          Missing is null.
position  of the record in the decompressed file. For a file with one gzip member a record, the offset of the
          member is not kept: it would mean nothing in a plain file or in one of zstd.

A page that the crawler cut (WARC-Truncated) is a document. Bad records: `bad_header` where bytes are no
record, `bad_length` where a block is not followed by a line ending, `bad_response`, `bad_payload`, and
`too_long` by `max_document_bytes`, of the block and of the decoded payload. A record that the end of the
file cuts is Damage; what was whole before it is kept. How records are framed is in
`dataprep.readers.warc_records`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

from dataprep.readers import charsets, http
from dataprep.readers.decompress import DamagedFile, read_pieces
from dataprep.readers.extents import Extent, Split
from dataprep.readers.html import count_replaced
from dataprep.readers.records import BadDocument, BadRecord, Chunk, ChunkBuilder, Damage, ReadOptions
from dataprep.readers.streams import Stream
from dataprep.readers.warc_records import Gap, Record, read_records
from manifests.errors import UserError

VERSION = 1
FIELDS = ("url", "date", "content_type", "status", "host", "charset")
"""What a record has apart from its headers, which go by their own names."""
HTML_TYPES = ("text/html", "application/xhtml+xml")
MEDIA_TYPES = (*HTML_TYPES, "text/plain")
_NO_DOCUMENT = (204, 206)  # nothing, and a part of something
_HEAD_BYTES = 1 << 16
_OF_THE_ARCHIVE = ("metadata", "filedesc")  # schemes of what is about the crawl: wget's log, ARC's own header
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body", b"<!--")


@dataclass(frozen=True, slots=True)
class Page:
    """One document."""

    record: Record
    decoded: charsets.Decoded
    media_type: str
    status: int | None

    def value(self, name: str) -> str | None:
        """What a name of FIELDS or a header of the record stands for, or None."""
        match name.lower():
            case "url":
                return _url(self.record) or None
            case "date":
                return self.record.headers.get("warc-date")
            case "content_type":
                return self.media_type or None
            case "status":
                return None if self.status is None else str(self.status)
            case "host":
                return _host(_url(self.record))
            case "charset":
                return self.decoded.charset
            case header:
                return self.record.headers.get(header)


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """The documents of all extents in order."""
    return _read(split, options, ("response", "arc", "resource", "conversion"))


def read_wet(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """The same, of `conversion` records."""
    return _read(split, options, ("conversion",))


def depends() -> dict[str, str]:
    """Versions of what decodes. UserError where it is not installed."""
    try:
        return {**charsets.depends(), "brotli": version("brotli")}
    except PackageNotFoundError as error:
        raise UserError(
            "reading WARC needs the package brotli", hint="pip install 'headrace[warc]'"
        ) from error


def _read(split: Split, options: ReadOptions, kinds: tuple[str, ...]) -> Iterator[Chunk]:
    builder = ChunkBuilder(options)
    for index, extent in enumerate(split.extents):
        stream = Stream(read_pieces(extent.file))
        try:
            for found in read_records(stream):
                if isinstance(found, Gap):
                    _refuse_gap(builder, index, found, stream)
                else:
                    _add(builder, index, found, options, kinds)
                if builder.is_full:
                    yield builder.take()
        except DamagedFile as error:
            unread_bytes = _unread(extent, stream, error)
            builder.damaged(Damage(index, error.position, unread_bytes, error.reason, error.detail))
    if not builder.is_empty:
        yield builder.take()


def _add(
    builder: ChunkBuilder, index: int, record: Record, options: ReadOptions, kinds: tuple[str, ...]
) -> None:
    try:
        page = _page(record, options.max_document_bytes) if record.kind in kinds else record.kind or "unknown"
    except BadDocument as error:
        builder.refuse(BadRecord(index, record.position, None, error.reason, error.detail))
        return
    if isinstance(page, str):
        builder.count(f"passed_over:{page}")
        return
    own_id = page.value(options.id or ("url" if record.kind == "arc" else "WARC-Record-ID"))
    carried = [page.value(name) for name in options.carry]
    builder.add_one(index, page.decoded.text, own_id, record.position, carried)
    count_replaced(builder, page.decoded)


def _page(record: Record, max_bytes: int) -> Page | str:
    """The document of a record, or the kind of record for which it is passed over."""
    scheme = _url(record).partition(":")[0].lower()
    if scheme in _OF_THE_ARCHIVE:
        return scheme
    media_type, head = record.headers.get("content-type", ""), None
    if record.kind in ("response", "arc"):
        head = http.parse_head(record.head(_HEAD_BYTES))
        if head is not None:
            if head.status // 100 != 2 or head.status in _NO_DOCUMENT:
                return f"status_{head.status // 100}xx"
            media_type = head.headers.get("content-type", "")
        elif record.kind == "response":
            if scheme not in ("http", "https"):
                return "not_http"
            raise BadDocument("bad_response", "the block does not begin with an HTTP status line")
    essence = media_type.partition(";")[0].strip().lower()
    if essence and essence not in MEDIA_TYPES:
        return "media_type"
    body = _body(record, head, max_bytes)
    if not essence and record.kind != "conversion":
        if not body[:1024].lstrip().lower().startswith(_HTML_STARTS):
            return "media_type"
        essence = HTML_TYPES[0]
    decoded = charsets.decode(body, charsets.charset_label(media_type), essence in HTML_TYPES)
    return Page(record, decoded, essence, head.status if head else None)


def _body(record: Record, head: http.Head | None, max_bytes: int) -> bytes:
    """The payload without codings; at most about `max_bytes` are held."""
    if record.length > max_bytes + _HEAD_BYTES:
        raise BadDocument("too_long", f"a block of {record.length} bytes; at most {max_bytes}")
    block = record.block()
    if block is None:
        raise BadDocument("bad_length", f"no line ending after a block of {record.length} bytes")
    if head is not None:
        return http.payload(block[head.body :], head.headers, "warc-truncated" in record.headers, max_bytes)
    if len(block) > max_bytes:
        raise BadDocument("too_long", f"more than {max_bytes} bytes")
    return block


def _url(record: Record) -> str:
    return record.headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:  # a bracket without the other one
        return None


def _refuse_gap(builder: ChunkBuilder, index: int, gap: Gap, stream: Stream) -> None:
    if gap.position == 0 and not stream.ensure(1) and stream.damage is None:
        raise DamagedFile("not_warc", f"no record in {gap.length:,} bytes", None)
    detail = f"{gap.detail}; {gap.length:,} bytes up to the next record"
    builder.refuse(BadRecord(index, gap.position, None, "bad_header", detail))


def _unread(extent: Extent, stream: Stream, error: DamagedFile) -> int | None:
    """Stored bytes that were not used: known from the decompressor, or where the file is plain."""
    if error.unread_bytes is None and stream.damage is None:
        end = stream.position + stream.ensure(1 << 62)  # the stream has ended, so this reads nothing
        return end - error.position if end == extent.file.size_bytes else None
    return error.unread_bytes
