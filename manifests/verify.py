"""Whether a corpus on the disk is, to the last byte, what its manifest says.

Every finding names a file and, where it can be known, the 1 MiB block and the byte. Findings are collected,
never raised: a corpus with one damaged shard gets a report about all its shards. `check.py` looks at one
shard; this module at the manifest, the side files, what is missing, what is too much, and what was swapped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeVar

from manifests.check import Problem, ShardCheck, full_check, identities, quick_check
from manifests.consistency import inconsistencies
from manifests.files import is_temporary
from manifests.fingerprint import digest_file
from manifests.journal import Journal, stat_of
from manifests.lists import Shard, read_input_list, read_shard_list
from manifests.manifest import (
    MANIFEST_NAME,
    Json,
    Manifest,
    ManifestError,
    content_digest,
    manifest_digest,
    manifest_path,
    parse_manifest,
    read_manifest_json,
)
from manifests.packing import is_packing
from manifests.packings import PackingChecks, check_packings, is_packing_list, packing_files
from manifests.shard import bin_path, blocks_path, idx_path, table_path
from manifests.tables import TableError

__all__ = ["Problem", "Progress", "VerifyReport", "shard_files", "verify"]

StrPath = str | PathLike[str]
R = TypeVar("R")

Progress = Callable[[int, int], None]
"""Called with the bytes checked so far and the bytes to check, from several threads, one at a time."""

JOURNAL_NAME = ".verify-journal"
"""Where `dataprep verify --resume` keeps its journal: in the folder of the corpus."""

SHARD_SUFFIXES = (".bin", ".idx", ".blocks", ".documents.parquet")


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` found."""

    folder: Path
    corpus: str
    version: str
    content_digest: str
    """As the manifest gives it; this and the two fields above are empty when it cannot be read."""
    quick: bool
    shards: int
    documents: int
    tokens: int
    files: int
    """Files that were looked at."""
    bytes: int
    """Bytes of those files; only a full verification read them all."""
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    """What does no harm: shard-like files that the manifest does not list, unfinished files."""

    @property
    def ok(self) -> bool:
        """Whether there is no problem. Warnings do not count."""
        return not self.problems


def verify(
    path: StrPath,
    quick: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
    journal: StrPath | None = None,
) -> VerifyReport:
    """Check a corpus, given its folder or its `manifest.json`.

    A full verification reads every byte: it compares all digests, and the shards' tokens, indices and
    document tables with each other. A quick one compares sizes, headers, counts, first keys and the digests
    of the manifest and its side files. Shards are checked in `workers` threads; the report does not depend on
    how many. Raises ManifestError only when there is no manifest at `path`.

    journal  a file in which a full verification notes the shards that it found sound. One that was stopped
             goes on from there: a shard whose files were not touched since is not read again. It is removed
             at the end
    """
    file = manifest_path(path)
    folder = file.parent
    problems: list[Problem] = []
    manifest = _checked_manifest(file, problems)
    shards = [] if manifest is None else _checked_lists(folder, manifest, problems)
    checks: list[ShardCheck] = []
    packings = PackingChecks()
    if manifest is not None:
        meter = Meter(
            progress, sum(_size_bytes(path) for shard in shards for path in shard_files(folder, shard))
        )
        kept = None if journal is None or quick else Journal(journal, manifest.manifest_digest)
        try:
            checks = _check_shards(folder, manifest, shards, quick, workers, meter, kept)
        except BaseException:
            if kept is not None:
                kept.close()
            raise
        if kept is not None:
            kept.finish()
        _name_swapped(checks, quick)
        _compare_neighbours(checks)
        packings = check_packings(folder, manifest, shards, quick, workers)
    side_files = [] if manifest is None else _side_files(folder, manifest)
    for check in checks:
        problems += check.problems
    problems += packings.problems
    return VerifyReport(
        folder=folder,
        corpus=manifest.corpus if manifest else "",
        version=manifest.version if manifest else "",
        content_digest=manifest.content_digest if manifest else "",
        quick=quick,
        shards=len(shards),
        documents=sum(shard.documents for shard in shards),
        tokens=sum(shard.tokens for shard in shards),
        files=1
        + sum(map(os.path.isfile, side_files))
        + sum(check.files for check in checks)
        + packings.files,
        bytes=sum(map(_size_bytes, [file, *side_files]))
        + sum(check.bytes for check in checks)
        + packings.bytes,
        problems=tuple(problems),
        warnings=tuple(_extra_files(folder, manifest, shards)) if manifest else (),
    )


def shard_files(folder: StrPath, shard: Shard) -> tuple[Path, Path, Path, Path]:
    """Return the four files of a shard."""
    prefix = Path(folder) / shard.name
    return bin_path(prefix), idx_path(prefix), blocks_path(prefix), table_path(prefix)


def _checked_manifest(file: Path, problems: list[Problem]) -> Manifest | None:
    try:
        data: Json = read_manifest_json(file)
        manifest = parse_manifest(data, str(file))
    except ManifestError as error:
        problems.append(Problem(file.name, None, None, error.what))
        return None
    if data.get("manifest_digest") != manifest_digest(data):
        problems.append(Problem(file.name, None, None, "a field was changed after the manifest was written"))
    return manifest


def _side_files(folder: Path, manifest: Manifest) -> list[Path]:
    return [folder / name for name in manifest.side_files]


