"""The journal of a verification: which shards were found sound, so that one that was stopped goes on from
there.

A line of JSON for each shard, with what the file system said of its four files (size, times, inode) when
they were read. A shard is passed over only while all of that is still so, and only under the same manifest.
The journal is removed when a verification comes to its end, so the next one reads every byte again. A line
is written by one call and may be cut off by a kill: then it counts for nothing, and no other is added to it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from manifests.errors import UserError
from manifests.files import write_all

FORMAT = "headrace-verify-journal"
VERSION = 1

StrPath = str | PathLike[str]
Stat = list[list[int]]


class Journal:
    """Sound shards by name. Thread-safe. Raises UserError when its file cannot be written."""

    def __init__(self, path: StrPath, manifest_digest: str) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        header = {"format": FORMAT, "version": VERSION, "manifest_digest": manifest_digest}
        self._sound = _read(self.path, header)
        with self._explained():
            # In its place: half a journal is one, and a corpus gets no file that a kill leaves for good.
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            known = b"".join(map(_line, [header, *self._sound.values()]))
            if self.path.read_bytes() != known:
                os.ftruncate(self._file, 0)
                write_all(self._file, known, self.path)

    def last_key(self, shard: str, files: Sequence[Path]) -> str | None:
        """The last key of a shard that was sound and is as it was; None when it must be read."""
        entry = self._sound.get(shard)
        return None if entry is None or entry["stat"] != stat_of(files) else str(entry["last_key"])

    def add(self, shard: str, before: Stat | None, files: Sequence[Path], last_key: str) -> None:
        """Note a sound shard, unless its files changed while they were read."""
        now = stat_of(files)
        if now is None or now != before:
            return
        line = _line({"shard": shard, "stat": now, "last_key": last_key})
        with self._lock, self._explained():
            write_all(self._file, line, self.path)

    def finish(self) -> None:
        """The verification came to its end: nothing is left to go on from."""
        self.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._file)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UserError(
                f"the journal cannot be written: {error.strerror}",
                where=str(self.path),
                hint="verify without --resume, or make room, or make the folder writable",
            ) from error


def stat_of(files: Sequence[Path]) -> Stat | None:
    """What tells that a file was touched: size, time of content and of inode, inode. None where one is
    missing."""
    try:
        found = [os.stat(path) for path in files]
    except OSError:
        return None
    return [[each.st_size, each.st_mtime_ns, each.st_ctime_ns, each.st_ino] for each in found]


def _read(path: Path, header: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The entries of a journal of this manifest. A line that was cut off by a kill counts for nothing."""
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    records = [record for line in lines if (record := _parsed(line)) is not None]
    if not records or records[0] != header:
        return {}
    return {
        str(record["shard"]): record for record in records[1:] if {"shard", "stat", "last_key"} <= set(record)
    }


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
