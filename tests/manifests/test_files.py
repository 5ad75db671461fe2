"""A file is whole or absent, wherever a write fails and wherever the process is killed."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from manifests.files import (
    DiskFull,
    atomic_directory,
    atomic_path,
    check_free_space,
    fsync_directory,
    is_temporary,
    link_or_copy,
    temporary_path,
    write_atomic,
)

OLD, NEW = b"old content", b"new content, longer than the old"


def by_write_atomic(path: Path) -> None:
    write_atomic(path, NEW[:3], NEW[3:])


def by_atomic_path(path: Path) -> None:
    with atomic_path(path) as temporary:
        # Through os.write, so that the faults reach it.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT)
        try:
            os.write(descriptor, NEW)
        finally:
            os.close(descriptor)


WRITERS: dict[str, Callable[[Path], None]] = {"write_atomic": by_write_atomic, "atomic_path": by_atomic_path}


def fail_at(monkeypatch: pytest.MonkeyPatch, name: str, number: int, error: BaseException) -> list[str]:
    """Make the `number`-th call (from 1) of os.`name` raise. Returns a list that logs the calls of all."""
    log: list[str] = []
    for each in ("write", "fsync", "replace", "rename"):
        real = getattr(os, each)

        def fake(*args: object, each: str = each, real: Callable[..., object] = real) -> object:
            log.append(each)
            if each == name and log.count(each) == number:
                raise error
            return real(*args)

        monkeypatch.setattr(os, each, fake)
    return log


@pytest.mark.parametrize("writer", WRITERS)
def test_content_mode_and_order_of_calls(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fail_at(monkeypatch, "nothing", 1, OSError())
    previous = os.umask(0o022)
    try:
        WRITERS[writer](tmp_path / "file.bin")
    finally:
        os.umask(previous)
    assert (tmp_path / "file.bin").read_bytes() == NEW
    # The content is on the disk before the name is, and then the name is put there, too.
    assert [call for call in log if call != "write"] == ["fsync", "replace", "fsync"]
    assert log.index("fsync") > log.index("write")
    assert os.listdir(tmp_path) == ["file.bin"]
    if writer == "write_atomic":
        assert (tmp_path / "file.bin").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken disk"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("before", [None, OLD])
@pytest.mark.parametrize(("name", "number"), [("write", 1), ("fsync", 1), ("replace", 1), ("fsync", 2)])
def test_a_fault_leaves_the_old_file_or_the_new_one(
    writer: str,
    name: str,
    number: int,
    before: bytes | None,
    error: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "file.bin"
    if before is not None:
        path.write_bytes(before)
    with monkeypatch.context() as patch:
        fail_at(patch, name, number, error)
        with pytest.raises(type(error)):
            WRITERS[writer](path)
    named = (name, number) == ("fsync", 2)  # of the directory, after the rename
    after = path.read_bytes() if path.exists() else None
    assert after == (NEW if named else before)
    assert [entry for entry in os.listdir(tmp_path) if entry != "file.bin"] == []


def test_second_write_of_several_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_at(monkeypatch, "write", 2, OSError(errno.EIO, "broken disk"))
    with pytest.raises(OSError, match="broken disk"):
        by_write_atomic(tmp_path / "file.bin")
    assert os.listdir(tmp_path) == []


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.manifests.test_files import WRITERS
name, number, seen = {name!r}, {number}, 0
real = getattr(os, name)
def fake(*args):
    global seen
    seen += 1
    if seen == number:
        if name == "write":
            real(args[0], bytes(args[1])[:2])  # half of it reaches the file
        os.kill(os.getpid(), 9)
    return real(*args)
setattr(os, name, fake)
WRITERS[{writer!r}](Path({path!r}))
"""


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(("name", "number"), [("write", 1), ("fsync", 1), ("replace", 1), ("fsync", 2)])
def test_killed(writer: str, name: str, number: int, tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(OLD)
    root = str(Path(__file__).resolve().parents[2])
    code = KILLED.format(root=root, name=name, number=number, writer=writer, path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    assert path.read_bytes() == (NEW if (name, number) == ("fsync", 2) else OLD)
    # Whatever else lies there can be told from a result by its name.
    assert all(is_temporary(entry) for entry in os.listdir(tmp_path) if entry != "file.bin")


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:5]))
    write_atomic(tmp_path / "f", NEW)
    assert (tmp_path / "f").read_bytes() == NEW


def test_a_write_without_progress_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda descriptor, data: 0)
    with pytest.raises(OSError, match="short write: 0 of"):
        write_atomic(tmp_path / "f", NEW)
    assert os.listdir(tmp_path) == []


