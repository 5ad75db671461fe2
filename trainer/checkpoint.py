"""Checkpoints that are whole or invisible: written aside, hashed, read again, then named.

    checkpoints/step-00000030/    weights.pt  optimizer.pt  meta.json
    checkpoints/LATEST            the name of the newest one; a hint for people and tools, never trusted

Order of a save: temporary folder -> files, fsynced, digests taken from the bytes as they stream -> each file
read again and compared -> meta.json with the digests and one of its own -> rename -> LATEST by rename. A kill
at any moment leaves the earlier checkpoints as they were and at most a folder whose name starts with ".tmp-".
An existing checkpoint is never written into. Reading verifies every digest first and never unpickles code
(`weights_only`).

This file knows bytes; names and meta.json are in `checkpoint_meta.py`. What a run does with them (which to
resume, what may have changed) is in `start.py`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import torch
import xxhash

from manifests.files import TEMPORARY_PREFIX, check_free_space, fsync_directory, temporary_path, write_atomic
from manifests.fingerprint import digest_value
from trainer.checkpoint_meta import (
    FORMAT,
    FORMAT_VERSION,
    META,
    CheckpointError,
    FileEntry,
    read_meta,
    step_name,
    steps_in,
)

__all__ = [
    "LATEST",
    "Checkpoint",
    "CheckpointError",
    "newest_verified",
    "save",
    "step_name",
    "steps_in",
    "sweep",
    "verify",
]

DAMAGED_PREFIX, LATEST = "damaged-", "LATEST"
READ_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A verified checkpoint: where it lies, and the facts that were saved with it."""

    path: Path
    step: int
    facts: dict[str, Any]

    def load(self, name: str, device: torch.device) -> Any:
        """Tensors of one part ("weights", "optimizer") on `device`. Raises CheckpointError."""
        path = self.path / f"{name}.pt"
        try:
            return torch.load(path, map_location=device, weights_only=True, mmap=False)
        except Exception as error:  # torch refuses pickled code with an exception of pickle's own
            said = (str(error).splitlines() or [""])[0][:200]
            raise CheckpointError(
                f"file does not load ({type(error).__name__}: {said})", where=str(path)
            ) from error


class HashingWriter:
    """The file that torch.save writes into: passes bytes on and hashes them as they go by."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.hash, self.size_bytes = stream, xxhash.xxh3_128(), 0
        self.failure: OSError | None = None

    def write(self, data: bytes | memoryview) -> int:
        self.hash.update(data)
        self.size_bytes += len(data)
        try:
            return self.stream.write(data)
        except OSError as error:
            self.failure = error
            raise

    def flush(self) -> None:
        self.stream.flush()

    def entry(self, name: str) -> FileEntry:
        return FileEntry(name, self.size_bytes, f"xxh3-128:{self.hash.hexdigest()}")


def save(folder: Path, step: int, parts: Mapping[str, Any], facts: Mapping[str, Any], *, keep: int) -> Path:
    """Write `parts` (name -> tensors) and `facts` (JSON) as the checkpoint of `step`; keep the newest `keep`
    of all.

    Raises OSError or UserError, after which every earlier checkpoint is as it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    check_free_space(folder, sum(tensor_bytes(part) for part in parts.values()) * 11 // 10)
    final = folder / step_name(step)
    staging = temporary_path(final)
    staging.mkdir()
    try:
        entries = [write_part(staging / f"{name}.pt", part) for name, part in parts.items()]
        for entry in entries:
            check_file(staging / entry.name, entry)
        meta = {"format": FORMAT, "format_version": FORMAT_VERSION, "step": step, "facts": dict(facts)}
        meta["files"] = [asdict(entry) for entry in entries]
        meta["digest"] = digest_value(meta)
        write_atomic(staging / META, json.dumps(meta, indent=1).encode())
        fsync_directory(staging)
        if final.exists():  # resume fell back behind it, so it is damaged: keep it, but not under this name
            os.rename(
                final, temporary_path(folder / step_name(step)).with_name(f"{DAMAGED_PREFIX}{staging.name}")
            )
        os.rename(staging, final)
        fsync_directory(folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    write_atomic(folder / LATEST, f"{final.name}\n".encode())
    for old in [other for other in steps_in(folder) if other <= step][:-keep]:
        remove(folder / step_name(old))
    return final


def write_part(path: Path, part: Any) -> FileEntry:
    """Write tensors to a new file, fsynced, and drop it from the page cache so that a read comes from the
    disk.
    """
    with open(path, "xb") as stream:
        writer = HashingWriter(stream)
        try:
            torch.save(part, cast(IO[bytes], writer))
        except RuntimeError:
            if writer.failure is not None:  # torch says at which byte it stood, and not that the disk is full
                raise writer.failure from None
            raise
        stream.flush()
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return writer.entry(path.name)


def check_file(path: Path, entry: FileEntry) -> None:
    """Raise CheckpointError unless the file on disk has the size and digest of `entry`."""
    seen = xxhash.xxh3_128()
    size_bytes = 0
    try:
        with open(path, "rb") as stream:
            while block := stream.read(READ_BYTES):
                seen.update(block)
                size_bytes += len(block)
    except FileNotFoundError as error:
        raise CheckpointError("file is missing", where=str(path)) from error
    except OSError as error:
        raise CheckpointError(f"file cannot be read: {error.strerror}", where=str(path)) from error
    if size_bytes != entry.size_bytes:
        raise CheckpointError(f"file holds {size_bytes:,} bytes, not {entry.size_bytes:,}", where=str(path))
    if f"xxh3-128:{seen.hexdigest()}" != entry.digest:
        raise CheckpointError("file is damaged: its digest differs from the one saved", where=str(path))


def verify(path: Path) -> Checkpoint:
    """Read a checkpoint's meta.json and every byte of its files; raises CheckpointError on any difference."""
    meta = read_meta(path)
    for entry in meta.files:
        check_file(path / entry.name, entry)
    return Checkpoint(path, meta.step, meta.facts)


def newest_verified(folder: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest checkpoint that verifies; says through `warn` which newer ones do not, and why."""
    for step in reversed(steps_in(folder)):
        try:
            return verify(folder / step_name(step))
        except CheckpointError as error:
            warn(f"checkpoint {step_name(step)} cannot be used: {error.what} ({error.where})")
    return None


def sweep(folder: Path) -> list[Path]:
    """Remove what killed saves left. Only for the one process that holds the run's lock."""
    left = sorted(folder.glob(f"{TEMPORARY_PREFIX}*")) if folder.is_dir() else []
    for path in left:
        remove(path)
    return left


def remove(path: Path) -> None:
    """Delete a file, or a folder by way of a temporary name, so that a kill never leaves half a checkpoint
    named.
    """
    if not path.is_dir():
        path.unlink()
        return
    doomed = path if path.name.startswith(TEMPORARY_PREFIX) else path.rename(temporary_path(path))
    shutil.rmtree(doomed)


def tensor_bytes(part: Any) -> int:
    """Bytes of all tensors in nested dicts."""
    if isinstance(part, torch.Tensor):
        return part.nbytes
    return sum(tensor_bytes(value) for value in part.values()) if isinstance(part, Mapping) else 0
