"""What the stages share: the description of a stage and of a task, and how a split is identified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dataprep.readers import ReadOptions, Split
from dataprep.readers.splits import identify
from manifests.errors import UserError
from manifests.fingerprint import digest_value


@dataclass(frozen=True, slots=True)
class Stage:
    """A kind of task, and the step that it serves where there may be several such stages.

    kind   names its folder in the cache and its `execute` in task.py
    label  of a step of the recipe, or "" for what a run does once
    """

    kind: str
    label: str = ""

    @property
    def name(self) -> str:
        return f"{self.label} {self.kind}" if self.label else self.kind


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work of a stage.

    label       what a person calls it: source and first file, or source, subset and shard number
    key         the content key, or None while the inputs are not identified (only in `measure`)
    components  what the key is made of
    payload     what `execute` needs, as JSON values; never part of the key
    """

    label: str
    key: str | None
    components: dict[str, Any]
    payload: dict[str, Any] = field(default_factory=dict)


def split_label(split: Split) -> str:
    """Name a split in messages: source, first file, and what of it or how many more."""
    first = split.extents[0]
    if len(split.extents) > 1:
        return f"{split.source}: {first.file.name} and {len(split.extents) - 1} more"
    if split.format == "parquet":
        return f"{split.source}: {first.file.name} row groups {first.start} to {first.end}"
    if (first.start, first.end) != (0, first.file.size_bytes):
        return f"{split.source}: {first.file.name} bytes {first.start:,} to {first.end:,}"
    return f"{split.source}: {first.file.name}"


def digest_split(split: Split, digests: Sequence[str]) -> str:
    """Identity of what a split holds: the names, ranges and bytes of its extents, not where they lie."""
    return digest_value(
        [[e.file.name, e.start, e.end, digest] for e, digest in zip(split.extents, digests, strict=True)]
    )


def identify_split(split: Split, known: Sequence[str | None]) -> list[str]:
    """The digest of every extent; only those that are not known are read."""
    return [digest or identify(extent) for extent, digest in zip(split.extents, known, strict=True)]


def options_from_json(value: Mapping[str, Any]) -> ReadOptions:
    return ReadOptions(**value)


def input_changed(label: str) -> UserError:
    return UserError(
        "the input changed while the run was reading it",
        where=label,
        hint="run the same command again when the files are at rest; what did not change is kept",
    )
