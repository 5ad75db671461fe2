"""Arrays in files of their own: `.npy` files, and plain bytes behind each other.

numpy's own `save` and `tofile` go around Python's files, and of a full disk they say neither that it is one
nor how much was missing. What is written here fails with `NoRoom`, which `task.py` makes a message of.

Memory: nothing beside the array; mapped files are read page by page.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

HEADER_BYTES = 128
FULL = (errno.ENOSPC, errno.EDQUOT)


def ragged_file(name: str) -> str:
    """File of an array that a CorpusEdit measured, beside the columns."""
    return f"{name}.npy"


class NoRoom(OSError):
    """A disk, or somebody's share of it, is full; `needed_bytes` were to be written to one file."""

    needed_bytes = 0


@contextmanager
def room_for(num_bytes: int) -> Iterator[None]:
    """Make a full disk a `NoRoom`."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL or isinstance(error, NoRoom):
            raise
        no_room = NoRoom(error.errno, os.strerror(error.errno), error.filename)
        no_room.needed_bytes = num_bytes
        raise no_room from error


def save_array(path: Path, array: npt.NDArray[Any]) -> None:
    """What `numpy.save` writes of an array in C order."""
    array = np.ascontiguousarray(array)
    with room_for(array.nbytes), path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(_bytes_of(array))


def append_array(file: BinaryIO, array: npt.NDArray[Any]) -> None:
    """The bytes of an array."""
    array = np.ascontiguousarray(array)
    with room_for(array.nbytes):
        file.write(_bytes_of(array))
        file.flush()


def _bytes_of(array: npt.NDArray[Any]) -> Any:
    return array.reshape(-1).view(np.uint8).data if array.size else b""


def new_mapped(path: Path, length: int) -> Any:
    """A `.npy` file of int64[length] to be filled through a map. Its room is taken at once: a page that finds
    none later kills the process."""
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.int64, shape=(length,))
    if hasattr(os, "posix_fallocate"):
        with room_for(array.nbytes), path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def mapped(path: Path) -> Any:
    """The array in a `.npy` file; an empty one cannot be mapped."""
    is_empty = path.stat().st_size <= HEADER_BYTES
    return np.load(path, mmap_mode=None if is_empty else "r", allow_pickle=False)
