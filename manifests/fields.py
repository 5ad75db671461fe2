"""The base of every model of the contract, and the few kinds of text and number that their fields hold.

Models are frozen, refuse unknown fields and convert nothing: an int is an int and not a numpy scalar, a str
or a float. What is wrong shows where it is written and not where it is read.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from manifests.errors import UserError

SUBSETS = ("train", "holdout")
"""The parts of a source: what a model learns from, and what it is only measured on."""

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""Names of corpora and sources. They become parts of file names, so nothing else is allowed."""

VERSION_PATTERN = (
    r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"
)
"""Semantic versions (semver.org): MAJOR.MINOR.PATCH, with an optional -prerelease and +build."""

# Below the manifest's folder, "/" between parts, no part starting with a dot: nothing outside or hidden.
RELATIVE_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_][A-Za-z0-9._+-]*)*$"

Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
SubsetName = Annotated[str, Field(pattern=f"^({'|'.join(SUBSETS)})$")]
Version = Annotated[str, Field(pattern=VERSION_PATTERN)]
RelativePath = Annotated[str, Field(pattern=RELATIVE_PATTERN)]
Digest = Annotated[str, Field(pattern=r"^[a-z0-9-]+:[0-9a-f]{16,128}$")]
"""Algorithm and hex digits, such as "sha256:<64 hex>"."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""Hex digits alone, as `sha256sum` prints them."""
Key = Annotated[str, Field(pattern=r"^([0-9a-f]{32})?$")]
"""A shuffle key, 128 bits; empty where there is no document."""


class Record(BaseModel):
    """A frozen, strict model."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def check_identity(corpus: str, version: str) -> None:
    """Raise UserError unless a corpus may have this name and this version.

    For those who are given both by a user: before work starts, and in words instead of a pattern.
    """
    check_name(corpus, "a corpus")
    if re.fullmatch(VERSION_PATTERN, version) is None:
        raise UserError(
            f"{version!r} is no version", hint="three numbers such as 1.0.0, 1.1.0-rc.1 or 1.0.0+a"
        )


def check_name(name: str, what: str) -> None:
    """Raise UserError unless `what`, such as "a source", may have this name."""
    if re.fullmatch(NAME_PATTERN, name) is None:
        hint = "letters, digits, _, - and ., at most 100, beginning with a letter or digit"
        raise UserError(f"{name!r} is no name of {what}", hint=hint)


def describe_errors(error: ValidationError) -> str:
    """Return every finding of a validation, one a line: "field.subfield: what"."""
    lines = []
    for finding in error.errors(include_url=False):
        place = ".".join(str(part) for part in finding["loc"])
        message = finding["msg"].removeprefix("Value error, ")
        lines.append(f"{place}: {message}" if place else message)
    return "\n".join(lines)
