"""What sending a corpus and fetching one have in common: its files with their digests, threads, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from typing import TypeVar

from manifests.lists import Shard
from manifests.manifest import Manifest
from manifests.packings import packing_digests
from manifests.verify import Progress, shard_files

StrPath = str | PathLike[str]
T = TypeVar("T")
R = TypeVar("R")


def digests_of(folder: StrPath, manifest: Manifest, shards: Iterable[Shard]) -> dict[str, str]:
    """Every file of a corpus but the manifest, with the digest of its bytes; side files are in `folder`."""
    found = manifest.side_files | packing_digests(folder, manifest)
    for shard in shards:
        digests = (shard.bin_sha256, shard.idx_sha256, shard.blocks_sha256, shard.table_sha256)
        for path, digest in zip(shard_files("", shard), digests, strict=True):
            found[path.as_posix()] = f"sha256:{digest}"
    return found


def each_in_threads(function: Callable[[T], R], entries: Iterable[T], workers: int) -> list[R]:
    """Call a function with each entry, in threads; the first exception stops what is not begun."""
    with ThreadPoolExecutor(max(1, workers)) as pool:
        try:
            return list(pool.map(function, entries))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def half(progress: Progress | None, index: int) -> Progress | None:
    """The progress of one half of the work as progress of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(index * total + min(done, total), 2 * total)
