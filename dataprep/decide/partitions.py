"""Band records on disk, cut into partitions by key, so that near-duplicates are found a partition at a time.

A record is (key, rank, whole), 24 bytes: the key of a band, the document, and the key of its whole
signature. The low 8 bits of a key are the number of the band. Each document has a record for each band and
one more, whose key is that of the whole signature (low bits 255): documents with equal signatures are paired
there and nowhere else. Records with equal keys are in the same partition, whatever file they are in, so a
partition is a slice of every file.

A file holds the records of the documents of one task: as int64 the count of partitions, the values of a band,
the offset of each partition in records and their sum; then the records; all little-endian. Its size is
checked when it is read.

A task holds about 1 kB a document while it writes. What is done with a partition is in `pairs.py`; what bands
are in `bands.py`. Slow twin: `tests/reference/partitions.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import append_array
from dataprep.decide.bands import keys_of_bands
from dataprep.kernels.partitions import BAND, scattered
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
    depth  values of a band
    """

    keys: Keys
    ranks: Int64s
    depth: int

    def __len__(self) -> int:
        return int(self.keys.size)


def num_partitions(num_documents: int, bands: int, memory_bytes: int) -> int:
    """Partitions of which one, of average size, needs half of `memory_bytes` at most; the other half is for
    those that are larger, and for the comparisons (`pairs.py`)."""
    return max(1, -(-2 * num_documents * (bands + 1) * HELD_BYTES // memory_bytes))


def band_records(
    signatures: npt.NDArray[np.uint32],
    ranks: Int64s,
    group: Keys | None,
    bands: int,
    rows: int,
    sole: Keys | None = None,
) -> Records:
    """Records of documents that have words: the signature of one without, that of an empty set, has none.

    signatures  uint32[n, at least bands * rows]
    ranks       int64[n], 0 the best, each once among all documents
    group       uint64[n]: documents of different groups are never near-duplicates
    sole        uint64[n]: the hash of a document's only shingle, else 0 (`kernels.minhash.signatures`): the
                signatures of such documents may be equal by chance, so they are groups of their own
    """
    if sole is not None:
        group = sole if group is None else group ^ sole
    worded = signatures[:, 0] != EMPTY_SET
    if not worded.all():
        worded |= (signatures != EMPTY_SET).any(axis=1)
        signatures, ranks = signatures[worded], ranks[worded]
        group = None if group is None else group[worded]
    if bands >= BAND:
        raise ValueError(f"{bands} bands: a key has room for {BAND - 1}")
    keys = np.empty((len(signatures), bands + 1), dtype=np.uint64)
    keys[:, :bands] = keys_of_bands(signatures, bands, rows, group)
    keys[:, bands] = keys_of_bands(signatures, 1, signatures.shape[1], group)[:, 0]
    keys &= ~BAND
    keys |= np.array([*range(bands), BAND], dtype=np.uint64)
    return Records(keys, ranks, rows)


def write_partitions(records: Records, num_partitions: int, folder: Path) -> Path:
    """Write the file of one task into its folder; returns its path."""
    whole = np.ascontiguousarray(records.keys[:, -1])
    rows, offsets = scattered(records.keys, records.ranks, whole, num_partitions)
    path = folder / FILE
    with path.open("wb") as file:
        append_array(file, np.array([num_partitions, records.depth, *offsets], dtype=np.int64))
        append_array(file, rows)
    return path


def depth_of(files: Sequence[Path]) -> int:
    """Values of a band, of files of one run."""
    return int(np.fromfile(files[0], np.int64, 1, offset=8)[0]) if files else 1


def count_records(files: Sequence[Path], partition: int) -> int:
    """Records of one partition."""
    return sum(_slice(path, partition).num_records for path in files)


def read_slices(files: Sequence[Path], partition: int) -> Iterator[Keys]:
    """uint64[m, 3] of each file that has any: the records of one partition."""
    for path in files:
        place = _slice(path, partition)
        if place.num_records:
            yield np.fromfile(path, np.uint64, 3 * place.num_records, offset=place.start_bytes).reshape(-1, 3)


def read_partition(files: Sequence[Path], partition: int) -> Keys:
    """uint64[m, 3]: the same, file by file."""
    records, place = np.empty((count_records(files, partition), 3), dtype=np.uint64), 0
    for part in read_slices(files, partition):
        records[place : place + len(part)] = part
        place += len(part)
    return records


class _Slice(NamedTuple):
    start_bytes: int
    num_records: int


def _slice(path: Path, partition: int) -> _Slice:
    """Where the records of one partition lie in a file."""
    total = int(np.fromfile(path, np.int64, 1)[0])
    if not 0 <= partition < total:
        raise UserError(f"there are {total} partitions, so none is number {partition}", where=str(path))
    start, stop = np.fromfile(path, np.int64, 2, offset=8 * (2 + partition)).tolist()
    count = int(np.fromfile(path, np.int64, 1, offset=8 * (2 + total))[0])
    head = 8 * (3 + total)
    if path.stat().st_size != head + count * RECORD_BYTES:
        raise UserError(f"the file does not hold the {count} records that it names", where=str(path))
    return _Slice(head + start * RECORD_BYTES, stop - start)