def _checked_lists(folder: Path, manifest: Manifest, problems: list[Problem]) -> list[Shard]:
    """Compare the side files with their digests, and the list of shards with the manifest."""

    def add(name: str, what: str) -> None:
        problems.append(Problem(name, None, None, what))

    for name, wanted in manifest.side_files.items():
        try:
            if digest_file(folder / name).digest != wanted:
                add(name, "the content is not what the manifest says")
        except FileNotFoundError:
            add(name, "the file is missing")
        except OSError as error:
            add(name, f"the file cannot be read: {error.strerror}")
    inputs = _read_list(read_input_list, folder, manifest.lineage.inputs_file, add)
    for source in sorted({entry.source for entry in inputs or ()} - set(manifest.sources)):
        add(manifest.lineage.inputs_file, f"inputs of {source}, which is not a source of the manifest")
    shards = _read_list(read_shard_list, folder, manifest.shards_file, add)
    if shards is None:
        return []
    for what in inconsistencies(manifest, shards):
        add(MANIFEST_NAME, what)
    digest = content_digest(manifest, shards)
    if digest != manifest.content_digest:
        add(
            MANIFEST_NAME,
            f"the content digest is {manifest.content_digest}; the list of shards gives {digest}",
        )
    return shards


def _read_list(
    read: Callable[[Path], list[R]], folder: Path, name: str, add: Callable[[str, str], None]
) -> list[R] | None:
    """The rows of a side file, or None when it cannot be read, which is reported."""
    try:
        return read(folder / name) if (folder / name).is_file() else None
    except TableError as error:
        add(name, error.what)
        return None


def _check_shards(
    folder: Path,
    manifest: Manifest,
    shards: Sequence[Shard],
    quick: bool,
    workers: int,
    meter: Meter,
    journal: Journal | None,
) -> list[ShardCheck]:
    def check(shard: Shard) -> ShardCheck:
        if quick:
            found = quick_check(folder, shard, manifest)
            meter.add(found.bytes)
            return found
        if journal is None:
            return full_check(folder, shard, manifest, meter.add)
        files = shard_files(folder, shard)
        last_key = journal.last_key(shard.name, files)
        if last_key is not None:
            known = ShardCheck(shard, folder, last_key=last_key, files=len(files))
            known.bytes = sum(map(_size_bytes, files))
            meter.add(known.bytes)
            return known
        before = stat_of(files)
        found = full_check(folder, shard, manifest, meter.add)
        if not found.problems:
            journal.add(shard.name, before, files, found.last_key)
        return found

    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(check, shards))
        except BaseException:  # stopped: what is not begun is not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _name_swapped(checks: Sequence[ShardCheck], quick: bool) -> None:
    """Say of each wrong file whether it is, or looks like, the file of another shard."""
    owners: dict[tuple[str, str], list[ShardCheck]] = {}
    for check in checks:
        for suffix, identity in identities(check.shard, quick).items():
            owners.setdefault((suffix, identity), []).append(check)
    for check in checks:
        for suffix, identity in check.found.items():
            names = [
                owner.shard.name + suffix
                for owner in owners.get((suffix, identity), ())
                # Equal sizes say little: in a quick check the other file must be wrong as well.
                if owner is not check and (suffix in owner.found or not quick)
            ]
            if not names:
                continue
            swapped = any(
                owner.found.get(suffix) == identities(check.shard, quick)[suffix]
                for owner in owners[suffix, identity]
            )
            what = f"it looks like {names[0]}" if quick else f"it is {names[0]}"
            check.add(suffix, f"{what}: the two were swapped" if swapped else what)


def _compare_neighbours(checks: Sequence[ShardCheck]) -> None:
    """Documents ascend through all shards of a source's subset, not only within each."""
    last: dict[tuple[str, str], str] = {}
    for check in checks:
        place = (check.shard.source, check.shard.subset)
        if check.shard.first_key and check.shard.first_key < last.get(place, ""):
            check.add(".documents.parquet", "its first key is below the last key of the shard before")
        last[place] = check.last_key or last.get(place, "")


def _extra_files(folder: Path, manifest: Manifest, shards: Sequence[Shard]) -> list[Problem]:
    listed = {path for shard in shards for path in shard_files(folder, shard)}
    listed |= {*packing_files(folder, manifest, shards), *_side_files(folder, manifest)}
    warnings = []
    for place in sorted({folder} | {path.parent for path in listed}):
        # A folder that cannot be listed has been reported, file by file.
        for path in sorted(place.iterdir()) if os.access(place, os.R_OK | os.X_OK) and place.is_dir() else ():
            name = path.relative_to(folder).as_posix()
            if is_temporary(path):
                warnings.append(Problem(name, None, None, "unfinished work of a run that was stopped"))
            elif _is_ours(path) and path not in listed:
                warnings.append(Problem(name, None, None, "the manifest does not list this file"))
    return warnings


def _is_ours(path: Path) -> bool:
    """Whether the name is that of a file of a shard, a packing, or a list of packings."""
    return path.name.endswith(SHARD_SUFFIXES) or is_packing(path) or is_packing_list(path)


def _size_bytes(path: Path) -> int:
    # Not Path.is_file, which raises where a folder may not be searched.
    return os.path.getsize(path) if os.path.isfile(path) else 0


class Meter:
    """Adds up bytes from several threads."""

    def __init__(self, progress: Progress | None, total_bytes: int) -> None:
        self._progress = progress
        self._total_bytes = total_bytes
        self._done_bytes = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        if self._progress is not None:
            with self._lock:
                self._done_bytes += count
                self._progress(self._done_bytes, self._total_bytes)
