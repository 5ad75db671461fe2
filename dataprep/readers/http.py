"""HTTP messages as crawlers store them: status, headers, and the payload with its codings undone.

Stored messages are often not what was sent: a crawler may have decoded the body and left the header. So a
`chunked` body that does not begin with a chunk, and a body without the magic number of its content coding,
are taken as they are. What cannot be decoded to its end is a BadDocument.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dataprep.readers.decompress import MAGIC_BYTES, DamagedFile, expand
from dataprep.readers.records import BadDocument

_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?!\d)")
_END = re.compile(rb"\r?\n\r?\n")
_CHUNK = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]{0,1000})?\r?\n")
_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_NAMES = {"x-gzip": "gzip", "x-deflate": "deflate", "brotli": "br", "x-br": "br"}
_NO_CODINGS = ("", "identity", "none", "binary", "utf-8", "8bit", "7bit")
_PIECE_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Head:
    """The start of a response: headers by lower-case name, the last of each; where the body starts."""

    status: int
    headers: Mapping[str, str]
    body: int


def parse_head(block: bytes) -> Head | None:
    """The head of a response, or None for bytes that are none."""
    status = _STATUS.match(block)
    if status is None:
        return None
    end = _END.search(block)
    lines = block[: end.start() if end else len(block)].decode("latin-1").split("\n")[1:]
    fields = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, colon, value in fields if colon}
    return Head(int(status[1]), headers, end.end() if end else len(block))


def payload(body: bytes, headers: Mapping[str, str], is_cut: bool, max_bytes: int) -> bytes:
    """The body without transfer and content codings. `is_cut`: the crawler says that it stored a part only,
    so a coding may end early. Raises BadDocument for `too_long` payloads, without holding them, and for
    what cannot be decoded."""
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = _without_chunks(body, is_cut)
    codings = [coding.strip().lower() for coding in headers.get("content-encoding", "").split(",")]
    for coding in reversed(codings):
        if coding not in _NO_CODINGS:
            body = _decoded(body, _NAMES.get(coding, coding), is_cut, max_bytes)
    if len(body) > max_bytes:
        raise BadDocument("too_long", f"more than {max_bytes} bytes")
    return body


def _without_chunks(body: bytes, is_cut: bool) -> bytes:
    parts: list[bytes] = []
    at = 0
    while at < len(body):
        size = _CHUNK.match(body, at)
        if size is None:
            if not parts:
                return body  # the header is a remainder
            raise BadDocument("bad_payload", f"chunked: no size of a chunk at byte {at}")
        start, length = size.end(), int(size[1], 16)
        if length == 0:
            break
        if start + length > len(body) and not is_cut:
            raise BadDocument("bad_payload", "chunked: the body ends inside a chunk")
        parts.append(body[start : start + length])
        at = start + length
        at += 2 if body[at : at + 2] == b"\r\n" else int(body[at : at + 1] == b"\n")
    return b"".join(parts)


def _decoded(body: bytes, coding: str, is_cut: bool, max_bytes: int) -> bytes:
    decode = _DECODERS.get(coding)
    if decode is None:
        raise BadDocument("bad_payload", f"the content coding {coding[:40]!r} is not known")
    if not body.startswith(_MAGIC.get(coding, b"")):
        return body  # the header is a remainder
    parts: list[bytes] = []
    size = 0
    try:
        for piece in decode(body):
            parts.append(piece)
            size += len(piece)
            if size > max_bytes:
                raise BadDocument("too_long", f"more than {max_bytes} bytes")
    except DamagedFile as damage:
        if damage.reason != "trailing_garbage" and not (is_cut and damage.reason == "truncated"):
            raise BadDocument("bad_payload", f"{coding}: {damage.detail}") from damage
    return b"".join(parts)


def _gzip_or_zstd(body: bytes) -> Iterator[bytes]:
    return expand(io.BytesIO(body), len(body), "", body[:MAGIC_BYTES])


def _deflate(body: bytes) -> Iterator[bytes]:
    """zlib's format by the standard, raw deflate from many servers; a body that is neither stays."""
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        decoder = zlib.decompressobj(wbits)
        try:
            piece = decoder.decompress(body, _PIECE_BYTES)
        except zlib.error:
            continue
        yield piece
        try:
            while not decoder.eof:
                tail = decoder.unconsumed_tail
                if not tail and len(piece) < _PIECE_BYTES:
                    raise DamagedFile("truncated", "the body stops inside its coding", None)
                piece = decoder.decompress(tail, _PIECE_BYTES)
                yield piece
        except zlib.error as error:
            raise DamagedFile("corrupt", str(error), None) from error
        return
    yield body


def _brotli(body: bytes) -> Iterator[bytes]:
    import brotli

    decoder = brotli.Decompressor()
    at, data = 0, body
    try:
        while True:
            piece = decoder.process(data, output_buffer_limit=_PIECE_BYTES)
            data = b""
            if piece:
                at += len(piece)
                yield piece
            elif decoder.can_accept_more_data():
                break
            if decoder.is_finished():
                return
    except brotli.error as error:
        if at == 0 and body.lstrip()[:1] == b"<":
            yield body
            return
        raise DamagedFile("corrupt", str(error), None) from error
    raise DamagedFile("truncated", "the body stops inside its coding", None)


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip_or_zstd,
    "zstd": _gzip_or_zstd,
    "deflate": _deflate,
    "br": _brotli,
}
