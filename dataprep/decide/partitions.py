"""Band records on disk, cut into partitions by key, so that near-duplicates are found a partition at a time.

A record is (key, rank, whole), 24 bytes: the key of a band, the document, and the key of its whole
signature. Each document has a record for each band and one more, whose key is that of the whole signature:
documents with equal signatures are paired there and nowhere else (they would meet in every band). Records
with equal keys are in the same partition, whatever file they are in, so a partition is a slice of every file.

A file holds the records of the documents of one task: int64 count of partitions, int64 offsets in records
(one more than partitions), then the records, all little-endian. Its size is checked when it is read.

A task holds about 1 kB a document while it writes. What is done with a partition is in `pairs.py`; what bands
are in `bands.py`. Slow twin: `tests/reference/partitions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import append_array
from dataprep.decide.bands import keys_of_bands
from dataprep.kernels.partitions import scattered
from manifests.errors import UserError

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

FILE = "bands.bin"
RECORD_BYTES = 24
HELD_BYTES = 128
"""Memory for a record of a partition while its pairs are found, if every key is repeated (else half)."""

EMPTY_SET = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Of n documents.

    keys   uint64[n, bands + 1]: of each band, and of the whole signature
    ranks  int64[n]
    """

    keys: Keys
    ranks: Int64s

    def __len__(self) -> int:
        return int(self.keys.size)


def num_partitions(num_documents: int, bands: int, memory_bytes: int) -> int:
    """Partitions of which one, of average size, needs half of `memory_bytes` at most; the other half is for
    those that are larger, and for the comparisons (`pairs.py`)."""
    return max(1, -(-2 * num_documents * (bands + 1) * HELD_BYTES // memory_bytes))


def band_records(
    signatures: npt.NDArray[np.uint32], ranks: Int64s, group: Keys | None, bands: int, rows: int
) -> Records:
    """Records of documents that have words: the signature of one without, that of an empty set, has none.

    signatures  uint32[n, at least bands * rows]
    ranks       int64[n], 0 the best, each once among all documents
    group       uint64[n]: documents of different groups are never near-duplicates
    """
    worded = signatures[:, 0] != EMPTY_SET
    if not worded.all():
        worded |= (signatures != EMPTY_SET).any(axis=1)
        signatures, ranks = signatures[worded], ranks[worded]
        group = None if group is None else group[worded]
    keys = np.empty((len(signatures), bands + 1), dtype=np.uint64)
    keys[:, :bands] = keys_of_bands(signatures, bands, rows, group)
    keys[:, bands] = keys_of_bands(signatures, 1, signatures.shape[1], group)[:, 0]
    return Records(keys, ranks)


def write_partitions(records: Records, num_partitions: int, folder: Path) -> Path:
    """Write the file of one task into its folder; returns its path."""
    whole = np.ascontiguousarray(records.keys[:, -1])
    rows, offsets = scattered(records.keys, records.ranks, whole, num_partitions)
    path = folder / FILE
    with path.open("wb") as file:
        file.write(np.int64(num_partitions).tobytes() + offsets.tobytes())
        append_array(file, rows)
    return path


def read_partition(files: Sequence[Path], partition: int) -> Keys:
    """uint64[m, 3]: the records of one partition, file by file."""
    slices = [_slice(path, partition) for path in files]
    records = np.empty((sum(count for _, count in slices), 3), dtype=np.uint64)
    place = 0
    for path, (start_bytes, count) in zip(files, slices, strict=True):
        if count:
            with path.open("rb") as file:
                file.seek(start_bytes)
                records[place : place + count] = np.fromfile(file, np.uint64, 3 * count).reshape(-1, 3)
            place += count
    return records


def _slice(path: Path, partition: int) -> tuple[int, int]:
    """(offset in bytes, count) of the records of one partition in a file."""
    with path.open("rb") as file:
        total = int(np.frombuffer(file.read(8), dtype=np.int64)[0])
        if not 0 <= partition < total:
            raise UserError(f"there are {total} partitions, so none is number {partition}", where=str(path))
        file.seek(8 * (1 + partition))
        start, stop = np.frombuffer(file.read(16), dtype=np.int64).tolist()
        file.seek(8 * (1 + total))
        count = int(np.frombuffer(file.read(8), dtype=np.int64)[0])
    head = 8 * (2 + total)
    if path.stat().st_size != head + count * RECORD_BYTES:
        raise UserError(f"the file does not hold the {count} records that it names", where=str(path))
    return head + start * RECORD_BYTES, stop - start
