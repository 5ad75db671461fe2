"""Published corpora in a folder.

    ROOT/<corpus>/<version>/manifest.json and all files of the corpus

A published version is complete and verified or it is not there: it is put together under a temporary name,
checked, and renamed. A corpus is fetched to a folder of any name in the same way.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.fields import VERSION_PATTERN
from manifests.files import atomic_directory, check_free_space, is_temporary, link_or_copy
from manifests.manifest import MANIFEST_NAME
from manifests.packings import packing_files
from manifests.releases import Release, choose, refuse_another, version_key
from manifests.verify import Progress, shard_files, verify

StrPath = str | PathLike[str]


def publish(
    corpus_folder: StrPath, root: StrPath, workers: int = 1, progress: Progress | None = None
) -> Release:
    """Make a corpus available as name@version below the folder `root`.

    Files are hard-linked where possible, else copied; then everything is verified, in full, at its new place,
    and only then named. When this very manifest is published already, nothing happens. Raises UserError when
    the version is taken, or when the corpus is damaged.
    """
    corpus = open_corpus(corpus_folder)
    _check_root(Path(root))
    target = Path(root) / corpus.manifest.corpus / corpus.manifest.version
    there = corpus_at(target)
    if there is None and _put(corpus, target, "published", workers, progress):
        return release_of(open_corpus(target), is_new=True)
    there = there or release_of(open_corpus(target))  # another process was first
    refuse_another(corpus.manifest, there)
    return there


def fetch(
    reference: str, root: StrPath, folder: StrPath, workers: int = 1, progress: Progress | None = None
) -> Release:
    """Make `folder` hold a published corpus, in the same way. Raises UserError if it holds something else."""
    corpus = open_corpus(resolve(reference, root))
    target = Path(folder)
    there = corpus_at(target)
    if there is None and _put(corpus, target, "fetched", workers, progress):
        return release_of(open_corpus(target), is_new=True)
    there = there or release_of(open_corpus(target))
    refuse_other_folder(release_of(corpus), there)
    return there


def resolve(reference: str, root: StrPath) -> Path:
    """Return the folder of a published corpus; `choose` says what a reference may be. Raises UserError."""
    name, version = choose(
        reference, str(root), lambda: published_names(root), lambda name: published_versions(name, root)
    )
    return Path(root) / name / version


def published_names(root: StrPath) -> list[str]:
    """Return the names below `root`, with or without a version."""
    root = Path(root)
    _check_root(root)
    return [path.name for path in sorted(root.iterdir()) if path.is_dir()] if root.is_dir() else []


def published_versions(name: str, root: StrPath) -> list[str]:
    """Return the published versions of a corpus, oldest first."""
    return sorted(
        (
            path.name
            for path in (Path(root) / name).iterdir()
            if re.fullmatch(VERSION_PATTERN, path.name)
            and not is_temporary(path)
            and (path / MANIFEST_NAME).is_file()
        ),
        key=version_key,
    )


def release(name: str, version: str, root: StrPath) -> Release:
    """Return what is published as name@version. Raises UserError."""
    return release_of(open_corpus(Path(root) / name / version))


def release_of(corpus: Corpus, is_new: bool = False) -> Release:
    """Return what an opened corpus is."""
    files = files_of(corpus)
    return Release(
        corpus=corpus.manifest.corpus,
        version=corpus.manifest.version,
        place=str(corpus.folder),
        manifest_digest=corpus.manifest.manifest_digest,
        content_digest=corpus.manifest.content_digest,
        files=len(files),
        size_bytes=sum(path.stat().st_size for path in files if path.is_file()),
        is_new=is_new,
    )


def files_of(corpus: Corpus) -> list[Path]:
    """Return the paths of all files of a corpus."""
    files = [corpus.folder / name for name in (MANIFEST_NAME, *corpus.manifest.side_files)]
    for shard in corpus.shards:
        files.extend(shard_files(corpus.folder, shard))
    return [*files, *packing_files(corpus.folder, corpus.manifest, corpus.shards)]


def corpus_at(folder: Path) -> Release | None:
    """Return what a folder that is to be written holds; None when there is nothing. Raises UserError."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not (folder / MANIFEST_NAME).is_file():
        raise UserError("something that is no corpus is here already", where=str(folder))
    return release_of(open_corpus(folder))


def refuse_other_folder(wanted: Release, there: Release) -> None:
    """Raise UserError unless the corpus in a folder is the one that is wanted there."""
    if there.manifest_digest != wanted.manifest_digest:
        raise UserError(
            f"the folder holds another corpus, {there.corpus}@{there.version} ({there.content_digest})",
            where=there.place,
            hint="give a new folder",
        )


def check_whole(folder: Path, shown: str, done: str, workers: int, progress: Progress | None) -> None:
    """Verify the corpus in `folder`, in full. Raises UserError, which names it as `shown`."""
    report = verify(folder, workers=workers, progress=progress)
    if not report.ok:
        raise UserError(
            f"the corpus is damaged and was not {done}:\n"
            + "\n".join(str(problem) for problem in report.problems[:10]),
            where=shown,
            hint=f"dataprep verify {shown}",
        )


def _check_root(root: Path) -> None:
    """Raise UserError where corpora cannot be published. A folder that is not there yet holds none."""
    if root.exists() and not root.is_dir():
        raise UserError("corpora are published in a folder, and this is none", where=str(root))


def _put(corpus: Corpus, target: Path, done: str, workers: int, progress: Progress | None) -> bool:
    """Put a corpus together at `target`; False when another process was first."""
    target.parent.mkdir(parents=True, exist_ok=True)
    files = files_of(corpus)
    if corpus.folder.stat().st_dev != target.parent.stat().st_dev:
        check_free_space(target.parent, sum(path.stat().st_size for path in files if path.is_file()))
    try:
        with atomic_directory(target) as folder:
            for path in files:
                place = folder / path.relative_to(corpus.folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                if path.is_file():  # what is missing is named by the verification
                    # Of a symbolic link, the file itself: what is published must not vanish with another.
                    link_or_copy(path.resolve(), place)
            check_whole(folder, str(corpus.folder), done, workers, progress)
    except FileExistsError:
        return False
    return True
