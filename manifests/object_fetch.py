"""Fetching a published corpus from an object store to a folder.

What comes is kept in a folder beside the one that is wanted, so that a fetch that was stopped goes on; each
file is held against its digest there. The whole corpus is then linked under a temporary name, verified, and
renamed.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from manifests import folder_store
from manifests.corpus import open_corpus
from manifests.errors import UserError
from manifests.files import (
    TEMPORARY_PREFIX,
    atomic_directory,
    atomic_path,
    check_free_space,
    fsync_directory,
    link_or_copy,
)
from manifests.fingerprint import digest_file
from manifests.lists import read_shard_list
from manifests.manifest import MANIFEST_NAME, load_manifest
from manifests.object_store import PublishedName, known, published_names, published_versions, release_of
from manifests.objects import Objects
from manifests.releases import Release, choose
from manifests.transfers import digests_of, each_in_threads, half
from manifests.verify import Meter, Progress

StrPath = str | PathLike[str]


def fetch(
    reference: str, objects: Objects, folder: StrPath, workers: int = 1, progress: Progress | None = None
) -> Release:
    """Make `folder` hold a corpus that is published among `objects`; see the head of this file.

    When it holds this very corpus already, nothing happens. Raises UserError, which names damaged objects.
    """
    name, version = choose(
        reference,
        objects.url,
        lambda: published_names(objects),
        lambda name: published_versions(name, objects),
    )
    found = known(name, version, objects)
    wanted = release_of(found, objects)
    target = Path(folder)
    there = folder_store.corpus_at(target)
    if there is None:
        with _staged(target, found) as staging:
            _download(found, objects, staging, workers, half(progress, 0))
            try:
                with atomic_directory(target) as whole:
                    for path in folder_store.files_of(open_corpus(staging)):
                        place = whole / path.relative_to(staging)
                        place.parent.mkdir(parents=True, exist_ok=True)
                        link_or_copy(path, place)
                    folder_store.check_whole(whole, str(staging), "fetched", workers, half(progress, 1))
            except FileExistsError:
                pass  # another process was first; what it put there is looked at
            else:
                return folder_store.release_of(open_corpus(target), is_new=True)
        there = folder_store.release_of(open_corpus(target))
    folder_store.refuse_other_folder(wanted, there)
    return there


def _download(
    name: PublishedName, objects: Objects, folder: Path, workers: int, progress: Progress | None
) -> None:
    """Make `folder` hold every file of a published corpus. Raises UserError, naming damaged objects."""
    there = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    check_free_space(folder, name.size_bytes - there)
    meter = Meter(progress, name.size_bytes)
    prefix = f"{name.corpus}/{name.folder}"

    def get(entry: tuple[str, str]) -> str | None:
        file, wanted = entry
        target = folder / file
        if not target.is_file() or digest_file(target).digest != wanted:
            target.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(target) as path, open(path, "wb") as stream:
                for piece in objects.read(f"{prefix}/{file}"):
                    stream.write(piece)
            if digest_file(target).digest != wanted:
                return objects.place(f"{prefix}/{file}")
        meter.add(target.stat().st_size)
        return None

    def get_all(digests: dict[str, str]) -> None:
        damaged = [place for place in each_in_threads(get, digests.items(), workers) if place is not None]
        if damaged:
            raise UserError(
                f"{name.corpus}@{name.version} is damaged: {len(damaged)} of its files are missing or "
                "not what was published",
                where="\n".join(sorted(damaged)[:10]),
                hint="put them back, from the corpus that was published or an older version of the object",
            )

    get_all({MANIFEST_NAME: f"sha256:{name.manifest_sha256}"})
    manifest = load_manifest(folder)
    get_all(manifest.side_files)
    get_all(digests_of(folder, manifest, read_shard_list(folder / manifest.shards_file)))


@contextmanager
def _staged(target: Path, name: PublishedName) -> Iterator[Path]:
    """A folder beside `target` for one fetch at a time, with what a stopped one got. Removed at the end."""
    unique = name.manifest_sha256[:16]
    folder = target.absolute().with_name(f"{TEMPORARY_PREFIX}{unique}-{target.absolute().name[-40:]}")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{TEMPORARY_PREFIX}lock", "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError("another process is fetching this", where=str(folder)) from error
        yield folder
        shutil.rmtree(folder)
        fsync_directory(folder.parent)
