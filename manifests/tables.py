"""Parquet files of the contract: how any of them is written, and the document table beside each shard.

The document table says where every document of a shard came from and where its tokens are, in the order of
the shard. Written whole or not at all, without times or paths of the machine, so that the same rows give the
same bytes under the same pyarrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from manifests.errors import UserError
from manifests.files import write_atomic

if TYPE_CHECKING:
    import pyarrow as pa

StrPath = str | PathLike[str]

ROWS_PER_GROUP = 1 << 16
"""Rows of a Parquet row group: a constant of the format, never of the machine."""


class TableError(UserError):
    """A side file that is missing, damaged, or has other columns than it should."""


def document_schema() -> pa.Schema:
    """Return the columns of `<shard>.documents.parquet`, one row a document, in the order of the shard.

    id            the document's own id; null where its source has none; need not be unique
    source        name of the source
    path          name of the input file, relative to its source's base
    position      byte offset in the decompressed file, or row number
    key           shuffle key, 16 bytes, ascending through the shards of a source's subset
    content_hash  128-bit hash of the text that was tokenized
    token_start   first token in the shard
    tokens        number of tokens, end-of-text token included
    text_bytes    UTF-8 bytes of the text that was tokenized
    fields        what the source carries of its records, by name; null where that is nothing, and in tables
                  that were written before there was this column
    cluster_size  documents that this one stands for, itself included, after deduplication; 0 where that is
                  not known, and in tables that were written before there was this column
    """
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string()),
            pa.field("source", pa.string(), nullable=False),
            pa.field("path", pa.string(), nullable=False),
            pa.field("position", pa.int64(), nullable=False),
            pa.field("key", pa.binary(16), nullable=False),
            pa.field("content_hash", pa.binary(16), nullable=False),
            pa.field("token_start", pa.int64(), nullable=False),
            pa.field("tokens", pa.int32(), nullable=False),
            pa.field("text_bytes", pa.int64(), nullable=False),
            pa.field("fields", pa.map_(pa.string(), pa.string())),
            pa.field("cluster_size", pa.int64(), nullable=False),
        ]
    )


def write_document_table(path: StrPath, table: pa.Table) -> None:
    """Write a document table. Raises TableError unless it has exactly the columns of `document_schema`."""
    write_table(path, table, document_schema())


def read_document_table(path: StrPath, columns: list[str] | None = None) -> pa.Table:
    """Read a document table, or some of its columns. Raises TableError."""
    return read_table(path, document_schema(), columns, later={"fields": None, "cluster_size": 0})


def write_table(path: StrPath, table: pa.Table, schema: pa.Schema) -> None:
    """Write a table as Parquet, atomically. Raises TableError when its columns are not those of `schema`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    problem = _schema_problem(table.schema, schema, schema.names)
    if problem:
        raise TableError(f"this table has the wrong columns: {problem}", where=str(path))
    sink = pa.BufferOutputStream()
    # Neither chunks nor metadata of the caller's table show in the bytes; a test watches that.
    pq.write_table(
        table.cast(schema), sink, row_group_size=ROWS_PER_GROUP, compression="zstd", store_schema=False
    )
    write_atomic(path, memoryview(sink.getvalue()))


def read_table(
    path: StrPath,
    schema: pa.Schema,
    columns: list[str] | None = None,
    later: Mapping[str, int | None] | None = None,
) -> pa.Table:
    """Read a Parquet file, or some of its columns. Raises TableError for anything but a sound file.

    later  columns that may be missing, since older files have none, and what every row of them then holds
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = schema.names if columns is None else columns
    fill = {} if later is None else later
    try:
        # Opened by hand: pyarrow takes a string for a URL or a folder of files where it can.
        with open(path, "rb") as stream:
            file = pq.ParquetFile(stream, pre_buffer=False)
            absent = [name for name in fill if name not in file.schema_arrow.names]
            there = [name for name in names if name not in absent]
            wanted = pa.schema([field for field in schema if field.name not in absent])
            problem = _schema_problem(file.schema_arrow, wanted, there)
            # In this thread, so no pre_buffer: one of pyarrow may outlive a short command, and aborts it.
            table = None if problem else file.read(columns=there, use_threads=False)
    except FileNotFoundError:
        raise TableError("the file is missing", where=str(path)) from None
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"the file cannot be read as Parquet: {error}", where=str(path)) from error
    if table is None:
        raise TableError(f"the file has the wrong columns: {problem}", where=str(path))
    for name in absent:
        value = pa.scalar(fill[name], schema.field(name).type)
        table = table.append_column(schema.field(name), pa.repeat(value, table.num_rows))
    return table.select(names)


def first_key(path: StrPath) -> tuple[str, int]:
    """Return the first key of a document table as hex ("" when it has no rows), and its number of rows.

    Reads the footer and the keys of one row group. Raises TableError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open(Path(path), "rb") as stream:
            file = pq.ParquetFile(stream, pre_buffer=False)
            num_rows: int = file.metadata.num_rows
            if num_rows == 0:
                return "", 0
            key: bytes = file.read_row_group(0, columns=["key"], use_threads=False).column("key")[0].as_py()
            return key.hex(), num_rows
    except FileNotFoundError:
        raise TableError("the file is missing", where=str(path)) from None
    except (pa.ArrowException, OSError, KeyError) as error:
        raise TableError(f"the file cannot be read as Parquet: {error}", where=str(path)) from error


def _schema_problem(found: pa.Schema, wanted: pa.Schema, names: list[str]) -> str:
    """What is wrong with the columns `names`, or "". Whether a column may be null is not compared."""
    if names == wanted.names and found.names != wanted.names:
        return f"{', '.join(found.names)}; wanted are {', '.join(wanted.names)}"
    for name in names:
        if name not in found.names:
            return f"{name} is missing; there are {', '.join(found.names)}"
        if found.field(name).type != wanted.field(name).type:
            return f"{name} is {found.field(name).type}, and should be {wanted.field(name).type}"
    return ""
