"""The records of a crawl's archive, one after the other: WARC 1.x (also WET and WAT), and its forerunner ARC.

A record is a header with the length of its block, and the block. Framing only: what a block holds is for
`dataprep.readers.http` and `dataprep.readers.warc`.

After bytes that are no header, reading goes on at the next line that begins one; what lies between is a
`Gap`. A block must be followed by a line ending or the end of the file, as the standard has it; where it is
not, its length is wrong, and the search for the next header starts inside it, so that a wrong length costs
one record. Records are framed here and not by a library, because those at hand end in silence where a file
is cut, and know no ARC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dataprep.readers.decompress import DamagedFile
from dataprep.readers.streams import Stream

MAX_HEADER_BYTES = 1 << 20
_MAX_LINE_BYTES = 1 << 16
_VERSION = re.compile(rb"WARC/\d+\.\d+[ \t]*\r?$")
_END = re.compile(rb"\r?\n\r?\n")
_ARC_DATE = re.compile(r"\d{8,17}")


@dataclass(slots=True)
class Record:
    """One record; its block must be taken before the next record is asked for, or is passed over.

    position  of the header in the decompressed file
    kind      WARC-Type in lower case; "arc" for every record of an ARC file
    headers   by lower-case name; of one that is given twice the first
    length    bytes of the block
    """

    position: int
    kind: str
    headers: Mapping[str, str]
    length: int
    stream: Stream = field(repr=False)
    is_misframed: bool = False

    def head(self, count: int) -> bytes:
        """The first bytes of the block. Raises DamagedFile where the file ends in them."""
        count = min(count, self.length)
        if self.stream.ensure(count) < count:
            raise _cut(self.stream, self.position)
        return self.stream.peek(count)

    def block(self) -> bytes | None:
        """The whole block, or None where the header's length is wrong. Raises DamagedFile where the file
        ends in it."""
        if self.stream.ensure(self.length) < self.length:
            raise _cut(self.stream, self.position)
        block = self.stream.peek(self.length + 2)
        if block[self.length :][:1] not in (b"", b"\r", b"\n"):
            self.is_misframed = True
            return None
        self.stream.take(self.length)
        return block[: self.length]


@dataclass(frozen=True, slots=True)
class Gap:
    """`length` bytes from `position` on that are part of no record."""

    position: int
    length: int
    detail: str


def read_records(stream: Stream) -> Iterator[Record | Gap]:
    """Every record in order. Raises DamagedFile where the file stops inside one or cannot be decompressed."""
    if stream.peek(9) == b"filedesc:":
        yield from _arc_records(stream)
    else:
        yield from _warc_records(stream)
    if stream.damage:
        raise _cut(stream, stream.position)


def _warc_records(stream: Stream) -> Iterator[Record | Gap]:
    while _skip_blank(stream):
        start = stream.position
        headers = _warc_header(stream)
        if isinstance(headers, str):
            yield Gap(start, stream.position - start + _skip_to_header(stream), headers)
            continue
        kind = headers.get("warc-type", "").lower()
        record = Record(start, kind, headers, int(headers["content-length"]), stream)
        end = stream.position + record.length
        yield record
        if record.is_misframed:
            _skip_to_header(stream)  # whoever asked for the block refuses the record, with its place
        elif not _skip_block(record, end):
            start = stream.position
            yield Gap(start, _skip_to_header(stream), "no line ending after a block: its length is wrong")


def _skip_block(record: Record, end: int) -> bool:
    """Pass over what of the block nobody took; whether a line ending, or the end of the file, follows."""
    rest = end - record.stream.position
    if record.stream.skip(rest) < rest:
        raise _cut(record.stream, record.position)
    return rest == 0 or record.stream.peek(1) in (b"", b"\r", b"\n")


def _warc_header(stream: Stream) -> dict[str, str] | str:
    """The fields, or what is wrong with them. Raises DamagedFile where the file ends inside."""
    head = stream.peek(20)
    if not _VERSION.match(head.partition(b"\n")[0]):
        if len(head) < 20 and b"\n" not in head and b"WARC/".startswith(head[:5]):
            raise _cut(stream, stream.position)
        stream.skip(1)
        return "not a WARC header"
    for count in (1 << 12, MAX_HEADER_BYTES):
        end = _END.search(stream.peek(count))
        if end is not None:
            break
    else:
        if stream.ensure(MAX_HEADER_BYTES) < MAX_HEADER_BYTES:
            raise _cut(stream, stream.position)
        stream.skip(1)
        return f"a header of more than {MAX_HEADER_BYTES:,} bytes"
    headers: dict[str, str] = {}
    name = ""
    for line in stream.take(end.end())[: end.start()].decode("utf-8", "replace").split("\n")[1:]:
        key, colon, value = line.partition(":")
        if line[:1] in (" ", "\t"):  # folded
            headers[name] = f"{headers.get(name, '')} {line.strip()}"
        elif not colon:
            return "a header line without a colon"
        else:
            name = key.strip().lower()
            headers.setdefault(name, value.strip())
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 19):
        return f"no valid Content-Length: {length[:40]!r}"
    return headers


def _skip_blank(stream: Stream) -> bool:
    """Pass over line endings; False at the end of the file."""
    while (head := stream.peek(4096)) and not (rest := head.lstrip(b"\r\n")):
        stream.skip(len(head))
    if head:
        stream.skip(len(head) - len(rest))
    return bool(head)


def _skip_to_header(stream: Stream) -> int:
    skipped = 0
    while True:
        skipped += stream.skip_to(b"WARC/")
        if not stream.ensure(1) or _VERSION.match(stream.peek(20).partition(b"\n")[0]):
            return skipped
        skipped += stream.skip(1)


def _cut(stream: Stream, position: int) -> DamagedFile:
    """Why the stream ends here; `position` is where what was not used begins."""
    damage = stream.damage or DamagedFile("truncated", "the file stops inside a record", None)
    return DamagedFile(damage.reason, damage.detail, damage.unread_bytes, position)


def _arc_records(stream: Stream) -> Iterator[Record | Gap]:
    while _skip_blank(stream):
        start = stream.position
        position, headers = _next_arc_header(stream)
        if position > start:
            yield Gap(start, position - start, "not an ARC header")
        if headers is not None:
            record = Record(position, "arc", headers, int(headers["content-length"]), stream)
            end = stream.position + record.length
            yield record
            _skip_block(record, end)


def _next_arc_header(stream: Stream) -> tuple[int, dict[str, str] | None]:
    """Where the next line that is a header starts, and its fields; the end of the file and None without
    one."""
    while _skip_blank(stream):
        position = stream.position
        end = stream.find(b"\n", _MAX_LINE_BYTES)
        line = stream.take(_MAX_LINE_BYTES if end is None else end + 1)
        if headers := _arc_header(line.rstrip(b"\r\n").decode("utf-8", "replace")):
            return position, headers
    return stream.position, None


def _arc_header(line: str) -> dict[str, str] | None:
    """The fields of a header by the names that WARC has for them; None for another line.

    URL, address, date, media type, length; version 2 has five more before the length. A URL may hold spaces.
    """
    fields = line.split(" ")
    for count in (5, 10):
        if len(fields) >= count:
            date, media_type, length = fields[2 - count], fields[3 - count], fields[-1]
            if _ARC_DATE.fullmatch(date) and length.isascii() and length.isdigit():
                return {
                    "warc-target-uri": " ".join(fields[: 1 - count]),
                    "warc-date": _iso_date(date),
                    "content-type": media_type,
                    "content-length": length,
                }
    return None


def _iso_date(digits: str) -> str:
    """20140216050221 as WARC writes it; what is shorter stays."""
    if len(digits) < 14:
        return digits
    parts = [digits[at : at + 2] for at in range(4, 14, 2)]
    return f"{digits[:4]}-{parts[0]}-{parts[1]}T{parts[2]}:{parts[3]}:{parts[4]}Z"
