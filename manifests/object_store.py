"""Published corpora in an object store, which has no rename and no folders.

    ROOT/<corpus>/<version>.json                               the name: which corpus this version is
    ROOT/<corpus>/<version>-<16 hex digits>/manifest.json ...  its files; the digits are of the manifest

The name is one small object. It is written last, when every object of the corpus was read back and is what
the manifest says, and it is created only where there is none: so a version is complete and verified or it is
not there, and the first of two publishers has it. What was cut short left objects without a name, which
nobody reads; the next publication of the same corpus reads them back and goes on.

Fetching downloads to a folder beside the one that is wanted, and goes on there after a stop; then the whole
corpus is verified and gets its name.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from manifests import folder_store
from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.fields import (
    NAME_PATTERN,
    VERSION_PATTERN,
    Count,
    Digest,
    Name,
    Record,
    RelativePath,
    Sha256,
    Version,
    describe_errors,
)
from manifests.files import (
    TEMPORARY_PREFIX,
    atomic_directory,
    atomic_path,
    check_free_space,
    fsync_directory,
    link_or_copy,
)
from manifests.fingerprint import digest_file
from manifests.lists import Shard, read_shard_list
from manifests.manifest import MANIFEST_NAME, Manifest, load_manifest, manifest_path
from manifests.objects import Objects
from manifests.releases import Release, choose, refuse_another, version_key
from manifests.verify import Meter, Progress, shard_files

StrPath = str | PathLike[str]
T = TypeVar("T")
R = TypeVar("R")


class PublishedName(Record):
    """What the object says that is the name of a version."""

    format: Literal["headrace-published"] = "headrace-published"
    format_version: Literal[1] = 1
    corpus: Name
    version: Version
    folder: RelativePath
    """Where its files are, beside this object."""
    manifest_digest: Digest
    manifest_sha256: Sha256
    content_digest: Digest
    files: Count
    size_bytes: Count

    def to_bytes(self) -> bytes:
        return (json.dumps(self.model_dump(mode="json"), indent=2) + "\n").encode()


def publish(
    corpus_folder: StrPath, objects: Objects, workers: int = 1, progress: Progress | None = None
) -> Release:
    """Make a corpus available as name@version among `objects`; see the head of this file.

    The corpus is verified where it is, uploaded in `workers` threads, and every object is read back. When
    this very corpus is published already, nothing happens. Raises UserError.
    """
    manifest_sha256 = digest_file(manifest_path(corpus_folder)).sha256  # before it is opened, see `_upload`
    corpus = open_corpus(corpus_folder)
    manifest = corpus.manifest
    there = _named(manifest.corpus, manifest.version, objects)
    if there is None:
        objects.check_exclusive()
        folder_store.check_whole(corpus.folder, str(corpus.folder), "published", workers, _part(progress, 0))
        name = _name_of(corpus, manifest_sha256)
        _upload(corpus, objects, name, workers, _part(progress, 1))
        if _create(name, objects):
            return _release(name, objects, is_new=True)
        there = _known(manifest.corpus, manifest.version, objects)
    found = _release(there, objects)
    refuse_another(manifest, found)
    return found


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
    named = _known(name, version, objects)
    wanted = _release(named, objects)
    target = Path(folder)
    there = folder_store.corpus_at(target)
    if there is None:
        with _staged(target, named) as staging:
            _download(named, objects, staging, workers, _part(progress, 0))
            try:
                with atomic_directory(target) as whole:
                    for path in folder_store.files_of(open_corpus(staging)):
                        place = whole / path.relative_to(staging)
                        place.parent.mkdir(parents=True, exist_ok=True)
                        link_or_copy(path, place)
                    folder_store.check_whole(whole, str(staging), "fetched", workers, _part(progress, 1))
            except FileExistsError:
                pass  # another process was first; what it put there is looked at
            else:
                return folder_store.release_of(open_corpus(target), is_new=True)
        there = folder_store.release_of(open_corpus(target))
    folder_store.refuse_other_folder(wanted, there)
    return there


def published_names(objects: Objects) -> list[str]:
    """Return the names among `objects`, with or without a version."""
    return [name for name in objects.entries("")[0] if re.fullmatch(NAME_PATTERN, name)]


def published_versions(name: str, objects: Objects) -> list[str]:
    """Return the published versions of a corpus, oldest first."""
    versions = [each.removesuffix(".json") for each in objects.entries(name)[1] if each.endswith(".json")]
    return sorted((each for each in versions if re.fullmatch(VERSION_PATTERN, each)), key=version_key)


def release(name: str, version: str, objects: Objects) -> Release:
    """Return what is published as name@version. Raises UserError."""
    return _release(_known(name, version, objects), objects)


# --- the name ----------------------------------------------------------------------------------------------


def _named(name: str, version: str, objects: Objects) -> PublishedName | None:
    """Read the object that is the name of a version; None when there is none. Raises UserError."""
    path = f"{name}/{version}.json"
    if objects.size(path) is None:
        return None
    try:
        found = PublishedName.model_validate_json(b"".join(objects.read(path)))
    except ValidationError as error:
        what = f"this is not the name of a version:\n{describe_errors(error)}"
        raise UserError(what, where=objects.place(path)) from error
    if (found.corpus, found.version) != (name, version):
        what = f"this object says that it is {found.corpus}@{found.version}"
        raise UserError(what, where=objects.place(path))
    return found


def _known(name: str, version: str, objects: Objects) -> PublishedName:
    found = _named(name, version, objects)
    if found is None:
        raise UserError(f"{name} has no version {version}", where=objects.place(name))
    return found


def _name_of(corpus: Corpus, manifest_sha256: str) -> PublishedName:
    manifest = corpus.manifest
    files = folder_store.files_of(corpus)
    return PublishedName(
        corpus=manifest.corpus,
        version=manifest.version,
        folder=f"{manifest.version}-{manifest_sha256[:16]}",
        manifest_digest=manifest.manifest_digest,
        manifest_sha256=manifest_sha256,
        content_digest=manifest.content_digest,
        files=len(files),
        size_bytes=sum(path.stat().st_size for path in files),
    )


def _create(name: PublishedName, objects: Objects) -> bool:
    """Give a version its name; False when it has one already."""
    path = f"{name.corpus}/{name.version}.json"
    try:
        objects.create(path, name.to_bytes())
    except FileExistsError:
        return False
    except UserError:
        # The answer may have been lost and not the request: what is there decides.
        if objects.size(path) is None:
            raise
        return False
    if _named(name.corpus, name.version, objects) != name:
        raise UserError("the store does not give back what was written", where=objects.place(path))
    return True


def _release(name: PublishedName, objects: Objects, is_new: bool = False) -> Release:
    return Release(
        corpus=name.corpus,
        version=name.version,
        place=objects.place(f"{name.corpus}/{name.folder}"),
        manifest_digest=name.manifest_digest,
        content_digest=name.content_digest,
        files=name.files,
        size_bytes=name.size_bytes,
        is_new=is_new,
    )


# --- up ----------------------------------------------------------------------------------------------------


def _upload(
    corpus: Corpus, objects: Objects, name: PublishedName, workers: int, progress: Progress | None
) -> None:
    """Make the store hold every file of a corpus, each read back; the manifest is the last of them."""
    meter = Meter(progress, name.size_bytes)

    def send(entry: tuple[str, str]) -> None:
        file, wanted = entry
        source, path = corpus.folder / file, f"{name.corpus}/{name.folder}/{file}"
        size = source.stat().st_size
        # One that is there may be of an upload that was cut short: its bytes tell.
        if objects.size(path) != size or _digest(objects.read(path)) != wanted:
            objects.upload(path, source)
            if _digest(objects.read(path)) != wanted:
                raise UserError(
                    "the object is not what was sent; the version has no name and nobody reads it",
                    where=objects.place(path),
                    hint="run the same command again",
                )
        meter.add(size)

    _each(send, _digests(corpus.manifest, corpus.shards).items(), workers)
    if digest_file(corpus.folder / MANIFEST_NAME).sha256 != name.manifest_sha256:
        raise UserError("the corpus was replaced while it was read", where=str(corpus.folder))
    send((MANIFEST_NAME, f"sha256:{name.manifest_sha256}"))


# --- down --------------------------------------------------------------------------------------------------


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
        damaged = [place for place in _each(get, digests.items(), workers) if place is not None]
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
    get_all(_digests(manifest, read_shard_list(folder / manifest.shards_file)))


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


# --- both --------------------------------------------------------------------------------------------------


def _digests(manifest: Manifest, shards: Iterable[Shard]) -> dict[str, str]:
    """Every file of a corpus but the manifest, and the digest of its bytes."""
    found = dict(manifest.side_files)
    for shard in shards:
        digests = (shard.bin_sha256, shard.idx_sha256, shard.blocks_sha256, shard.table_sha256)
        for path, digest in zip(shard_files("", shard), digests, strict=True):
            found[path.as_posix()] = f"sha256:{digest}"
    return found


def _digest(pieces: Iterable[bytes]) -> str:
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return f"sha256:{whole.hexdigest()}"


def _each(function: Callable[[T], R], entries: Iterable[T], workers: int) -> list[R]:
    """Call a function with each entry, in threads; the first exception stops what is not begun."""
    with ThreadPoolExecutor(max(1, workers)) as pool:
        try:
            return list(pool.map(function, entries))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _part(progress: Progress | None, index: int) -> Progress | None:
    """The progress of one half of the work as progress of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(index * total + min(done, total), 2 * total)
