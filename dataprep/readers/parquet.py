"""Parquet: row groups are the extents, a row is a record, `position` is its number in the file.

The text column is a string or binary column (dictionary-encoded or not) of the top level; the id column that,
or one of integers. Null text is bad (`missing_text`), as are bytes that are not UTF-8 (`invalid_utf8`; for an
id, `bad_id`) and text of more than `max_document_bytes` (`too_long`). Parquet's string type promises UTF-8,
but nothing enforces it, so it is checked. A file that lacks a column is the user's to mend (UserError with
the columns that it has); a file whose footer or pages cannot be read is Damage, and the row batches before it
are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.readers.extents import Cut, Extent, Split
from dataprep.readers.listing import InputFile
from dataprep.readers.records import (
    CHUNK_TEXT_BYTES,
    MISSING_TEXT,
    RECORD_SCHEMA,
    BadRecord,
    Chunk,
    Damage,
    ReadOptions,
)
from manifests.errors import UserError

VERSION = 1
MAX_BATCH_ROWS = 1 << 16


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """The rows of all extents in order."""
    for index, extent in enumerate(split.extents):
        row = 0  # in the file, of what is read next
        try:
            with pq.ParquetFile(extent.file.path, buffer_size=1 << 20, pre_buffer=False) as file:
                _check_columns(extent.file, file.schema_arrow, options)
                row = sum(file.metadata.row_group(group).num_rows for group in range(extent.start))
                for batch in _batches(file, extent, options):
                    yield _chunk(index, row, batch, options)
                    row += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the machine; Arrow's own have no number
            unread_bytes = extent.file.size_bytes if row == 0 else None
            yield Chunk(
                _no_records(), damage=(Damage(index, row, unread_bytes, "corrupt", _first_line(error)),)
            )


def cut(file: InputFile, options: ReadOptions, split_bytes: int) -> list[Cut]:
    """Runs of row groups that hold about `split_bytes`, all columns uncompressed."""
    try:
        metadata = pq.read_metadata(file.path)
    except (pa.ArrowException, OSError):
        return [Cut(Extent(file, 0, 0, "row_groups"), file.size_bytes)]  # `read` says what is wrong with it
    _check_columns(file, metadata.schema.to_arrow_schema(), options)
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


def _check_columns(file: InputFile, schema: pa.Schema, options: ReadOptions) -> None:
    for name, wanted in ((options.text, "text"), (options.id, "id")):
        if name is None:
            continue
        if schema.names.count(name) != 1:
            how_many = "no" if name not in schema.names else "more than one"
            hint = f"say {wanted}: with one of its columns: {', '.join(schema.names)}"
            raise UserError(f"{how_many} column {name!r}", where=file.path, hint=hint)
        type_ = schema.field(name).type
        value_type = type_.value_type if pa.types.is_dictionary(type_) else type_
        if not (_is_text(value_type) or (wanted == "id" and pa.types.is_integer(value_type))):
            kinds = "strings or binary" if wanted == "text" else "strings, binary or integers"
            raise UserError(f"column {name!r} holds {type_}; {wanted} must be {kinds}", where=file.path)


def _is_text(type_: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(is_kind(type_) for is_kind in kinds)


def _batches(file: pq.ParquetFile, extent: Extent, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    names = [options.text] if options.id is None else [options.text, options.id]
    # The leaf of that name at the top level: a nested field may be called the same.
    paths = [file.metadata.schema.column(at).path for at in range(file.metadata.num_columns)]
    at = paths.index(options.text)
    for group in range(extent.start, extent.end):
        row_group = file.metadata.row_group(group)
        text_bytes = max(row_group.column(at).total_uncompressed_size, 1)
        rows = min(max(row_group.num_rows * CHUNK_TEXT_BYTES // text_bytes, 1), MAX_BATCH_ROWS)
        yield from file.iter_batches(rows, row_groups=[group], columns=names, use_threads=False)


def _chunk(extent: int, first_row: int, batch: pa.RecordBatch, options: ReadOptions) -> Chunk:
    bad: dict[int, tuple[str, str]] = {}
    text = _utf8(batch.column(options.text), "invalid_utf8", bad)
    ids = pa.nulls(batch.num_rows, pa.large_string())
    if options.id is not None:
        ids = _utf8(batch.column(options.id), "bad_id", bad)
    long = pc.greater(pc.binary_length(text), options.max_document_bytes).fill_null(False)
    bad |= dict.fromkeys(_rows(long), ("too_long", f"more than {options.max_document_bytes} bytes"))
    bad |= {row: MISSING_TEXT for row in _rows(text.is_null()) if row not in bad}
    rows = np.delete(np.arange(batch.num_rows), list(bad)) if bad else np.arange(batch.num_rows)
    if bad:
        text, ids = text.take(pa.array(rows)), ids.take(pa.array(rows))
    extents = pa.array(np.full(rows.size, extent, dtype=np.int32))
    columns = [ids.cast(pa.string()), text, extents, pa.array(rows + first_row)]
    records = pa.RecordBatch.from_arrays(columns, schema=RECORD_SCHEMA)
    return Chunk(records, tuple(BadRecord(extent, first_row + row, None, *bad[row]) for row in sorted(bad)))


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


def _no_records() -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=RECORD_SCHEMA)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:200]
