"""The work folder: finished tasks under content keys, committed by one rename.

An entry is a folder `<stage>/<2 hex>/<key>/` that holds a task's output files and `receipt.json`, written
last. It is filled under `tmp/` and renamed into place, so an entry is whole or absent, and a file left over
from a killed run is never taken for a result. Two tasks that race to the same key write the same bytes; the
first rename wins. What a disk or a hand did to an entry since is found by the digests in the receipt: a
damaged entry counts as absent.

This file knows nothing of steps or stages. What goes into a key is decided in `plan.py`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from manifests.errors import UserError
from manifests.files import TEMPORARY_PREFIX, fsync_directory, fsync_file, write_atomic
from manifests.fingerprint import digest_value

RECEIPT = "receipt.json"
LOCK_NAME = "lock"
WAIT_SECONDS = 0.2


def key_of(components: Mapping[str, Any]) -> str:
    """Return the hex content key of `components` (everything that changes the bytes, and nothing else)."""
    return digest_value(dict(components)).split(":", 1)[1]


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished task: its folder and its receipt.

    The receipt holds `key`, `stage`, `components` (what the key was made of), `outputs` (file name ->
    [bytes, digest]), `facts` (what later stages need to know: counts, digests), `seconds`, and last the
    `digest` of all that.
    """

    folder: Path
    receipt: dict[str, Any]

    @property
    def key(self) -> str:
        return str(self.receipt["key"])

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = self.receipt["facts"]
        return facts

    @property
    def num_bytes(self) -> int:
        """Of all output files."""
        return sum(size for size, _ in self.receipt["outputs"].values())

    def file(self, name: str) -> Path:
        return self.folder / name

    def is_intact(self) -> bool:
        """Whether every output still has the bytes that were committed. Reads them all."""
        try:
            return all(
                _digest_file(self.folder / name) == digest
                for name, (_, digest) in self.receipt["outputs"].items()
            )
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Cache:
    """Entries below `root`. Any number of processes may read and commit at once."""

    root: Path

    def folder(self, stage: str, key: str) -> Path:
        return self.root / stage / key[:2] / key

    def find(self, stage: str, key: str) -> Entry | None:
        """Return the entry, or None when it is absent, its receipt is not as it was written, or an output is
        missing or of another size."""
        folder = self.folder(stage, key)
        try:
            receipt = _read_receipt(folder / RECEIPT)
            if receipt is None:
                return None
            sizes = {name: os.stat(folder / name).st_size for name in receipt["outputs"]}
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        if any(sizes[name] != size for name, (size, _) in receipt["outputs"].items()):
            return None
        return Entry(folder, receipt)

    def get(self, stage: str, key: str) -> Entry:
        entry = self.find(stage, key)
        if entry is None:
            raise UserError(
                f"a finished task of stage {stage} is gone from the work folder",
                where=str(self.folder(stage, key)),
                hint="run the same command again; what is missing is made anew",
            )
        return entry

    def begin(self) -> Path:
        """Return a new empty folder for one attempt of a task."""
        folder = self.root / "tmp" / f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        folder.mkdir(parents=True)
        return folder

    def commit(
        self,
        attempt: Path,
        stage: str,
        key: str,
        *,
        components: Mapping[str, Any],
        facts: Mapping[str, Any],
        seconds: float,
    ) -> Entry:
        """Make `attempt` (a folder from `begin`) the entry of `key`. Everything is on disk when this
        returns."""
        outputs: dict[str, list[int | str]] = {}
        for path in sorted(attempt.rglob("*")):
            if path.is_dir():
                fsync_directory(path)
                continue
            outputs[path.relative_to(attempt).as_posix()] = [path.stat().st_size, _digest_file(path)]
            fsync_file(path)
        receipt = {
            "key": key,
            "stage": stage,
            "components": dict(components),
            "outputs": outputs,
            "facts": dict(facts),
            "seconds": round(seconds, 3),
        }
        write_atomic(attempt / RECEIPT, _seal(_lines(receipt)))
        fsync_directory(attempt)
        final = self.folder(stage, key)
        final.parent.mkdir(parents=True, exist_ok=True)
        for retry in (False, True):
            try:
                os.rename(attempt, final)
                break
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR) or retry:
                    raise
                existing = self.find(stage, key)
                if existing is not None:  # another attempt at the same task was first: same key, same bytes
                    shutil.rmtree(attempt, ignore_errors=True)
                    return existing
                self.discard(stage, key)  # a damaged entry: this attempt takes its place
        fsync_directory(final.parent)
        return Entry(final, receipt)

    def discard(self, stage: str, key: str) -> None:
        """Remove an entry: first its name, in one rename, then its files."""
        grave = self.root / "tmp" / f"discarded-{uuid.uuid4().hex}"
        grave.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.rename(self.folder(stage, key), grave)
        except FileNotFoundError:
            return
        if grave.is_dir():
            shutil.rmtree(grave, ignore_errors=True)
        else:
            grave.unlink()

    def sweep(self) -> None:
        """Remove what killed attempts left. Only the holder of the lock may call this."""
        shutil.rmtree(self.root / "tmp", ignore_errors=True)
        for path in (*self.root.glob(f"{TEMPORARY_PREFIX}*"), *self.root.glob(f"plans/{TEMPORARY_PREFIX}*")):
            path.unlink(missing_ok=True)


def _digest_file(path: Path) -> str:
    hasher = xxhash.xxh3_128()
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(1 << 20):
            hasher.update(piece)
    return f"xxh3-128:{hasher.hexdigest()}"


_DIGEST_FIELD = b',\n "digest": "'


def _lines(receipt: Mapping[str, Any]) -> bytes:
    """The object with a line for each field. (`json` with an indent of its own is Python, not C; a receipt of
    WRITE has ten thousand numbers.)"""
    fields = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in receipt.items())
    return ("{\n" + ",\n".join(fields) + "\n}").encode()


def _seal(body: bytes) -> bytes:
    """Add the digest of a JSON object, written with a line for each field, as its last field."""
    return body[:-2] + _DIGEST_FIELD + xxhash.xxh3_128_hexdigest(body).encode() + b'"\n}'


def _read_receipt(path: Path) -> dict[str, Any] | None:
    """The receipt, or None when one bit of it is not what `commit` wrote."""
    head, _, tail = path.read_bytes().rpartition(_DIGEST_FIELD)
    body = head + b"\n}"
    if tail != xxhash.xxh3_128_hexdigest(body).encode() + b'"\n}':
        return None
    receipt: dict[str, Any] = json.loads(body)
    return receipt


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a file for this process, waiting for it; the kernel lets go of it when the process ends."""
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    """Take the lock if it is free; say whether it is held now."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def work_lock(work: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the work folder for this process.

    The lock is the kernel's (flock), so it vanishes with the process however it dies. A second run refuses
    with a line that names the holder, or waits for it when `wait` is true.
    """
    work.mkdir(parents=True, exist_ok=True)
    path = work / LOCK_NAME
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        # Asked for again and again: a Ctrl-C just before a call that blocks would be heard only after it.
        while not _locked(fd):
            if not wait:
                holder = os.pread(fd, 200, 0).decode(errors="replace").strip() or "another process"
                raise UserError(
                    f"the work folder is in use by {holder}",
                    where=str(work),
                    hint="wait for it, or pass --wait to start when it is done, or give this run its own "
                    "`work:`",
                )
            time.sleep(WAIT_SECONDS)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)
