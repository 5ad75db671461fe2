"""The rank of each document: 0 is the best, and of two duplicates the better one stays.

A total order: the recipe's keys, first key first, then the raw hash, the source and the own id, then the row.
Documents equal in all but the row are interchangeable, so what stays depends on no order of files. Slow twin:
a sort of tuples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import save_array

Int64s = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

NAMES = 3
"""Words of a record that name the document."""
SAMPLES = 256
"""Documents of each part that are looked at to find equal ranges."""


def best_first(keys: Sequence[Int64s], names: Hashes) -> Int64s:
    """int64[n]: the rows of documents that fit into memory, best first.

    keys   each int64[n], lower is better; the first counts most
    names  uint64[n, 3]: the raw hash, and a number for source and own id
    """
    return np.lexsort([*names.T[::-1], *reversed(keys)]).astype(np.int64)


def best_first_in_ranges(parts: Sequence[Path], limit: int, folder: Path) -> Iterator[Int64s]:
    """The rows of all documents, best first, an array at a time.

    parts   files of `write_part`: rows ascend from part to part
    limit   documents held in memory, at about 70 bytes each
    folder  empty; each record is written once more

    Documents are dealt to ranges of about half the limit, whose bounds come from a sample.
    """
    records = [np.load(part, mmap_mode="r", allow_pickle=False) for part in parts]
    total = sum(len(each) for each in records)
    if total <= limit:
        together = np.concatenate([np.asarray(each) for each in records]) if records else _EMPTY
        if len(together):
            yield _sorted(together)
        return
    sample = np.concatenate([each[:: max(1, len(each) // SAMPLES)] for each in records])
    sample = np.sort(_order_bytes(sample))
    count = -(-2 * total // limit)
    bounds = np.unique(sample[np.arange(1, count) * len(sample) // count])
    files = [folder / f"range-{number}" for number in range(len(bounds) + 1)]
    for each in records:
        for start in range(0, len(each), max(1, limit // 4)):
            chunk = np.asarray(each[start : start + max(1, limit // 4)])
            ranges = np.searchsorted(bounds, _order_bytes(chunk), side="right")
            order = np.argsort(ranges, kind="stable")
            ends = np.searchsorted(ranges[order], np.arange(len(files) + 1))
            for number in np.flatnonzero(np.diff(ends)).tolist():
                with files[number].open("ab") as file:
                    file.write(chunk[order[ends[number] : ends[number + 1]]].tobytes())
    width = records[0].shape[1]
    for path in files:
        if path.exists():
            yield _sorted(np.fromfile(path, dtype=np.int64).reshape(-1, width))
            path.unlink()


def write_part(path: Path, first: int, keys: Sequence[Int64s], names: Hashes) -> None:
    """The records of documents from row `first` on: keys, names (see `best_first`), row."""
    rows = np.arange(first, first + len(names))
    save_array(path, np.column_stack([*keys, names.view(np.int64), rows]))


def _sorted(records: Int64s) -> Int64s:
    """Rows of records; a later record of equal documents has a higher row, so a stable sort is enough."""
    keys = [records[:, place] for place in range(records.shape[1] - NAMES - 1)]
    order = best_first(keys, np.ascontiguousarray(records[:, -NAMES - 1 : -1]).view(np.uint64))
    return records[order, -1]


def _order_bytes(records: Int64s) -> npt.NDArray[np.bytes_]:
    """bytes[n]: all of a record but its row, so that the order of bytes is the order of documents. They end
    in a byte that is never 0, since numpy takes zeros at the end for padding."""
    words = records[:, :-1].astype(np.uint64)
    words[:, :-NAMES] ^= np.uint64(1 << 63)  # signed keys; names are not
    out = np.ones((len(records), 8 * words.shape[1] + 1), dtype=np.uint8)
    out[:, :-1] = words.astype(">u8").view(np.uint8)
    return out.view(f"S{out.shape[1]}")[:, 0]


_EMPTY = np.zeros((0, NAMES + 1), dtype=np.int64)
