"""Near-duplicates by the estimate from files, as the stages do it, one partition and one range at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from dataprep.decide.bands import BUCKET_LIMIT, best_bands
from dataprep.decide.independent import Removed, RowFile, independent_in_ranges
from dataprep.decide.pairs import SignatureFile, compared_chunks
from dataprep.decide.partitions import band_records, write_partitions
from dataprep.decide.verify import least_estimate
from dataprep.kernels.minhash import low_bytes, signatures
from dataprep.kernels.shingles import Shingling
from dataprep.kernels.texts import Texts

PERMUTATIONS = 112


def removed_from_files(
    groups: Iterator[Texts], num_documents: int, partitions: int, threshold_ppm: int, limit: int, folder: Path
) -> Iterator[Removed]:
    """The rank of a document is its place; `limit` is that of rows in memory of `independent_in_ranges`."""
    files, start = [], 0
    with (folder / "low").open("wb") as low:
        for texts in groups:
            found, _, sole = signatures(texts.data, texts.offsets, Shingling(), PERMUTATIONS)
            low_bytes(found).tofile(low)
            ranks = np.arange(start, start + len(texts))
            start += len(texts)
            records = band_records(found, ranks, None, *best_bands(threshold_ppm / 10**6, PERMUTATIONS), sole)
            (folder / f"group-{start}").mkdir()
            files.append(write_partitions(records, partitions, folder / f"group-{start}"))
    assert start == num_documents
    edges = []
    for partition in range(partitions):
        edges.append(folder / f"edges-{partition}")
        least = least_estimate(threshold_ppm)
        lookup = SignatureFile(folder / "low", PERMUTATIONS)
        with edges[-1].open("wb") as file:
            for chunk in compared_chunks(files, partition, BUCKET_LIMIT, lookup, least, 0):
                chunk.edges.tofile(file)
    (folder / "ranges").mkdir()
    parts = [RowFile(path) for path in edges]
    yield from independent_in_ranges(parts, num_documents, limit, folder / "ranges")


def counted(
    make_groups: Callable[[], Iterator[Texts]], num_documents: int, partitions: int, folder: Path
) -> tuple[int, int, float]:
    """(documents that go, sum of the ranks of those that stay in their stead, most memory of this process in
    MB): to be run in a process of its own."""
    gone = matches = 0
    for part in removed_from_files(make_groups(), num_documents, partitions, 750_000, 2_000_000, folder):
        gone, matches = gone + part.documents.size, matches + int(part.matches.sum())
    return gone, matches, most_memory_mb()


def most_memory_mb() -> float:
    """Of this program. (`ru_maxrss` also counts the process that it was started from.)"""
    (line,) = [
        each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM")
    ]
    return int(line.split()[1]) / 1000
