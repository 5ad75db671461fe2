"""Records of all documents, cut into partitions by a hash: what makes a decision fit into memory.

The tasks that make records write one file each, sorted by partition, with the bounds of the partitions
beside it; the task of a partition reads its slice of every file. Which record goes where depends on its hash
and on the number of partitions alone, and what is decided does not depend on that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import save_array

RECORDS = "records.npy"
BOUNDS = "bounds.npy"

UInt64s = npt.NDArray[np.uint64]


def number_of_partitions(num_records: int, bytes_each: int, memory_bytes: int) -> int:
    """So many that the records of one partition fit into memory with room for an uneven hash."""
    return max(1, -(-5 * num_records * bytes_each // (4 * memory_bytes)))


def partition_of(hashes: UInt64s, count: int) -> npt.NDArray[np.int64]:
    """int64[n]: the partition of each hash: equal ranges of its high 32 bits."""
    return ((hashes >> np.uint64(32)) * np.uint64(count) >> np.uint64(32)).astype(np.int64)


def write_records(folder: Path, records: UInt64s, count: int) -> None:
    """Write records (uint64[n, width], the first column a hash) by partition."""
    partitions = partition_of(records[:, 0], count)
    order = np.argsort(partitions, kind="stable")
    save_array(folder / RECORDS, records[order])
    bounds = np.searchsorted(partitions[order], np.arange(count + 1))
    save_array(folder / BOUNDS, bounds.astype(np.int64))


def read_partition(folders: Sequence[Path], partition: int, width: int) -> UInt64s:
    """uint64[n, width]: the records of a partition, in the order of the folders."""
    parts = [np.zeros((0, width), dtype=np.uint64)]
    for folder in folders:
        first, last = np.load(folder / BOUNDS, allow_pickle=False)[partition : partition + 2]
        if first < last:
            records = np.load(folder / RECORDS, mmap_mode="r", allow_pickle=False)
            parts.append(np.asarray(records[first:last]))
    return np.concatenate(parts)
