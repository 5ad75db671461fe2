"""Arrow arrays <-> `Texts`: the only file that knows both worlds.

`Texts` itself is in `dataprep.kernels.texts` (kernels know no Arrow) and is re-exported here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.kernels.texts import Texts, concat, offsets_of

__all__ = ["Texts", "concat", "offsets_of", "texts_from_arrow", "texts_to_arrow"]


def texts_from_arrow(column: pa.Array | pa.ChunkedArray) -> Texts:
    """Texts over the memory of a string, large_string, binary or large_binary column.

    No bytes of text are copied for an Array (a slice included), 32-bit offsets are widened; the parts of a
    ChunkedArray of more than one chunk are joined. A null raises ValueError: readers leave none in a text
    column.
    """
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return texts_from_arrow(column.chunk(0))
        return concat([texts_from_arrow(chunk) for chunk in column.chunks])
    if column.null_count:
        raise ValueError(f"{column.null_count} null texts in a column of {len(column)}")
    if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type):
        offset_type: np.dtype[Any] = np.dtype(np.int64)
    elif pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        offset_type = np.dtype(np.int32)
    else:
        raise TypeError(f"texts come from string or binary columns, not from {column.type}")
    if len(column) == 0:  # an empty array may lack its offsets buffer
        return concat([])
    _, offsets_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(
        offsets_buffer, dtype=offset_type, count=len(column) + 1, offset=column.offset * offset_type.itemsize
    ).astype(np.int64, copy=False)
    data = (
        np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer is not None else np.zeros(0, dtype=np.uint8)
    )
    return Texts(data, offsets)


def texts_to_arrow(texts: Texts) -> pa.LargeStringArray:
    """A large_string array over the same memory. UTF-8 is trusted, not checked."""
    offsets = np.ascontiguousarray(texts.offsets)
    return pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(texts.data))
