"""Shuffle keys: 128 bits a document, whose order is the order of runs and shards.

Keys are stored as 16 bytes, big-endian, so that the order of bytes is the order of numbers. Two documents
have the same key only if their texts are equal (and both stayed), so ties are broken by where a document
comes from:

    (subset, key, source, id with null first, path, position)

which no two documents share. Making the keys is WRITE's; a bucket is the top 16 bits, the grain of histograms
and cuts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

NUM_BUCKETS = 1 << 16

Int64s = npt.NDArray[np.int64]


def document_order(table: pa.Table) -> Int64s:
    """int64 [n]: the rows of a table with the columns of INPUT_SCHEMA in the order of runs and shards."""
    words = key_words(table.column("key").combine_chunks())
    # A null id sorts before every other, the empty one included: by whether there is one, then by which.
    columns = {name: table.column(name) for name in ("subset", "source", "path", "position")}
    columns["has_id"] = pc.is_valid(table.column("id"))
    columns["id"] = pc.fill_null(table.column("id"), "")
    keyed = pa.table({**columns, "high": pa.array(words[:, 0]), "low": pa.array(words[:, 1])})
    names = ("subset", "high", "low", "source", "has_id", "id", "path", "position")
    order = pc.sort_indices(keyed, sort_keys=[(name, "ascending") for name in names])
    return np.asarray(order).astype(np.int64)


def key_words(keys: pa.FixedSizeBinaryArray) -> npt.NDArray[np.uint64]:
    """uint64 [n, 2]: keys as numbers, high half first."""
    return _key_bytes(keys).view(">u8").astype(np.uint64)


def key_buckets(keys: pa.FixedSizeBinaryArray) -> npt.NDArray[Any]:
    """big-endian uint16 [n], a view: the bucket of each key."""
    return _key_bytes(keys).view(">u2")[:, 0]


def _key_bytes(keys: pa.FixedSizeBinaryArray) -> npt.NDArray[np.uint8]:
    data = keys.buffers()[1]
    if data is None or not len(keys):
        return np.zeros((0, 16), dtype=np.uint8)
    return np.frombuffer(data, np.uint8, len(keys) * 16, keys.offset * 16).reshape(-1, 16)
