"""A file under a second name, without its bytes being written again."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from manifests.errors import UserError
from manifests.files import atomic_path, check_free_space, fsync_directory, temporary_path

HOWS = ("auto", "hard", "symbolic", "copy")


def link_file(source: Path, target: Path, how: str = "auto") -> None:
    """Make `target` another name of `source`.

    how  "hard": a hard link, which stays whole when the first name is removed; "symbolic": a symbolic link,
         which needs the first name and crosses file systems; "auto": the first where it is possible, else
         the second; "copy": a copy

    Whoever writes into the source in place changes both, which `verify` then finds. Raises UserError.
    """
    real = source.resolve()
    if how == "copy":
        check_free_space(target.parent, real.stat().st_size)
        with atomic_path(target) as temporary:
            shutil.copyfile(real, temporary)
        return
    if how in ("auto", "hard"):
        try:
            _replace(lambda name: os.link(real, name), target)
            return
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP):
                raise
            if how == "hard":
                raise UserError(
                    f"no hard link to this file is possible: {error.strerror}",
                    where=str(source),
                    hint="--link symbolic, or --link copy",
                ) from None
    _replace(lambda name: os.symlink(real, name), target)


def _replace(make: Callable[[Path], None], target: Path) -> None:
    temporary = temporary_path(target)
    try:
        make(temporary)
        os.replace(temporary, target)
    finally:
        # POSIX: renaming one link of a file onto another link of it does nothing at all.
        temporary.unlink(missing_ok=True)
    fsync_directory(target.parent)
