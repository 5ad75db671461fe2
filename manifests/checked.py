"""Which evaluation sets corpora were checked against, for whoever is about to evaluate a model.

A set counts as checked by a corpus that lists the digest of its file for all sources. Contamination that was
found is no refusal: what was dropped is gone, and what was only reported is in the manifest. Finding it is
`dataprep contamination`'s work.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from typing import Literal

from manifests.errors import UserError
from manifests.fingerprint import digest_file
from manifests.manifest import Manifest

Policy = Literal["refuse", "warn", "ignore"]
StrPath = str | PathLike[str]


def unchecked(manifests: Sequence[Manifest], path: StrPath) -> list[Manifest]:
    """The corpora that were not checked against the evaluation set in a file. Raises UserError where it
    cannot be read."""
    try:
        digest = digest_file(path).digest
    except OSError as error:
        raise UserError(
            f"the evaluation set cannot be read: {error.strerror}", where=os.fspath(path)
        ) from error
    return [each for each in manifests if not _is_checked(each, digest)]


def require_checked(
    manifests: Sequence[Manifest], paths: Sequence[StrPath], policy: Policy = "refuse"
) -> list[str]:
    """Warnings, a line for each evaluation set that some of the training corpora were not checked against;
    under the policy `refuse` a UserError that names them all."""
    if policy == "ignore":
        return []
    lines = []
    for path in paths:
        missing = unchecked(manifests, path)
        if missing:
            names = ", ".join(f"{each.corpus}@{each.version}" for each in missing)
            lines.append(f"{os.fspath(path)} was not looked for in {names}")
    if lines and policy == "refuse":
        hint = "dataprep contamination MANIFEST --evals FILE says what it holds; add FILE to `evals:` of the "
        raise UserError(
            "scores may be contaminated:\n" + "\n".join(lines),
            hint=f"{hint}step decontaminate, or evaluate under the policy `warn`",
        )
    return lines


def _is_checked(manifest: Manifest, digest: str) -> bool:
    whole = set(manifest.sources)
    covered: set[str] = set()
    for each in manifest.lineage.evals:
        if each.digest == digest:
            covered |= whole if each.sources is None else set(each.sources)
    return whole <= covered
