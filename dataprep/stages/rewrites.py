"""The texts that an expensive step rewrote in one split, kept so that the step runs once.

One Arrow file of zstd-compressed batches, a row a text that changed, ascending. Whatever reads the split
again lays them over the texts as they stood before the step.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.columns import Texts, concat, texts_from_arrow, texts_to_arrow
from dataprep.kernels.hashing import hash128
from dataprep.kernels.normalize import replaced
from dataprep.kernels.texts import Offsets

SCHEMA = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),  # of the split
        pa.field("text", pa.large_string(), nullable=False),
    ]
)


def changed(before: Texts, after: Texts) -> npt.NDArray[np.int64]:
    """Rows of the texts that are not the same bytes (but for one chance in 2^128)."""
    if before is after:
        return np.zeros(0, dtype=np.int64)
    differs = hash128(before.data, before.offsets) != hash128(after.data, after.offsets)
    return np.flatnonzero(differs.any(axis=1))


def laid_over(texts: Texts, rows: npt.NDArray[np.int64], new: Texts) -> Texts:
    """`texts` with those at `rows` (ascending) replaced."""
    if not len(rows):
        return texts
    return Texts(*replaced(texts.data, texts.offsets, rows, new.data, new.offsets))


class RewriteWriter:
    """Collects the changed texts of a split, a chunk at a time."""

    def __init__(self, path: Path) -> None:
        options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 3))
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, SCHEMA, options=options)

    def add(self, rows: npt.NDArray[np.int64], texts: Texts) -> None:
        if len(rows):
            columns = [pa.array(rows, pa.int64()), texts_to_arrow(texts.compact())]
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))

    def close(self) -> None:
        self._writer.close()
        self._sink.close()


class Rewrites:
    """Reads them back, once and in order. Memory: the batches that a chunk touches."""

    def __init__(self, path: Path) -> None:
        self._file = pa.ipc.open_file(pa.memory_map(str(path)))
        self._next = 0
        self._rows: Offsets = np.zeros(0, dtype=np.int64)
        self._texts = concat([])

    def over(self, texts: Texts, rows: npt.NDArray[np.int64]) -> Texts:
        """`texts` with what was rewritten of the split's `rows` (ascending, and beyond those of the call
        before) laid over them."""
        if not len(rows):
            return texts
        while self._next < self._file.num_record_batches and not (
            len(self._rows) and self._rows[-1] >= rows[-1]
        ):
            batch = self._file.get_batch(self._next)
            self._next += 1
            found = batch.column("row").to_numpy()
            if found[-1] < rows[0]:
                continue  # of chunks that nobody asked for
            self._rows = np.concatenate((self._rows, found))
            self._texts = concat([self._texts, texts_from_arrow(batch.column("text"))])
        _, here, there = np.intersect1d(rows, self._rows, assume_unique=True, return_indices=True)
        result = laid_over(texts, here, self._texts.take(there)) if len(here) else texts
        left = int(np.searchsorted(self._rows, rows[-1], side="right"))
        self._rows, self._texts = self._rows[left:], self._texts.slice(left, len(self._texts))
        return result
