"""Column files: the signals of one split (or of all documents) as one uncompressed Arrow IPC file.

Columns are numpy arrays of one value a document: integers, booleans, or uint64[n, 2] for 128-bit hashes,
which are stored as 16 big-endian bytes so that byte order is numeric order; or [n, k] of another type for k
values a document (signatures). String columns go in and come out as Arrow arrays. Reading maps the file; a
slice reads only what it touches.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.arrayfile import room_for

Column: TypeAlias = Any
"""A numpy array of one value a document, or an Arrow string array."""

HASH = pa.binary(16)


def hashes_to_arrow(hashes: npt.NDArray[np.uint64]) -> pa.FixedSizeBinaryArray:
    """uint64[n, 2] (high, low) -> n values of 16 big-endian bytes."""
    data = np.ascontiguousarray(hashes).astype(">u8").tobytes()
    return pa.FixedSizeBinaryArray.from_buffers(HASH, len(hashes), [None, pa.py_buffer(data)])


def hashes_from_arrow(column: pa.FixedSizeBinaryArray) -> npt.NDArray[np.uint64]:
    """The inverse of `hashes_to_arrow`."""
    raw = np.frombuffer(column.buffers()[1], dtype=">u8", count=2 * len(column), offset=16 * column.offset)
    return raw.astype(np.uint64).reshape(-1, 2)


def write_columns(path: Path, columns: Mapping[str, Column]) -> None:
    """Write equally long columns. The bytes depend on the columns alone."""
    arrays = {name: _to_arrow(column) for name, column in columns.items()}
    table = pa.table(arrays).combine_chunks()
    with (
        room_for(table.nbytes),
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)


class ColumnWriter:
    """Writes a column file a part at a time; every part has the same columns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stack = ExitStack()
        self._writer: pa.ipc.RecordBatchFileWriter | None = None

    def __enter__(self) -> ColumnWriter:
        self._sink = self._stack.enter_context(pa.OSFile(str(self._path), "wb"))
        return self

    def write(self, columns: Mapping[str, Column]) -> None:
        batch = pa.RecordBatch.from_pydict({name: _to_arrow(column) for name, column in columns.items()})
        if self._writer is None:
            self._writer = self._stack.enter_context(pa.ipc.new_file(self._sink, batch.schema))
        with room_for(batch.nbytes):
            self._writer.write_batch(batch)

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)


def read_columns(path: Path, start: int = 0, count: int | None = None) -> dict[str, Column]:
    """Return the columns, or `count` rows of them from row `start`."""
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    if start or count is not None:
        table = table.slice(start, count)
    return {name: _from_arrow(table.column(name)) for name in table.column_names}


def _to_arrow(column: Column) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    if column.ndim == 2 and column.dtype == np.uint64 and column.shape[1] == 2:
        return hashes_to_arrow(column)
    if column.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(column.reshape(-1)), column.shape[1])
    return pa.array(column)


def _from_arrow(chunked: pa.ChunkedArray) -> Column:
    if chunked.num_chunks == 0:
        column = pa.array([], chunked.type)
    else:
        column = chunked.combine_chunks() if chunked.num_chunks != 1 else chunked.chunk(0)
    if column.type == HASH:
        return hashes_from_arrow(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column
    if pa.types.is_fixed_size_list(column.type):
        width = column.type.list_size
        return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    return column.to_numpy(zero_copy_only=False)
