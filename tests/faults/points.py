"""Every call that changes a disk is a point at which a run may fail: counted, and one of them made to fail.

Python's own calls are seen here (`os.write`, `os.fsync`, the names that are given, taken and removed), which
is what `manifests/files.py` is made of. What pyarrow and numpy write goes below Python; it goes to temporary
names, and the calls that make results of them are seen.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

CALLS = ("write", "fsync", "replace", "rename", "link", "symlink", "unlink", "rmdir", "mkdir")
BY_DESCRIPTOR = ("write", "fsync")
FULL_DISK, BROKEN_DISK = errno.ENOSPC, errno.EIO


class Killed(BaseException):
    """The process is dead: nothing that would run after this changes the disk either."""


@dataclass
class Points:
    """What was called so far, and at which call (from 1; 0: none) what happens.

    kind  "kill": that call does not happen (of a write, half of it does), nor does any after it, so that
          what lies on the disk is what a killed process would leave; an errno: that call alone fails
          (of a full disk, unless it is one that takes nothing); "die": the process gets SIGKILL there
    """

    at: int = 0
    kind: str | int = "kill"
    calls: list[str] = field(default_factory=list)

    def called(self, name: str, real: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self.calls.append(name)
        number = len(self.calls)
        takes_nothing = self.kind == FULL_DISK and name in ("unlink", "rmdir")
        if not self.at or number < self.at or (number > self.at and self.kind != "kill") or takes_nothing:
            return real(*args, **options)
        if isinstance(self.kind, int):
            raise OSError(self.kind, os.strerror(self.kind), None if name in BY_DESCRIPTOR else str(args[0]))
        if number == self.at and name == "write":
            real(args[0], bytes(args[1])[: len(args[1]) // 2])
        if self.kind == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        raise Killed(f"at call {number}, {name}")


@contextmanager
def watched(at: int = 0, kind: str | int = "kill") -> Iterator[Points]:
    """Count the calls of this process within; the one numbered `at` fails."""
    points = Points(at, kind)
    real = {name: getattr(os, name) for name in CALLS}

    def fake(name: str) -> Callable[..., Any]:
        return lambda *args, **options: points.called(name, real[name], *args, **options)

    for name in CALLS:
        setattr(os, name, fake(name))
    try:
        yield points
    finally:
        for name, function in real.items():
            setattr(os, name, function)


@contextmanager
def short_writes(at_most: int) -> Iterator[None]:
    """One call writes a few bytes, as on a disk that is nearly full or after a signal."""
    real = os.write
    os.write = lambda descriptor, data: real(descriptor, memoryview(data).cast("B")[:at_most])
    try:
        yield
    finally:
        os.write = real
