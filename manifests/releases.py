"""Names of published corpora: which version a reference means, and that a version never changes.

Where the files lie is the matter of `folder_store.py` (a folder) and `object_store.py` (a URL); both follow
what is said here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass

from manifests.errors import UserError
from manifests.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Release:
    """One version of a corpus, published or fetched."""

    corpus: str
    version: str
    place: str
    """The folder that holds its files, or the URL of it."""
    manifest_digest: str
    content_digest: str
    files: int
    """How many files the corpus has, manifest included."""
    size_bytes: int
    is_new: bool = False
    """Whether this call brought it there; False where it was there already."""


def choose(
    reference: str, place: str, names: Callable[[], list[str]], versions_of: Callable[[str], list[str]]
) -> tuple[str, str]:
    """Return the name and the whole version that "name@1.2.0", "name@1.2", "name@1" or "name@latest" means.

    Latest is the greatest semantic version, and a pre-release only where there is nothing else; of a version
    with parts left out it is the latest that begins with the others. `versions_of` gives the versions of a
    name oldest first. Raises UserError, listing what there is at `place`.
    """
    name, separator, version = reference.partition("@")
    if not separator or not name or not version:
        raise UserError(f"{reference!r} is not of the form name@version", hint=f"{name or 'name'}@latest")
    check_name(name, names(), place)
    versions = versions_of(name)
    if version == "latest" or re.fullmatch(r"[0-9]+(\.[0-9]+)?", version):
        begin = "" if version == "latest" else f"{version}."
        mine = [text for text in versions if text.startswith(begin)]
        releases = [text for text in mine if "-" not in text.partition("+")[0]]
        version = (releases or mine or [version])[-1]
    if version not in versions:
        hint = f"published are: {', '.join(versions) or 'none'}"
        raise UserError(f"{name} has no version {version}", where=f"{place.rstrip('/')}/{name}", hint=hint)
    return name, version


def check_name(name: str, names: list[str], place: str) -> None:
    """Raise UserError unless `name` is among the names that are published at `place`."""
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"published are: {', '.join(names) or 'none'}"
        raise UserError(f"no corpus {name} is published", where=place, hint=hint)


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


def refuse_another(manifest: Manifest, there: Release) -> None:
    """Raise UserError unless what is published under the name of `manifest` is this very corpus."""
    if there.manifest_digest == manifest.manifest_digest:
        return
    differs = "tokens" if there.content_digest != manifest.content_digest else "description"
    raise UserError(
        f"{manifest.corpus}@{manifest.version} is published already, with another {differs}",
        where=there.place,
        hint="a published version never changes: give the recipe a new version",
    )
