"""Parquet: row groups are the extents, a row is a record, `position` is its number in the file.

The text column is a string or binary column (dictionary-encoded or not), also inside structs; the id column
that, or one of integers. Null text is bad (`missing_text`), as are bytes that are not UTF-8 (`invalid_utf8`;
for an id, `bad_id`) and text of more than `max_document_bytes` (`too_long`). Parquet's string type promises
UTF-8, but nothing enforces it, so it is checked. A carried column may be of any type; what its values become
is in `dataprep.readers.values`. A file that lacks a column is the user's to mend (UserError with the columns
that it has); a file whose footer or pages cannot be read is Damage, and the row batches before it are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.readers.extents import Cut, Extent, Split
from dataprep.readers.fields import fields_in, filled, template_of, wanted
from dataprep.readers.listing import InputFile
from dataprep.readers.records import (
    CHUNK_TEXT_BYTES,
    MISSING_TEXT,
    BadRecord,
    Chunk,
    Damage,
    ReadOptions,
    empty_chunk,
    record_schema,
)
from dataprep.readers.values import as_text, is_text
from manifests.errors import UserError

VERSION = 1
MAX_BATCH_ROWS = 1 << 16


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """The rows of all extents in order."""
    for index, extent in enumerate(split.extents):
        row = 0  # in the file, of what is read next
        try:
            with pq.ParquetFile(extent.file.path, buffer_size=1 << 20, pre_buffer=False) as file:
                places = _find_columns(extent.file, file.schema_arrow, options)
                row = sum(file.metadata.row_group(group).num_rows for group in range(extent.start))
                for batch in _batches(file, extent, places, options):
                    columns = {path: _column(batch, names) for path, names in places.items()}
                    yield _chunk(index, row, batch.num_rows, columns, options)
                    row += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the machine; Arrow's own have no number
            unread_bytes = extent.file.size_bytes if row == 0 else None
            damage = Damage(index, row, unread_bytes, "corrupt", _first_line(error))
            yield Chunk(empty_chunk(options).records, damage=(damage,))


def cut(file: InputFile, options: ReadOptions, split_bytes: int) -> list[Cut]:
    """Runs of row groups that hold about `split_bytes`, all columns uncompressed."""
    try:
        metadata = pq.read_metadata(file.path)
    except (pa.ArrowException, OSError):
        return [Cut(Extent(file, 0, 0, "row_groups"), file.size_bytes)]  # `read` says what is wrong with it
    _find_columns(file, metadata.schema.to_arrow_schema(), options)
    cuts: list[Cut] = []
    start = weight_bytes = 0
    for group in range(metadata.num_row_groups):
        weight_bytes += metadata.row_group(group).total_byte_size
        if weight_bytes >= split_bytes or group == metadata.num_row_groups - 1:
            cuts.append(Cut(Extent(file, start, group + 1, "row_groups"), weight_bytes))
            start, weight_bytes = group + 1, 0
    return cuts or [Cut(Extent(file, 0, 0, "row_groups"), 0)]


def stored_ranges(extent: Extent) -> list[tuple[int, int]]:
    """Where the column chunks of an extent's row groups and the footer lie; the whole file if it has no
    footer."""
    size_bytes = extent.file.size_bytes
    try:
        metadata = pq.read_metadata(extent.file.path)
    except (pa.ArrowException, OSError):
        return [(0, size_bytes)]
    ranges = []
    for group in range(extent.start, extent.end):
        columns = [metadata.row_group(group).column(column) for column in range(metadata.num_columns)]
        for column in columns:
            start = column.data_page_offset
            if column.dictionary_page_offset is not None:
                start = min(start, column.dictionary_page_offset)
            ranges.append((start, start + column.total_compressed_size))
    return [*ranges, (size_bytes - 8 - metadata.serialized_size, size_bytes)]


Names = tuple[str, ...]
"""Where a column is: the name of one of the top level, and of fields of structs inside it."""


def _find_columns(file: InputFile, schema: pa.Schema, options: ReadOptions) -> dict[str, Names]:
    """Path -> its column, for every wanted field; an optional one that is not there is left out."""
    found: dict[str, Names] = {}
    for each in wanted(options):
        names = _find(list(schema), each.path)
        if names is None or schema.names.count(names[0]) != 1:
            if names is None and each.optional:
                continue
            how_many = "no" if names is None else "more than one"
            hint = f"say {each.key}: with one of its columns: {', '.join(schema.names)}"
            raise UserError(f"{how_many} column {each.path!r}", where=file.path, hint=hint)
        found[each.path] = names
        type_ = _type_of(schema, names)
        value_type = type_.value_type if pa.types.is_dictionary(type_) else type_
        fits = is_text(value_type) or (each.numbers_too and pa.types.is_integer(value_type))
        if each.key != "carry" and not fits:
            kinds = "strings, binary or integers" if each.numbers_too else "strings or binary"
            message = f"column {each.path!r} holds {type_}; {each.key} must be {kinds}"
            raise UserError(message, where=file.path)
    return found


def _find(fields: list[pa.Field], path: str) -> Names | None:
    """The names on the way to a path; a name that is spelled like the whole path comes first."""
    names = [field.name for field in fields]
    if path in names:
        return (path,)
    first, dot, rest = path.partition(".")
    if not dot or first not in names or not pa.types.is_struct(fields[names.index(first)].type):
        return None
    inner = _find(list(fields[names.index(first)].type), rest)
    return None if inner is None else (first, *inner)


def _type_of(schema: pa.Schema, names: Names) -> pa.DataType:
    type_ = schema.field(names[0]).type
    for name in names[1:]:
        type_ = type_.field(name).type
    return type_


def _batches(
    file: pq.ParquetFile, extent: Extent, places: Mapping[str, Names], options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    columns = [".".join(names) for names in places.values()]
    # Parquet's own paths go on inside lists and maps, so a wanted column may be several.
    paths = [file.metadata.schema.column(at).path for at in range(file.metadata.num_columns)]
    of_text = [
        ".".join(places[each.path]) for each in fields_in(template_of(options.text)) if each.path in places
    ]
    texts = [at for at, path in enumerate(paths) if path in of_text]
    for group in range(extent.start, extent.end):
        row_group = file.metadata.row_group(group)
        text_bytes = max(sum(row_group.column(at).total_uncompressed_size for at in texts), 1)
        rows = min(max(row_group.num_rows * CHUNK_TEXT_BYTES // text_bytes, 1), MAX_BATCH_ROWS)
        yield from file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False)


def _column(batch: pa.RecordBatch, names: Names) -> pa.Array:
    column = batch.column(names[0])
    return pc.struct_field(column, list(names[1:])) if len(names) > 1 else column


def _chunk(
    extent: int, first_row: int, num_rows: int, columns: Mapping[str, pa.Array], options: ReadOptions
) -> Chunk:
    bad: dict[int, tuple[str, str]] = {}
    text = _text(columns, num_rows, options, bad)
    ids = pa.nulls(num_rows, pa.large_string())
    if options.id is not None:
        ids = _utf8(columns[options.id], "bad_id", bad)
    long = pc.greater(pc.binary_length(text), options.max_document_bytes).fill_null(False)
    bad |= dict.fromkeys(_rows(long), ("too_long", f"more than {options.max_document_bytes} bytes"))
    carried = [as_text(columns[path]) for path in options.carry]
    rows = np.delete(np.arange(num_rows), list(bad)) if bad else np.arange(num_rows)
    if bad:
        text, ids, *carried = (column.take(pa.array(rows)) for column in (text, ids, *carried))
    extents = pa.array(np.full(rows.size, extent, dtype=np.int32))
    arrays = [ids.cast(pa.string()), text, extents, pa.array(rows + first_row), *carried]
    records = pa.RecordBatch.from_arrays(arrays, schema=record_schema(options))
    return Chunk(records, tuple(BadRecord(extent, first_row + row, None, *bad[row]) for row in sorted(bad)))


def _text(
    columns: Mapping[str, pa.Array], num_rows: int, options: ReadOptions, bad: dict[int, tuple[str, str]]
) -> pa.LargeStringArray:
    """The text of each row; rows that have none are put into `bad`."""
    template = template_of(options.text)
    values: dict[str, pa.LargeStringArray] = {}
    for field in fields_in(template):
        if field.path not in columns:
            values[field.path] = pa.nulls(num_rows, pa.large_string())
        elif field.path not in values:
            values[field.path] = _utf8(columns[field.path], "invalid_utf8", bad)
        if not field.optional:
            bad |= {row: MISSING_TEXT for row in _rows(values[field.path].is_null()) if row not in bad}
    return values[fields_in(template)[0].path] if len(template) == 1 else filled(template, values)


def _utf8(column: pa.Array, reason: str, bad: dict[int, tuple[str, str]]) -> pa.LargeStringArray:
    """The column as checked strings; values that are not UTF-8 become null and are put into `bad`."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type):
        return column.cast(pa.large_string())
    values = column.cast(pa.large_binary())
    try:
        return values.cast(pa.large_string())  # checks, where a cast from string would not
    except pa.ArrowInvalid:
        checked: list[bytes | None] = values.to_pylist()
    for row, value in enumerate(checked):
        try:
            if value is not None:
                value.decode()
        except UnicodeDecodeError as error:
            bad[row] = reason, f"{error.reason} at byte {error.start}"
            checked[row] = None
    return pa.array(checked, type=pa.large_binary()).cast(pa.large_string())


def _rows(mask: pa.BooleanArray) -> list[int]:
    found: npt.NDArray[np.int64] = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
    return found.tolist()


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:200]
