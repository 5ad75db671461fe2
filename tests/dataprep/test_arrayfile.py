from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataprep.arrayfile import NoRoom, append_array, mapped, new_mapped, room_for, save_array
from dataprep.columnfile import write_columns

ARRAYS = [
    np.arange(10),
    np.zeros((0, 3), dtype=np.int64),
    np.arange(12, dtype=np.uint32).reshape(3, 4),
    np.arange(12, dtype=np.uint64).reshape(3, 4)[:, ::2],
    np.ones((3, 2), dtype=bool),
    np.zeros(0, dtype=np.uint8),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda each: f"{each.dtype} {each.shape}")
def test_files_are_those_of_numpy(array: Any, tmp_path: Path) -> None:
    save_array(tmp_path / "ours.npy", array)
    np.save(tmp_path / "numpy.npy", np.ascontiguousarray(array), allow_pickle=False)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()
    assert np.array_equal(mapped(tmp_path / "ours.npy"), array)
    with (tmp_path / "bytes").open("wb") as file:
        append_array(file, array)
        append_array(file, array)
    assert (tmp_path / "bytes").read_bytes() == 2 * array.tobytes()


def test_a_map_is_filled_in_place(tmp_path: Path) -> None:
    array = new_mapped(tmp_path / "a.npy", 3)
    array[:] = [3, 1, 2]
    array.flush()
    assert mapped(tmp_path / "a.npy").tolist() == [3, 1, 2]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="has no device that is always full")
def test_a_full_disk_is_said_to_be_one(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    array = np.arange(1000)
    with pytest.raises(NoRoom) as caught:
        save_array(full, array)
    assert (caught.value.errno, caught.value.needed_bytes) == (errno.ENOSPC, 8000)
    with full.open("wb", buffering=0) as file, pytest.raises(NoRoom):
        append_array(file, array)
    with pytest.raises(NoRoom) as caught:
        write_columns(full, {"a": array})
    assert caught.value.needed_bytes == 8000


def test_other_errors_are_not_about_room() -> None:
    with pytest.raises(PermissionError), room_for(1):
        raise PermissionError(errno.EACCES, "no")
