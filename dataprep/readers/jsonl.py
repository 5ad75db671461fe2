r"""JSON lines: one object a line, one document an object. Where this file is strict, lenient or silent:

- Only "\n" ends a line; a "\r" before it is white space, so CRLF files read as they should and a file with
  "\r" alone (old Mac) is one bad line. U+2028 and other separators are ordinary characters. A last line needs
  no newline.
- A UTF-8 byte order mark at the start of a file is dropped. UTF-16 and UTF-32 (by their marks) and files that
  hold one JSON array over several lines (a first line of just "[") are refused as a whole: Damage, not a
  flood of bad lines.
- Blank lines (spaces, tabs, CR) are no records. Any other line that is not one JSON object is bad: `not_json`
  (several objects on a line, NaN, raw control characters, a cut last line ...) or `not_object`.
- The line must be UTF-8 as a whole (`invalid_utf8`; where the recipe names another encoding, that:
  `invalid_encoding`) and no string in it may hold an escaped lone surrogate (`lone_surrogate`): nothing is
  repaired silently. An escaped NUL is text (the step `normalize` strips it).
- Text that is missing or null is bad (`missing_text`), as is any other type (`text_not_string`). Empty text
  is a good record; a rule may drop it.
- An id may be missing or null. A string stays as it is, a number becomes its JSON text; anything else is bad
  (`bad_id`). Ids need not be unique. Of a key given twice the last counts.
- A carried field may hold anything. A string stays as it is, null stays null, all else becomes its JSON text
  without white space between its parts.
- A line of more than `max_document_bytes` (its JSON, newline excluded) is bad (`too_long`) and never held in
  memory. A line nested deeper than 200 is bad (`too_deep`): a limit of our own, because the parser's depends
  on how deep the calling program's stack happens to be.

`position` is the byte offset of the line (after a byte order mark) in the decompressed file, in another
encoding than UTF-8 in what it is in UTF-8; line numbers of bad records are known where reading began at byte
0. A damaged file keeps the lines that are whole before the damage.

How a block of lines is parsed, by a fast route or a slow one, is in `dataprep.readers.json_fields`; what may
stand for a field in a recipe is in `dataprep.readers.fields`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.columns import texts_from_arrow, texts_to_arrow
from dataprep.kernels.framing import line_bounds, strip_lines
from dataprep.kernels.texts import Offsets, Texts, offsets_of
from dataprep.kernels.unescape import NULL, NUMBER, OTHER, STRING, Kinds, unescape
from dataprep.readers.decompress import (
    UTF8_MARK,
    UTF16_REFUSAL,
    DamagedFile,
    compression,
    is_utf16,
    read_range,
)
from dataprep.readers.encodings import UTF8
from dataprep.readers.extents import Cut, Extent, Split, whole_file
from dataprep.readers.fields import Field, Template, fields_in, filled, template_of, wanted
from dataprep.readers.json_fields import MAX_DEPTH, Layout, Row, check_keys, parse_line, parse_together
from dataprep.readers.lines import LineBlock, LongLine, read_lines
from dataprep.readers.listing import InputFile
from dataprep.readers.records import (
    MISSING_TEXT,
    BadDocument,
    BadRecord,
    Chunk,
    ChunkBuilder,
    Damage,
    ReadOptions,
    in_encoding,
)

VERSION = 1
_HEAD_BYTES = 64


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """The records of all extents in order; see the module's docstring for what is good and what is bad."""
    layout = Layout(each.path for each in wanted(options))
    builder = ChunkBuilder(options)
    for index, extent in enumerate(split.extents):
        head = b"" if extent.is_whole else b"".join(read_range(extent.file, 0, _HEAD_BYTES))
        if extent.start > 0 and _refusal(head):
            continue  # the range that holds byte 0 reports it
        line: int | None = 1 if extent.start == 0 else None
        try:
            for block in read_lines(extent, options.max_document_bytes, encoding=options.encoding):
                if isinstance(block, LongLine):
                    detail = f"more than {options.max_document_bytes} bytes"
                    builder.refuse(BadRecord(index, block.offset, line, "too_long", detail))
                    num_lines = 1
                else:
                    # The head of what is decompressed; of a range of a plain file, more than its first line.
                    head = head or bytes(block.data[:_HEAD_BYTES])
                    if block.offset == 0 and (refusal := _refusal(head)):
                        raise DamagedFile(*refusal, unread_bytes=extent.file.size_bytes)
                    num_lines = _add_block(builder, index, block, line, layout, options)
                line = None if line is None else line + num_lines
                if builder.is_full:
                    yield builder.take()
        except DamagedFile as error:
            builder.damaged(Damage(index, error.position, error.unread_bytes, error.reason, error.detail))
    if not builder.is_empty:
        yield builder.take()


def cut(file: InputFile, options: ReadOptions, split_bytes: int) -> list[Cut]:
    """Byte ranges of a large plain file; a small one, a compressed one, or one in another encoding than UTF-8
    whole."""
    check_keys(each.path for each in wanted(options))
    if file.size_bytes <= split_bytes or options.encoding != UTF8 or compression(file) != "plain":
        return [whole_file(file)]
    bounds = [*range(0, file.size_bytes, split_bytes), file.size_bytes]
    return [Cut(Extent(file, start, end), end - start) for start, end in itertools.pairwise(bounds)]


def _refusal(head: bytes) -> tuple[str, str] | None:
    """Reason and detail where the first bytes of a decompressed file show that it is no JSON lines in
    UTF-8."""
    if is_utf16(head):
        return "not_utf8", UTF16_REFUSAL
    if re.match(rb"(\xef\xbb\xbf)?[ \t\r\n]*\[[ \t\r]*\n", head):
        return "json_array", "one JSON array over several lines, not JSON lines; write one object a line"
    return None