def test_a_real_short_write(tmp_path: Path) -> None:
    """The kernel itself writes less than asked, then fails: a file size limit is a small full disk."""
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from manifests.files import write_atomic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomic({str(tmp_path / "f")!r}, bytes(1500))
except OSError as error:
    print(error.errno)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{errno.EFBIG}\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("writer", WRITERS)
def test_full_disk(writer: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_at(monkeypatch, "write", 1, OSError(code, os.strerror(code)))
    with pytest.raises(DiskFull) as caught:
        WRITERS[writer](tmp_path / "f")
    assert caught.value.where == str(tmp_path / "f")
    assert os.listdir(tmp_path) == []


def test_free_space(tmp_path: Path) -> None:
    free_bytes = shutil.disk_usage(tmp_path).free
    check_free_space(tmp_path / "not" / "yet" / "there", 1)
    with pytest.raises(DiskFull, match=r"bytes needed, [0-9,]+ free"):
        check_free_space(tmp_path / "not" / "yet" / "there", free_bytes * 2)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("dtype", ["u1", "<u2", "<i4", "<i8", "<f8"])
@pytest.mark.parametrize("size", [0, 3])
def test_arrays_are_written_without_a_copy(tmp_path: Path, dtype: str, size: int) -> None:
    array = np.arange(size, dtype=dtype)
    write_atomic(tmp_path / "f", b"head", array.data, bytearray(b"tail"))
    assert (tmp_path / "f").read_bytes() == b"head" + array.tobytes() + b"tail"


def test_temporary_names() -> None:
    path = Path("folder/" + "n" * 250 + ".npy")
    temporary = temporary_path(path)
    assert temporary.parent == path.parent and is_temporary(temporary) and not is_temporary(path)
    assert temporary.suffix == ".npy"
    assert len(temporary.name) <= 255
    assert temporary_path(path) != temporary


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "missing" / "f", NEW)


def test_atomic_path_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "f"):
        pass
    assert os.listdir(tmp_path) == []


def test_fsync_of_a_directory_that_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fail_at(patch, "fsync", 1, OSError(errno.EINVAL, "not here"))
        fsync_directory(tmp_path)
    fail_at(monkeypatch, "fsync", 1, OSError(errno.EIO, "broken disk"))
    with pytest.raises(OSError, match="broken disk"):
        fsync_directory(tmp_path)


# --- directories -------------------------------------------------------------------------------------------


def fill(path: Path) -> None:
    with atomic_directory(path) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "a").write_bytes(NEW)
        (folder / "b").write_bytes(OLD)


def test_atomic_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = fail_at(monkeypatch, "nothing", 1, OSError())
    fill(tmp_path / "d")
    assert (tmp_path / "d" / "sub" / "a").read_bytes() == NEW
    # Two files and two directories before the rename, the parent after it.
    assert log == ["fsync"] * 4 + ["rename", "fsync"]
    assert os.listdir(tmp_path) == ["d"]


@pytest.mark.parametrize(("name", "number"), [("fsync", 1), ("fsync", 4), ("rename", 1)])
def test_atomic_directory_faults(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(monkeypatch, name, number, OSError(errno.EIO, "broken disk"))
    with pytest.raises(OSError, match="broken disk"):
        fill(tmp_path / "d")
    assert os.listdir(tmp_path) == []


def test_atomic_directory_never_replaces(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "mine").write_bytes(OLD)
    with pytest.raises(FileExistsError):
        fill(tmp_path / "d")
    assert os.listdir(tmp_path) == ["d"] and os.listdir(tmp_path / "d") == ["mine"]


# --- links -------------------------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "source").write_bytes(NEW)
    yield tmp_path / "source"
    assert (tmp_path / "source").read_bytes() == NEW
    assert not any(is_temporary(entry) for entry in os.listdir(tmp_path))


def test_link(source: Path) -> None:
    link_or_copy(source, source.with_name("target"))
    assert source.with_name("target").samefile(source)
    # Once more: renaming a link onto another link of the same file does nothing, and leaves both.
    link_or_copy(source, source.with_name("target"))


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM, errno.EMLINK])
def test_copy_where_links_are_impossible(source: Path, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise OSError(code, "no link")

    monkeypatch.setattr(os, "link", refuse)
    target = source.with_name("target")
    target.write_bytes(OLD)
    link_or_copy(source, target)
    assert target.read_bytes() == NEW and not target.samefile(source)


def test_link_of_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        link_or_copy(tmp_path / "missing", tmp_path / "target")
    assert os.listdir(tmp_path) == []
