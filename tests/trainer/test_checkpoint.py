"""Checkpoints are whole or invisible: killed at every point of a save, damaged in every file, pruned,
replaced.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from manifests.fingerprint import UnstableValue
from trainer import checkpoint
from trainer.checkpoint import CheckpointError, newest_verified, save, steps_in, sweep, verify

CPU = torch.device("cpu")


def parts(value: float) -> dict[str, Any]:
    return {
        "weights": {"a": torch.full((64, 64), value), "b": torch.full((7,), value)},
        "optimizer": {"a": {"exp_avg": torch.full((64, 64), value), "step": torch.tensor(value)}},
    }


def save_step(folder: Path, step: int, keep: int = 3) -> Path:
    return save(folder, step, parts(float(step)), {"next_row": step * 8}, keep=keep)


def no_warning(text: str) -> None:
    raise AssertionError(text)


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    path = save_step(tmp_path, 30)
    found = newest_verified(tmp_path, no_warning)
    assert found is not None
    assert (found.path, found.step, found.facts) == (path, 30, {"next_row": 240})
    assert (tmp_path / "LATEST").read_text() == "step-00000030\n"
    loaded = found.load("optimizer", CPU)
    assert torch.equal(loaded["a"]["exp_avg"], parts(30.0)["optimizer"]["a"]["exp_avg"])
    assert loaded["a"]["step"] == 30


def test_newest_are_kept(tmp_path: Path) -> None:
    for step in (0, 10, 20, 30):
        save_step(tmp_path, step, keep=2)
    assert steps_in(tmp_path) == [20, 30]


def test_pruning_never_takes_the_one_just_saved_for_an_old_one(tmp_path: Path) -> None:
    """After falling back behind a damaged step 30, the steps up to the new one are what counts."""
    for step in (10, 20, 30):
        save_step(tmp_path, step)
    save_step(tmp_path, 15, keep=1)
    assert steps_in(tmp_path) == [15, 20, 30]


def test_a_step_is_never_written_into(tmp_path: Path) -> None:
    path = save_step(tmp_path, 30)
    damage(path / "weights.pt", 1000)
    save_step(tmp_path, 30)
    assert verify(path).step == 30
    (aside,) = tmp_path.glob("damaged-*")
    with pytest.raises(CheckpointError):
        verify(aside)


def damage(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "weights byte": lambda path: damage(path / "weights.pt", 9000),
    "optimizer byte": lambda path: damage(path / "optimizer.pt", 500),
    "weights cut": lambda path: truncate(path / "weights.pt"),
    "weights gone": lambda path: (path / "weights.pt").unlink(),
    "meta byte": lambda path: damage(path / "meta.json", (path / "meta.json").read_text().index("240")),
    "meta cut": lambda path: truncate(path / "meta.json"),
    "meta empty": lambda path: (path / "meta.json").write_bytes(b""),
    "meta no object": lambda path: (path / "meta.json").write_bytes(b"[]"),
    "meta gone": lambda path: (path / "meta.json").unlink(),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_falls_back_to_the_one_before_and_says_so(tmp_path: Path, name: str) -> None:
    save_step(tmp_path, 20)
    DAMAGES[name](save_step(tmp_path, 30))
    said: list[str] = []
    found = newest_verified(tmp_path, said.append)
    assert found is not None and found.step == 20
    assert len(said) == 1 and "step-00000030 cannot be used" in said[0]


def test_nothing_left_is_none(tmp_path: Path) -> None:
    DAMAGES["weights byte"](save_step(tmp_path, 30))
    said: list[str] = []
    assert newest_verified(tmp_path, said.append) is None
    assert len(said) == 1
    assert newest_verified(tmp_path / "absent", no_warning) is None


def test_a_failing_save_leaves_nothing(tmp_path: Path) -> None:
    save_step(tmp_path, 20)
    with pytest.raises(UnstableValue):
        save(tmp_path, 30, parts(1.0), {"loss": float("nan")}, keep=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LATEST", "step-00000020"]


def test_a_write_that_did_not_reach_the_disk_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The re-read compares the disk with the bytes meant, not with what the system said it wrote."""
    honest = checkpoint.write_part

    def lossy(path: Path, part: Any) -> checkpoint.FileEntry:
        entry = honest(path, part)
        damage(path, 100)
        return entry

    save_step(tmp_path, 20)
    monkeypatch.setattr(checkpoint, "write_part", lossy)
    with pytest.raises(CheckpointError, match="damaged"):
        save_step(tmp_path, 30)
    assert steps_in(tmp_path) == [20]


