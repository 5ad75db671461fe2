"""Published corpora: name@version folders that never change, and how they are found again.

    ROOT/<corpus>/<version>/manifest.json and all files of the corpus

A published version is complete and verified or it is not there: it is put together under a temporary name,
checked, and renamed. Publishing the same version twice with other content is refused.

The names that the rest of the project uses for opening and checking a corpus are here too.
"""

from __future__ import annotations

import difflib
import re
from os import PathLike
from pathlib import Path

from manifests.check import Problem
from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.fields import VERSION_PATTERN
from manifests.files import atomic_directory, check_free_space, is_temporary, link_or_copy
from manifests.manifest import MANIFEST_NAME, Manifest, load_manifest
from manifests.packings import packing_files
from manifests.verify import Progress, VerifyReport, shard_files, verify

__all__ = [
    "Corpus",
    "Problem",
    "Progress",
    "VerifyReport",
    "open_corpus",
    "publish",
    "resolve",
    "verify",
    "version_key",
]

StrPath = str | PathLike[str]


def publish(
    corpus_folder: StrPath, root: StrPath, workers: int = 1, progress: Progress | None = None
) -> Path:
    """Make a corpus available as name@version below `root`; return ROOT/<corpus>/<version>.

    Files are hard-linked where possible, else copied; then everything is verified, in full, at its new place,
    and only then named. When this very manifest is published already, nothing happens. Raises UserError when
    the version is taken, or when the corpus is damaged.
    """
    corpus = open_corpus(corpus_folder)
    target = Path(root) / corpus.manifest.corpus / corpus.manifest.version
    if target.exists():
        return _same_or_refused(corpus.manifest, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    files = _files_of(corpus)
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
            report = verify(folder, workers=workers, progress=progress)
            if not report.ok:
                raise UserError(
                    "the corpus is damaged and was not published:\n"
                    + "\n".join(str(problem) for problem in report.problems[:10]),
                    where=str(corpus.folder),
                    hint=f"dataprep verify {corpus.folder}",
                )
    except FileExistsError:
        # Another process published this version in the meantime.
        return _same_or_refused(corpus.manifest, target)
    return target


def resolve(reference: str, root: StrPath) -> Path:
    """Return the folder of a published corpus, given "name@1.2.0", "name@1.2", "name@1" or "name@latest".

    Latest is the greatest semantic version, and a pre-release only where there is nothing else; of a version
    with parts left out it is the latest that begins with the others.
    Raises UserError, listing what there is.
    """
    name, separator, version = reference.partition("@")
    if not separator or not name or not version:
        raise UserError(f"{reference!r} is not of the form name@version", hint=f"{name or 'name'}@latest")
    root = Path(root)
    names = [path.name for path in sorted(root.iterdir()) if path.is_dir()] if root.is_dir() else []
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"published are: {', '.join(names) or 'none'}"
        raise UserError(f"no corpus {name} is published", where=str(root), hint=hint)
    versions = published_versions(name, root)
    if version == "latest" or re.fullmatch(r"[0-9]+(\.[0-9]+)?", version):
        begin = "" if version == "latest" else f"{version}."
        mine = [text for text in versions if text.startswith(begin)]
        releases = [text for text in mine if "-" not in text.partition("+")[0]]
        version = (releases or mine or [version])[-1]
    if version not in versions:
        hint = f"published are: {', '.join(versions) or 'none'}"
        raise UserError(f"{name} has no version {version}", where=str(root / name), hint=hint)
    return root / name / version


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


def version_key(version: str) -> tuple[object, ...]:
    """Return a sort key for semantic versions (semver.org, section 11).

    A pre-release comes before its release; its parts compare as numbers where they are numbers, and numbers
    before words. Build metadata has no precedence there; here it breaks ties, so that the order is total.
    """
    text, _, build = version.partition("+")
    numbers, _, prerelease = text.partition("-")
    parts = tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part) for part in prerelease.split(".") if part
    )
    return (tuple(int(number) for number in numbers.split(".")), not prerelease, parts, build)


def _files_of(corpus: Corpus) -> list[Path]:
    manifest = corpus.manifest
    files = [corpus.folder / name for name in (MANIFEST_NAME, *manifest.side_files)]
    for shard in corpus.shards:
        files.extend(shard_files(corpus.folder, shard))
    return [*files, *packing_files(corpus.folder, manifest, corpus.shards)]


def _same_or_refused(manifest: Manifest, target: Path) -> Path:
    there = load_manifest(target)
    if there.manifest_digest == manifest.manifest_digest:
        return target
    differs = "tokens" if there.content_digest != manifest.content_digest else "description"
    raise UserError(
        f"{manifest.corpus}@{manifest.version} is published already, with another {differs}",
        where=str(target),
        hint="a published version never changes: give the recipe a new version",
    )
