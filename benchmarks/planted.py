"""Who stays among near-duplicates, from signatures to verdicts, on 1 and 20 million planted documents.

`python -m benchmarks.planted COUNT` prints figures as JSON; `benchmarks.dedup` runs it in a process of its
own, so that its memory is its own. The way is that of the stages: records in partitions on disk, the pairs of
each partition by the estimate, ranges of ranks; two processes where tasks are independent.

The documents exist as signatures only, made by a stateless hash, so that any group of them is made by itself:
45 in 100 are alone; 5 in 100 are copies of one template (a million of 20 million), half of them to the letter
and half with about 1 % of the values changed; the rest are in clusters of about 2, 4, 8, ... 4096 documents
(of size s a share of s^-2.5), with 0 to 16 % of the values changed. Ranks are the numbers of documents, which
have nothing to do with clusters. Making signatures is not counted; writing their low bytes by rank is.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.decide.bands import BUCKET_LIMIT, best_bands
from dataprep.decide.independent import RowFile, independent_in_ranges
from dataprep.decide.pairs import SignatureFile, compared_chunks
from dataprep.decide.partitions import band_records, num_partitions, write_partitions
from dataprep.decide.verify import least_estimate
from dataprep.kernels.minhash import low_bytes

PERMUTATIONS = 112
THRESHOLD = 0.75
GROUP = 250_000
MEMORY_BYTES = 10**9
ROWS_IN_MEMORY = 4_000_000
WORKERS = 2
OCTAVES = 12


@njit(cache=True, nogil=True)
def _mixed(value):  # type: ignore[no-untyped-def]
    """SplitMix64."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def _fill(start, count, sizes, shares, out):  # type: ignore[no-untyped-def]
    """Signatures of documents `start` on, of `count` in all; the size of a cluster for each byte of chance,
    and the clusters of each size for each document."""
    golden, low_16 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFFFF)
    for index in range(out.shape[0]):
        document = np.uint64(start + index)
        own = _mixed(document * golden + np.uint64(1))
        kind, changed = own % np.uint64(100), np.uint64(0)
        if kind < 45:
            base = own
        elif kind < 50:
            base = np.uint64(7)
            changed = np.uint64(655) * (own >> np.uint64(60) & np.uint64(1))
        else:
            size = sizes[own >> np.uint64(8) & np.uint64(0xFF)]
            clusters = np.uint64(shares[size] * count)
            base = _mixed((own >> np.uint64(16)) % (clusters + np.uint64(1)) * np.uint64(64) + size)
            changed = (own >> np.uint64(50) & np.uint64(7)) * np.uint64(1500)
        for place in range(out.shape[1]):
            salt = np.uint64(place + 1) * golden
            value = _mixed(base + salt)
            if _mixed(own + salt) & low_16 < changed:
                value = _mixed(own ^ salt)
            out[index, place] = np.uint32(value & np.uint64(0xFFFFFFFF))


def planted(start: int, stop: int, count: int) -> npt.NDArray[np.uint32]:
    """uint32[stop - start, PERMUTATIONS]."""
    out = np.empty((stop - start, PERMUTATIONS), dtype=np.uint32)
    octaves = np.cumsum(2.0 ** -(np.arange(OCTAVES) / 2))
    sizes = np.searchsorted(octaves / octaves[-1] * 256, np.arange(256), side="right")
    shares = np.bincount(sizes, minlength=OCTAVES) / 256 / 2 / 2.0 ** np.arange(1, OCTAVES + 1)
    _fill(start, count, sizes.astype(np.uint64), shares, out)
    return out


@contextmanager
def _seconds(into: dict[str, float], name: str) -> Iterator[None]:
    start = time.process_time()
    yield
    into[name] = into.get(name, 0.0) + time.process_time() - start


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _write_group(folder: Path, count: int, partitions: int, start: int) -> dict[str, float]:
    """The records of one task, and its rows of low bytes."""
    stop = min(start + GROUP, count)
    seconds: dict[str, float] = {}
    signatures = planted(start, stop, count)
    bands, rows = best_bands(THRESHOLD, PERMUTATIONS)
    with _seconds(seconds, "low_bytes"), (folder / "low").open("r+b") as file:
        file.seek(start * PERMUTATIONS)
        low_bytes(signatures).tofile(file)
    with _seconds(seconds, "keys"):
        records = band_records(signatures, np.arange(start, stop), None, bands, rows)
    with _seconds(seconds, "write"):
        task = folder / f"group-{start}"
        task.mkdir()
        write_partitions(records, partitions, task)
    return seconds | {"rss_mb": _memory_mb()}


def _compare(folder: Path, files: list[Path], partition: int) -> dict[str, float]:
    """The pairs of one partition, in a file of rows."""
    seconds: dict[str, float] = {}
    limited = pairs = 0
    with _seconds(seconds, "pairs"), (folder / f"edges-{partition}").open("wb") as file:
        least = least_estimate(int(THRESHOLD * 10**6))
        lookup = SignatureFile(folder / "low", PERMUTATIONS)
        for chunk in compared_chunks(files, partition, BUCKET_LIMIT, lookup, least, 0):
            chunk.edges.tofile(file)
            pairs, limited = pairs + len(chunk.edges), limited + chunk.limited
    return seconds | {"rss_mb": _memory_mb(), "num_pairs": pairs, "num_limited": limited}


def _decide(folder: Path, edges: list[Path], count: int) -> dict[str, float]:
    seconds: dict[str, float] = {}
    ranges = folder / "ranges"
    ranges.mkdir()
    with _seconds(seconds, "who_stays"):
        parts = independent_in_ranges([RowFile(path) for path in edges], count, ROWS_IN_MEMORY, ranges)
        removed = sum(part.documents.size for part in parts)
    return seconds | {"rss_mb": _memory_mb(), "num_removed": removed}


def decided(count: int) -> dict[str, Any]:
    """CPU microseconds a document of each part, the most memory of a process, and counts."""
    partitions = num_partitions(count, best_bands(THRESHOLD, PERMUTATIONS)[0], MEMORY_BYTES)
    totals: dict[str, float] = {}
    with TemporaryDirectory() as name, ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        folder = Path(name)
        (folder / "low").touch()
        begun = time.monotonic()

        def all_of(work: Callable[[int], dict[str, float]], tasks: Iterable[int]) -> None:
            for told in pool.map(work, tasks):
                for key, value in told.items():
                    before = totals.get(key, 0)
                    totals[key] = max(before, value) if key == "rss_mb" else before + value

        all_of(partial(_write_group, folder, count, partitions), range(0, count, GROUP))
        files = sorted(folder.glob("group-*/*"))
        record_bytes = sum(path.stat().st_size for path in files)
        all_of(partial(_compare, folder, files), range(partitions))
        for path in files:
            path.unlink()
        edges = sorted(folder.glob("edges-*"))
        all_of(partial(_decide, folder, edges), [count])
        wall = time.monotonic() - begun
    parts = {key: totals.pop(key) for key in ("low_bytes", "keys", "write", "pairs", "who_stays")}
    return {
        "us_per_document": round(10**6 * sum(parts.values()) / count, 2),
        **{f"us_{key}": round(10**6 * value / count, 3) for key, value in parts.items()},
        "wall_seconds": round(wall, 1),
        "partitions": partitions,
        "record_bytes_per_document": round(record_bytes / count, 1),
        **{key: round(value) for key, value in totals.items()},
    }


if __name__ == "__main__":
    print(json.dumps(decided(int(sys.argv[1]))))
