"""A place in the bytes of a model file that moves on as values are taken, and never past the end."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.kernels.texts import Bytes
from manifests.errors import UserError

MAP_BYTES = 16 << 20
"""A larger file is mapped into memory: workers share it, and only what is used is read."""


class Cursor:
    """Takes little-endian values from `file`. What is not there is a UserError."""

    def __init__(self, file: Bytes, path: str) -> None:
        self.file, self.path, self.at = file, path, 0

    def refuse(self, what: str) -> UserError:
        return UserError(
            f"not a whole fastText model: {what}", where=self.path, hint="copy, download or train it again"
        )

    def skip(self, size_bytes: int) -> int:
        """Pass over bytes; returns where they start."""
        if not 0 <= size_bytes <= self.file.size - self.at:
            raise self.refuse(f"the file ends early, after {self.file.size:,} bytes")
        start, self.at = self.at, self.at + size_bytes
        return start

    def array(self, kind: Any, number: int) -> npt.NDArray[Any]:
        """A copy of the next `number` values."""
        dtype = np.dtype(kind).newbyteorder("<")
        start = self.skip(number * dtype.itemsize)
        return np.frombuffer(self.file[start : self.at].tobytes(), dtype=dtype).astype(kind)

    def number(self, kind: Any) -> int:
        return int(self.array(kind, 1)[0])

    def flag(self) -> bool:
        value = self.number(np.uint8)
        if value > 1:
            raise self.refuse(f"{value} where 0 or 1 should be, at byte {self.at - 1:,}")
        return value == 1


def cursor_at_start(path: str) -> Cursor:
    """A cursor over a file. While it is in use a file may be replaced, but not rewritten in place."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size <= MAP_BYTES:
                return Cursor(np.frombuffer(file.read(), dtype=np.uint8), path)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return Cursor(np.frombuffer(mapped, dtype=np.uint8), path)
    except OSError as error:
        raise UserError(f"cannot read a model: {error.strerror}", where=path) from error