def killed_at(point: int, work: Callable[[], object]) -> bool:
    """Run `work` in a forked child that is killed just before its `point`-th change of the file system."""
    child = os.fork()
    if child == 0:
        calls = 0

        def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == point:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*args, **kwargs)

            return call

        try:
            for name in ("open", "mkdir", "fsync", "rename", "replace", "unlink", "rmdir"):
                setattr(os, name, deadly(getattr(os, name)))
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, "the child failed"
    return os.WIFSIGNALED(status)


def test_a_kill_at_any_point_leaves_a_usable_checkpoint(tmp_path: Path) -> None:
    points = 0
    while True:
        folder = tmp_path / str(points)
        save_step(folder, 10)
        save_step(folder, 20)
        killed = killed_at(points + 1, lambda folder=folder: save_step(folder, 30, keep=2))
        found = newest_verified(folder, no_warning)
        assert found is not None and found.step in (20, 30)
        assert torch.equal(found.load("weights", CPU)["a"], parts(float(found.step))["weights"]["a"])
        sweep(folder)
        assert all(path.name == "LATEST" or path.name.startswith("step-") for path in folder.iterdir())
        if not killed:
            assert found.step == 30
            break
        points += 1
    assert points > 12, "the counter no longer sees the writes"


@pytest.mark.parametrize("name", ["weights.pt", "meta.json"])
def test_a_folder_in_place_of_a_file_is_no_reason_to_stop(tmp_path: Path, name: str) -> None:
    for step in (10, 20):
        save_step(tmp_path, step)
    (tmp_path / "step-00000020" / name).unlink()
    (tmp_path / "step-00000020" / name).mkdir()
    said: list[str] = []
    found = newest_verified(tmp_path, said.append)
    assert found is not None and found.step == 10
    assert "Is a directory" in said[0]


@pytest.mark.parametrize("value", ["1e400", '"\\ud800"', "[" * 100_000], ids=["huge", "half", "deep"])
def test_a_meta_that_can_have_no_digest_is_damaged(tmp_path: Path, value: str) -> None:
    path = save_step(tmp_path, 10) / "meta.json"
    path.write_text(path.read_text().replace('"next_row": 80', f'"next_row": {value}'))
    with pytest.raises(CheckpointError, match=r"meta.json cannot be read"):
        verify(path.parent)


def test_a_copy_under_another_name_is_not_a_later_step(tmp_path: Path) -> None:
    shutil.copytree(save_step(tmp_path, 10), tmp_path / "step-00000020")
    said: list[str] = []
    found = newest_verified(tmp_path, said.append)
    assert found is not None and found.path.name == "step-00000010"
    assert "the checkpoint of step 10 under another name" in said[0]


def test_folders_of_other_people_are_left_alone(tmp_path: Path) -> None:
    names = ["step-7", "step-00000005-old", "step-\u00b2", "step-x"]
    for name in names:
        (tmp_path / name).mkdir()
    for step in (6, 8):
        save_step(tmp_path, step, keep=1)
    assert steps_in(tmp_path) == [8]
    assert all((tmp_path / name).is_dir() for name in names)


class Payload:
    """What a pickle that runs code looks like."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


def test_a_payload_is_never_run(tmp_path: Path) -> None:
    found = verify(save(tmp_path, 10, {"weights": {"a": Payload(tmp_path / "run")}}, {}, keep=1))
    with pytest.raises(CheckpointError, match="does not load") as caught:
        found.load("weights", CPU)
    assert caught.value.where == str(found.path / "weights.pt")
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch only says at which byte of the file it found itself."""
    save_step(tmp_path, 10)

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            if self.tell() > 3000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    monkeypatch.setattr(checkpoint, "open", Full, raising=False)
    with pytest.raises(OSError, match="No space left") as caught:
        save_step(tmp_path, 20)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LATEST", "step-00000010"]
