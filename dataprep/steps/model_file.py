"""A file that a step's results depend on, such as a model: its digest goes into the key."""

from __future__ import annotations

import os
from functools import lru_cache

from manifests.errors import UserError
from manifests.fingerprint import digest_file


def file_digest(path: str, step: str) -> str:
    """Digest of a file, read again only when its size or time changes. Raises UserError if there is none."""
    try:
        stat = os.stat(path)
        return _digest(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(
            f"cannot read the file {path}: {reason}",
            where=f"step {step}",
            hint="paths count from the current folder, as on any command line",
        ) from error


@lru_cache(maxsize=256)
def _digest(path: str, size_bytes: int, mtime_ns: int) -> str:
    return digest_file(path).digest