def _add_block(
    builder: ChunkBuilder,
    extent: int,
    block: LineBlock,
    line: int | None,
    layout: Layout,
    options: ReadOptions,
) -> int:
    """Put the lines of a block into `builder`; returns their number. `line` is the number of the first."""
    starts, lines, parsed = _parse(block, layout, options.max_document_bytes)
    problems = {
        at: in_encoding(row, options.encoding)
        for at, row in enumerate(parsed)
        if isinstance(row, BadDocument)
    }
    rows: list[Row] = [row for row in parsed if not isinstance(row, BadDocument)]
    places = np.delete(np.arange(lines.size), list(problems))  # rows[i] stands in line lines[places[i]]

    columns = layout.columns(rows)
    texts, faults = _texts(columns, template_of(options.text), options.max_document_bytes)
    ids = None
    if options.id is not None:
        id_texts, id_kinds = _values(columns[options.id])
        ids = _nullable(id_texts, id_kinds == NULL)
        for at in np.flatnonzero(id_kinds == OTHER).tolist():
            faults.setdefault(at, BadDocument("bad_id", f"the id is {_json_type(columns[options.id][at])}"))
    carried = []
    for path in options.carry:
        values, kinds = _values(columns[path], keep_other=True)
        carried.append(_nullable(values, kinds == NULL))
    if faults:
        problems |= {int(places[at]): fault for at, fault in faults.items()}
        good = np.ones(len(rows), dtype=bool)
        good[list(faults)] = False
        texts, places = texts.take(good), places[good]
        ids = None if ids is None else ids.filter(pa.array(good))
        carried = [column.filter(pa.array(good)) for column in carried]

    for at in sorted(problems):
        number = None if line is None else line + int(lines[at])
        position = block.offset + int(starts[lines[at]])
        builder.refuse(BadRecord(extent, position, number, problems[at].reason, problems[at].detail))
    builder.add(extent, texts, ids, block.offset + starts[lines[places]], len(block.data), carried)
    return int(starts.size)


def _texts(
    columns: Mapping[str, list[msgspec.Raw]], template: Template, max_bytes: int
) -> tuple[Texts, dict[int, BadDocument]]:
    """The texts [n] of n rows; and row -> why it has none, where it has none."""
    values = {field.path: _values(columns[field.path]) for field in fields_in(template)}
    faults: dict[int, BadDocument] = {}
    for field in fields_in(template):
        kinds = values[field.path][1]
        good = kinds == STRING
        if field.of_numbers:
            good |= kinds == NUMBER
        if field.optional:
            good |= kinds == NULL
        for at in np.flatnonzero(~good).tolist():
            faults.setdefault(at, _fault(field, columns[field.path][at], kinds[at]))
    if len(template) == 1:
        return values[fields_in(template)[0].path][0], faults
    texts = texts_from_arrow(
        filled(template, {path: texts_to_arrow(each) for path, (each, _) in values.items()})
    )
    for at in np.flatnonzero(texts.lengths > max_bytes).tolist():
        faults.setdefault(at, BadDocument("too_long", f"more than {max_bytes} bytes"))
    return texts, faults


def _parse(
    block: LineBlock, layout: Layout, max_line_bytes: int
) -> tuple[Offsets, Offsets, Sequence[Row | BadDocument]]:
    """Where each line of a block starts, which lines are not blank, and what each of these holds."""
    data = np.frombuffer(block.data, dtype=np.uint8)
    starts, ends = line_bounds(data)
    too_long = ends - starts > max_line_bytes
    if block.offset == 0 and block.data[:3] == UTF8_MARK:
        starts[0] = 3
    inner_starts, inner_ends, plain = strip_lines(data, starts, ends, MAX_DEPTH)
    lines = np.flatnonzero((inner_starts < inner_ends) | too_long)
    parsed: Sequence[Row | BadDocument] | None = None
    if plain and not too_long.any():
        parsed = parse_together(memoryview(block.data)[int(starts[:1].sum()) :], lines.size, layout)
    if parsed is None:
        parsed = [
            BadDocument("too_long", f"more than {max_line_bytes} bytes")
            if too_long[line]
            else parse_line(bytes(block.data[inner_starts[line] : inner_ends[line]]), layout)
            for line in lines.tolist()
        ]
    return starts, lines, parsed


def _values(raws: list[msgspec.Raw], keep_other: bool = False) -> tuple[Texts, Kinds]:
    lengths = np.fromiter(map(len, raws), dtype=np.int64, count=len(raws))
    joined = np.frombuffer(b"".join(raws), dtype=np.uint8)
    return unescape(Texts(joined, offsets_of(lengths)), keep_other)


def _nullable(texts: Texts, is_null: npt.NDArray[np.bool_]) -> pa.StringArray:
    validity = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    offsets = pa.py_buffer(texts.offsets.astype(np.int32))
    return pa.StringArray.from_buffers(len(texts), offsets, pa.py_buffer(texts.data), validity)


def _fault(field: Field, value: msgspec.Raw, kind: int) -> BadDocument:
    """Why a value is no text."""
    if kind == NULL:
        reason, detail = MISSING_TEXT
        return BadDocument(reason, f"{field.path} is missing or null" if field.of_numbers else detail)
    what = field.path if field.of_numbers else "text"
    return BadDocument("text_not_string", f"{what} is {_json_type(value)}")


def _json_type(value: msgspec.Raw) -> str:
    names = {b"{": "an object", b"[": "an array", b"t": "true", b"f": "false"}
    return names.get(bytes(value)[:1], "a number")
