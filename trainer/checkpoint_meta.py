"""What a checkpoint says of itself: its name, and what its meta.json holds. No torch: the audit reads it too.

    meta.json   format, format_version, step, facts, files: [{name, size_bytes, digest}], digest of all of it

`checkpoint.py` writes it, and compares the files with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manifests.errors import UserError
from manifests.fingerprint import UnstableValue, digest_value

FORMAT, FORMAT_VERSION = "headrace-checkpoint", 1
STEP_PREFIX, META = "step-", "meta.json"


class CheckpointError(UserError):
    """A checkpoint that is not what its meta.json says."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    name: str
    size_bytes: int
    digest: str  # "xxh3-128:<32 hex>"


@dataclass(frozen=True, slots=True)
class Meta:
    step: int
    facts: dict[str, Any]
    files: tuple[FileEntry, ...]


def step_name(step: int) -> str:
    return f"{STEP_PREFIX}{step:08d}"


def steps_in(folder: Path) -> list[int]:
    """Steps that have a named checkpoint, ascending; whether they verify is another question."""
    if not folder.is_dir():
        return []
    names = {path.name.removeprefix(STEP_PREFIX) for path in folder.glob(f"{STEP_PREFIX}*") if path.is_dir()}
    # "step-7" and "step-00000007-old" are no names that a save gives: someone put them there.
    return sorted(
        int(name) for name in names if name.isdecimal() and step_name(int(name)) == STEP_PREFIX + name
    )


def read_meta(path: Path) -> Meta:
    """The meta.json of the checkpoint `path`; raises CheckpointError when it is not what was written."""
    where = path / META
    try:
        meta = json.loads(where.read_bytes())
        digest = meta.pop("digest")
        found = Meta(meta["step"], meta["facts"], tuple(FileEntry(**entry) for entry in meta["files"]))
        sound = digest_value(meta) == digest
    except FileNotFoundError as error:
        raise CheckpointError("meta.json is missing", where=str(path)) from error
    except OSError as error:
        raise CheckpointError(f"meta.json cannot be read: {error.strerror}", where=str(where)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UnstableValue) as error:
        raise CheckpointError(f"meta.json cannot be read ({error})", where=str(where)) from error
    if not sound:
        raise CheckpointError("meta.json is damaged: it does not have its own digest", where=str(where))
    if meta["format"] != FORMAT or meta["format_version"] != FORMAT_VERSION:
        raise CheckpointError(f"unknown format {meta['format']} {meta['format_version']}", where=str(where))
    if step_name(found.step) != path.name:
        raise CheckpointError(
            f"this is the checkpoint of step {found.step} under another name", where=str(path)
        )
    return found
