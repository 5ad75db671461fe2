"""Files that are whole or absent: temporary name, fsync, rename, fsync of the directory.

Everything that a later run may take for a result is written through this module. A process killed at any
moment leaves at most files and directories whose names start with ".tmp-", which every reader ignores; the
final name never holds half a file. A full disk removes what was written and raises `DiskFull`.

This module knows local disks only. It does not lock, retry or choose names.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from manifests.errors import UserError

TEMPORARY_PREFIX = ".tmp-"
"""Names that start so are unfinished or abandoned work and are never read."""

StrPath = str | PathLike[str]
Bytes = bytes | bytearray | memoryview

# One system call writes at most 2**31 - 4096 bytes on Linux and fails above 2**31 - 1 on macOS.
_WRITE_BYTES = 64 << 20

# Another file system; links not supported or not allowed; too many links to one file.
_LINK_IMPOSSIBLE = (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS)


class DiskFull(UserError):
    """There is no room, or there will not be, for what is to be written."""


def is_temporary(path: StrPath) -> bool:
    """Whether the last part of `path` is the name of unfinished work."""
    return Path(path).name.startswith(TEMPORARY_PREFIX)


def temporary_path(path: StrPath) -> Path:
    """Return an unused name beside `path`, so that a rename to `path` stays inside one file system.

    It keeps the end of the name, since some writers choose a format by suffix, or add one.
    """
    path = Path(path)
    return path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}-{path.name[-40:]}")


def write_atomic(path: StrPath, *parts: Bytes) -> None:
    """Write `parts`, one after the other, to the file `path`, replacing what was there; all or nothing.

    When it returns, the content and the name are on the disk. When it raises, `path` is as it was, except
    after a failing fsync of the directory, where it may already be the new file, whole. Each part may be
    anything with contiguous bytes wrapped in a memoryview, so arrays are written without a copy.
    Raises OSError, or DiskFull.
    """
    path = Path(path)
    temporary = temporary_path(path)
    with _explain_full_disk(path), _removed_on_error(temporary):
        # Not tempfile.mkstemp, whose files nobody but the owner can read.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            for part in parts:
                write_all(descriptor, memoryview(part).cast("B"), path)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
        fsync_directory(path.parent)


@contextmanager
def atomic_path(path: StrPath) -> Iterator[Path]:
    """Give the body a temporary path to write a file at; make it `path`, durably, when the body succeeds.

    The body must leave a complete, closed file there. When it raises, the temporary file is removed and
    `path` is as it was. Raises OSError, or DiskFull.
    """
    path = Path(path)
    temporary = temporary_path(path)
    with _explain_full_disk(path), _removed_on_error(temporary):
        yield temporary
        fsync_file(temporary)
        os.replace(temporary, path)
        fsync_directory(path.parent)


@contextmanager
def atomic_directory(path: StrPath) -> Iterator[Path]:
    """Give the body an empty temporary directory; make it `path`, durably, when the body succeeds.

    Every file below it is fsynced first. `path` must not exist, or be an empty directory: of two writers
    the first wins and the second gets FileExistsError. When the body raises, the directory is removed.
    """
    path = Path(path)
    temporary = temporary_path(path)
    with _explain_full_disk(path), _removed_on_error(temporary):
        temporary.mkdir()
        yield temporary
        for folder, _, names in os.walk(temporary):
            for name in names:
                fsync_file(Path(folder) / name)
            fsync_directory(folder)
        try:
            os.rename(temporary, path)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise FileExistsError(errno.EEXIST, "already there", str(path)) from error
            raise
        fsync_directory(path.parent)


def link_or_copy(source: StrPath, target: StrPath) -> None:
    """Make `target` a hard link to `source`, or a durable copy where links are impossible.

    Replaces `target` whole. A link is safe as long as nobody writes into files in place, which nothing in
    this project does: new content always comes under a new inode. Raises OSError, or DiskFull.
    """
    target = Path(target)
    temporary = temporary_path(target)
    with _explain_full_disk(target), _removed_on_error(temporary):
        try:
            os.link(source, temporary)
        except OSError as error:
            if error.errno not in _LINK_IMPOSSIBLE:
                raise
            shutil.copyfile(source, temporary)
            fsync_file(temporary)
        os.replace(temporary, target)
        # POSIX: renaming one link of a file onto another link of the same file does nothing at all.
        temporary.unlink(missing_ok=True)
        fsync_directory(target.parent)


def fsync_file(path: StrPath) -> None:
    """Make the content of a file durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_directory(path: StrPath) -> None:
    """Make the names in a directory durable. Without it a crash may undo a rename."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # File systems without the notion say EINVAL; there is nothing more that could be done there.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def check_free_space(directory: StrPath, needed_bytes: int) -> None:
    """Raise DiskFull unless the file system of `directory` has room for `needed_bytes` more.

    `directory` need not exist yet: its nearest existing parent is asked.
    """
    place = Path(directory).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    free_bytes = shutil.disk_usage(place).free
    if free_bytes < needed_bytes:
        raise DiskFull(
            f"not enough disk space: {needed_bytes:,} bytes needed, {free_bytes:,} free",
            where=str(directory),
            hint="free some space, or choose an output folder on another disk",
        )


def write_all(descriptor: int, data: Bytes, path: Path) -> None:
    """Write every byte. One call may write less (a signal, a nearly full disk); no progress is an error."""
    position = 0
    while position < len(data):
        count = os.write(descriptor, data[position : position + _WRITE_BYTES])
        if count <= 0:
            raise OSError(errno.EIO, f"short write: {position} of {len(data)} bytes", str(path))
        position += count


@contextmanager
def _removed_on_error(temporary: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        else:
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _explain_full_disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(
            f"the disk is full ({error.strerror}); what was written so far has been removed",
            where=str(path),
            hint="free some space and run the same command again",
        ) from error
