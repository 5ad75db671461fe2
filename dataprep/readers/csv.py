"""CSV as RFC 4180 has it: a header, commas, quoted fields that may hold newlines and doubled quotes.

The columns are found by name in the header. A row with too many or too few fields or wrong quoting is bad
(`malformed_row`), as is one that is not UTF-8 in any field (`invalid_utf8`; where the recipe names another
encoding, `invalid_encoding`) or whose text is longer than
`max_document_bytes` (`too_long`, without being held). Empty text and empty ids are values, not nulls; blank
lines are no rows. A byte order mark is dropped; UTF-16 and a header that cannot be parsed are Damage; a file
without a wanted column is the user's to mend (UserError). "\\r" alone ends no row.

`position` counts rows from 0 after the header, bad ones too; `line` is where a row starts.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from dataclasses import dataclass

from dataprep.readers.decompress import UTF8_MARK, UTF16_REFUSAL, DamagedFile, is_utf16
from dataprep.readers.extents import Cut, Extent, Split, whole_file
from dataprep.readers.fields import Field, template_of, wanted
from dataprep.readers.lines import LongLine, read_lines
from dataprep.readers.listing import InputFile
from dataprep.readers.records import (
    BadDocument,
    BadRecord,
    Chunk,
    ChunkBuilder,
    Damage,
    ReadOptions,
    in_encoding,
)
from manifests.errors import UserError

VERSION = 1
Fields = list[str]


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """The rows of all extents in order."""
    builder = ChunkBuilder(options)
    for index, extent in enumerate(split.extents):
        num_rows = 0
        try:
            lines = _Lines(extent, options)
            columns = _columns(lines, extent.file, options)
            for line, fields in _rows(lines, options.max_document_bytes):
                try:
                    text, own_id, carried = _pick(fields, columns, options.max_document_bytes)
                except BadDocument as error:
                    bad = in_encoding(error, options.encoding)
                    builder.refuse(BadRecord(index, num_rows, line, bad.reason, bad.detail))
                else:
                    builder.add_one(index, text, own_id, num_rows, carried)
                num_rows += 1
                if builder.is_full:
                    yield builder.take()
        except DamagedFile as error:
            builder.damaged(Damage(index, num_rows, error.unread_bytes, error.reason, error.detail))
    if not builder.is_empty:
        yield builder.take()


def cut(file: InputFile, options: ReadOptions, split_bytes: int) -> list[Cut]:
    """The whole file: inside a quoted field a newline ends no row, and nothing but reading from the start of
    the file tells where that is. The header is read to refuse a file without the columns before work
    starts."""
    whole = whole_file(file)
    with contextlib.suppress(DamagedFile):  # `read` reports it
        _columns(_Lines(whole.extent, options), file, options)
    return [whole]


@dataclass(frozen=True, slots=True)
class _Columns:
    """How many columns there are, and which of them are wanted.

    text  of a document: literal text and columns, in order
    """

    count: int
    text: tuple[str | int, ...]
    id: int | None
    carry: tuple[int, ...]


def _columns(lines: _Lines, file: InputFile, options: ReadOptions) -> _Columns:
    """Where the header says that the wanted fields are. An empty file has no rows, so any columns."""
    header = next((fields for _, fields in _rows(lines, options.max_document_bytes)), None)
    if header is None:
        return _Columns(0, (), None, ())
    if isinstance(header, BadDocument):
        raise DamagedFile("bad_header", header.detail, file.size_bytes)
    if not _is_utf8(header):
        raise DamagedFile("bad_header", f"bytes that are not {options.encoding}", file.size_bytes)
    for each in wanted(options):
        count = header.count(each.path)
        if count > 1 or (count == 0 and not each.optional):
            hint = f"say {each.key}: with one of its columns: {', '.join(header)}"
            how_many = "more than one" if count else "no"
            raise UserError(f"{how_many} column {each.path!r}", where=file.path, hint=hint)
    text = [_place(part, header) for part in template_of(options.text)]
    own_id = None if options.id is None else header.index(options.id)
    return _Columns(len(header), tuple(text), own_id, tuple(map(header.index, options.carry)))


def _place(part: str | Field, header: Fields) -> str | int:
    """Literal text as it is, of a field its column; an optional one that is not there is empty text."""
    if isinstance(part, str):
        return part
    return header.index(part.path) if part.path in header else ""


def _rows(lines: _Lines, max_bytes: int) -> Iterator[tuple[int, Fields | BadDocument]]:
    """First line and fields of each row, or why it has none; blank lines are left out.

    After an error the parser starts afresh on the next line.
    """
    csv.field_size_limit(max_bytes)  # of the whole process, and 128 KiB by default
    rows = csv.reader(lines, strict=True)
    while True:
        line = lines.number + 1
        try:
            fields = next(rows)
        except StopIteration:
            return
        except BadDocument as error:
            yield line, error
        except csv.Error as error:
            too_long = "field limit" in str(error)
            yield line, BadDocument("too_long" if too_long else "malformed_row", str(error))
        else:
            if fields:
                yield line, fields


def _pick(
    fields: Fields | BadDocument, columns: _Columns, max_bytes: int
) -> tuple[str, str | None, list[str]]:
    """Text, id and carried fields of a row."""
    if isinstance(fields, BadDocument):
        raise fields
    if len(fields) != columns.count:
        raise BadDocument("malformed_row", f"{len(fields)} fields where the header has {columns.count}")
    if not _is_utf8(fields):
        raise BadDocument("invalid_utf8", "bytes that are not UTF-8")
    text = "".join([part if isinstance(part, str) else fields[part] for part in columns.text])
    if len(text.encode()) > max_bytes:
        raise BadDocument("too_long", f"more than {max_bytes} bytes")
    own_id = None if columns.id is None else fields[columns.id]
    return text, own_id, [fields[at] for at in columns.carry]


def _is_utf8(fields: Fields) -> bool:
    """Whether no field holds the lone surrogates that `_Lines` puts for other bytes."""
    try:
        "".join(fields).encode()
    except UnicodeEncodeError:
        return False
    return True


class _Lines:
    """The lines of a file as the csv module wants them: text with newlines, `number` counting those given.

    Bytes that are not UTF-8 come as lone surrogates, which no UTF-8 gives. A line that is too long raises
    BadDocument in its place; reading may go on after it.
    """

    def __init__(self, extent: Extent, options: ReadOptions) -> None:
        self.number = 0
        self._blocks = read_lines(extent, options.max_document_bytes, encoding=options.encoding)
        self._lines: list[str] = []
        self._next = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if self._next == len(self._lines):
            block = next(self._blocks)
            if isinstance(block, LongLine):
                self.number += 1
                raise BadDocument("too_long", "a line of more than max_document_bytes")
            data = bytes(block.data)
            if block.offset == 0:
                if is_utf16(data):
                    raise DamagedFile("not_utf8", UTF16_REFUSAL, None)
                data = data.removeprefix(UTF8_MARK)
            self._lines = data.decode(errors="surrogateescape").split("\n")
            if not self._lines[-1]:
                self._lines.pop()  # what follows the last newline
            self._next = 0
            if not self._lines:
                return next(self)
        line = self._lines[self._next]
        self._next += 1
        self.number += 1
        return line + "\n"
