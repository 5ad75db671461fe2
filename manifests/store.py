"""Published corpora: name@version, which never changes, and how it is found again.

    publish     a corpus below a root, under its name and version
    published   what there is below a root
    resolve     the folder of name@version
    fetch       name@version to a folder of one's own

A root is a folder (see `folder_store.py`) or the URL of an object store (see `object_store.py`). The names
that the rest of the project uses for opening and checking a corpus are here too.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from manifests import folder_store, object_fetch, object_store
from manifests.check import Problem
from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.objects import Objects, folder_of
from manifests.releases import Release, check_name
from manifests.verify import Progress, VerifyReport, verify

__all__ = [
    "Corpus",
    "Problem",
    "Progress",
    "Release",
    "VerifyReport",
    "fetch",
    "open_corpus",
    "publish",
    "published",
    "resolve",
    "verify",
]

StrPath = str | PathLike[str]


def publish(
    corpus_folder: StrPath, root: StrPath, workers: int = 1, progress: Progress | None = None
) -> Release:
    """Make a corpus available as name@version below `root`, verified in full before it gets the name.

    When this very corpus is published already, nothing happens. Raises UserError when the version is taken,
    when the corpus is damaged, or when the store cannot be written.
    """
    place = _opened(root)
    if isinstance(place, Path):
        return folder_store.publish(corpus_folder, place, workers, progress)
    return object_store.publish(corpus_folder, place, workers, progress)


def fetch(
    reference: str, root: StrPath, folder: StrPath, workers: int = 1, progress: Progress | None = None
) -> Release:
    """Make `folder` hold a published corpus, verified in full before the folder gets its name.

    When it holds this very corpus already, nothing happens. Raises UserError, listing what there is.
    """
    place = _opened(root)
    if isinstance(place, Path):
        return folder_store.fetch(reference, place, folder, workers, progress)
    return object_fetch.fetch(reference, place, folder, workers, progress)


def published(root: StrPath, name: str | None = None) -> list[Release]:
    """Return what is published below `root`, of one corpus or of all, oldest versions first."""
    place = _opened(root)
    found: list[Release] = []
    if isinstance(place, Path):
        for each in _wanted(name, folder_store.published_names(place), root):
            versions = folder_store.published_versions(each, place)
            found += [folder_store.release(each, version, place) for version in versions]
    else:
        for each in _wanted(name, object_store.published_names(place), root):
            versions = object_store.published_versions(each, place)
            found += [object_store.release(each, version, place) for version in versions]
    return found


def resolve(reference: str, root: StrPath) -> Path:
    """Return the folder of a published corpus, given "name@1.2.0", "name@1.2", "name@1" or "name@latest".

    Raises UserError, listing what there is; and when `root` is a URL, since a corpus is read from a disk.
    """
    folder = folder_of(root)
    if folder is None:
        raise UserError(
            "a corpus is read from a disk, and this one is published at a URL",
            where=f"{str(root).rstrip('/')}/{reference}",
            hint=f"dataprep fetch {reference} {root} FOLDER, then give the folder",
        )
    return folder_store.resolve(reference, folder)


def _opened(root: StrPath) -> Path | Objects:
    folder = folder_of(root)
    return Objects(str(root)) if folder is None else folder


def _wanted(name: str | None, names: list[str], root: StrPath) -> list[str]:
    if name is None:
        return names
    check_name(name, names, str(root))
    return [name]
