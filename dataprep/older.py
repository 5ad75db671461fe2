"""Older corpora that a deduplication is held against: what they left for it (`publish_dedup: true`).

A corpus that publishes its `dedup` part names in its manifest a file of documents, and for each deduplication
of its recipe a file of what that compared: hashes or signatures of the documents that stayed, held-out ones
too. So a later corpus removes what the older one has already, and names the older document, without reading
the older text. What is compared must have been measured alike; other parameters are refused with a diff.

The files are made by `stages/index.py`; what is done with them is in `stages/copies.py` and `stages/near.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataprep.chain import Link
from dataprep.why import differences
from manifests.errors import UserError
from manifests.manifest import MANIFEST_NAME, DedupPart, load_manifest
from manifests.objects import is_url
from manifests.store import resolve


@dataclass(frozen=True, slots=True)
class Older:
    """What one older corpus left for one deduplication.

    name       name@version
    documents  file of its documents, one row each, in the order of ranks: the best first
    columns    file of what was compared; its column `document` is a row of the other
    digest     of both
    count      documents
    """

    name: str
    documents: Path
    columns: Path
    digest: str
    count: int


def older_of(link: Link) -> list[Older]:
    """The older corpora of a deduplication, in the order of the recipe. Raises UserError for one that cannot
    be compared."""
    params: Any = link.params
    found = [_opened(reference, link) for reference in params.against]
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"against names {twice} twice; the second would do nothing")
    return found


def described(link: Link) -> dict[str, Any]:
    """How documents are measured for a deduplication, as the manifest of an older corpus says it."""
    step = link.describe(())
    return {name: step[name] for name in ("step", "version", "parameters", "depends")}


def folder_of(reference: str) -> Path:
    """The folder of a corpus, given its path, the path of its manifest, or ROOT/name@version."""
    if is_url(reference):
        root, _, name = reference.rpartition("/")
        return resolve(name, root)
    path = Path(reference)
    if path.name == MANIFEST_NAME:
        return path.parent
    if not path.exists() and "@" in path.name:
        return resolve(path.name, path.parent)
    return path


def _opened(reference: str, link: Link) -> Older:
    folder = folder_of(reference)
    manifest = load_manifest(folder)
    name = f"{manifest.corpus}@{manifest.version}"
    part = manifest.dedup
    if part is None:
        raise UserError(
            f"{name} has no dedup part, so nothing can be held against it",
            where=str(folder),
            hint="run its recipe with `publish_dedup: true`; its shards stay as they are",
        )
    label = _alike(part, link, name, folder)
    found = part.steps[label]
    files = [folder / part.documents_file, folder / found.file]
    for file in files:
        if not file.is_file():
            raise UserError(f"a file of the dedup part of {name} is missing", where=str(file))
    digest = f"{part.documents_digest} {found.digest}"
    return Older(name, files[0], files[1], digest, part.documents)


def _alike(part: DedupPart, link: Link, name: str, folder: Path) -> str:
    """The label of a step of the older corpus that measured alike."""
    wanted = described(link)
    same_step = {label: each for label, each in part.steps.items() if each.measured["step"] == wanted["step"]}
    for label, each in same_step.items():
        if each.measured == wanted:
            return label
    lines: Sequence[str] = [f"it has no step {wanted['step']}"]
    if same_step:
        first = next(iter(same_step.values())).measured
        lines = [_line(*each) for each in differences(first, wanted)]
    raise UserError(
        f"{name} was not measured as step {link.label} asks:\n" + "\n".join(f"  {line}" for line in lines),
        where=str(folder),
        hint="give the step the same parameters, or make the older corpus again with these",
    )


def _line(path: tuple[str, ...], before: Any, now: Any) -> str:
    return f"{'.'.join(path)}: {_shown(before)} there, {_shown(now)} here"


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float | Mapping | list | None) else "none"
