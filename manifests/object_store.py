"""Published corpora in an object store, which has no rename and no folders.

    ROOT/<corpus>/<version>.json                               the name: which corpus this version is
    ROOT/<corpus>/<version>-<16 hex digits>/manifest.json ...  its files; the digits are of the manifest

The name is one small object. It is written last, when every object of the corpus was read back and is what
the manifest says, and it is created only where there is none: so a version is complete and verified or it is
not there, and the first of two publishers has it. What was cut short left objects without a name, which
nobody reads; the next publication of the same corpus reads them back and goes on.

`object_fetch.py` brings one back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from os import PathLike
from typing import Literal

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
from manifests.fingerprint import digest_file
from manifests.manifest import MANIFEST_NAME, manifest_path
from manifests.objects import Objects
from manifests.releases import Release, refuse_another, version_key
from manifests.transfers import digests_of, each_in_threads, half
from manifests.verify import Meter, Progress

StrPath = str | PathLike[str]


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
        folder_store.check_whole(corpus.folder, str(corpus.folder), "published", workers, half(progress, 0))
        name = _name_of(corpus, manifest_sha256)
        _upload(corpus, objects, name, workers, half(progress, 1))
        if _create(name, objects):
            return release_of(name, objects, is_new=True)
        there = known(manifest.corpus, manifest.version, objects)
    found = release_of(there, objects)
    refuse_another(manifest, found)
    return found


def published_names(objects: Objects) -> list[str]:
    """Return the names among `objects`, with or without a version."""
    return [name for name in objects.entries("")[0] if re.fullmatch(NAME_PATTERN, name)]


def published_versions(name: str, objects: Objects) -> list[str]:
    """Return the published versions of a corpus, oldest first."""
    versions = [each.removesuffix(".json") for each in objects.entries(name)[1] if each.endswith(".json")]
    return sorted((each for each in versions if re.fullmatch(VERSION_PATTERN, each)), key=version_key)


def release(name: str, version: str, objects: Objects) -> Release:
    """Return what is published as name@version. Raises UserError."""
    return release_of(known(name, version, objects), objects)


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


def known(name: str, version: str, objects: Objects) -> PublishedName:
    """Return the name of a version that is published. Raises UserError."""
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


def release_of(name: PublishedName, objects: Objects, is_new: bool = False) -> Release:
    """Return what a name stands for."""
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

    each_in_threads(send, digests_of(corpus.folder, corpus.manifest, corpus.shards).items(), workers)
    if digest_file(corpus.folder / MANIFEST_NAME).sha256 != name.manifest_sha256:
        raise UserError("the corpus was replaced while it was read", where=str(corpus.folder))
    send((MANIFEST_NAME, f"sha256:{name.manifest_sha256}"))


def _digest(pieces: Iterable[bytes]) -> str:
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return f"sha256:{whole.hexdigest()}"
