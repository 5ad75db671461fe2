"""A verification that was stopped goes on from there, and never passes over a file that was touched."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from manifests import verify as module
from manifests.errors import UserError
from manifests.manifest import load_manifest
from manifests.store import verify
from tests.faults.points import BROKEN_DISK, FULL_DISK, Killed, watched
from tests.manifests.corpora import Part, make_corpus

PARTS = [Part("code", "train", (40 + number,) * 3) for number in range(6)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_corpus(tmp_path / "c", PARTS)
    return tmp_path / "c"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The shards that were read, and after `stop` of them the verification is stopped."""
    names: list[str] = []
    real = module.full_check

    def watch(folder, shard, manifest, on_bytes=None):  # type: ignore[no-untyped-def]
        if len(names) == STOP["after"]:
            raise KeyboardInterrupt
        names.append(shard.name)
        return real(folder, shard, manifest, on_bytes)

    monkeypatch.setattr(module, "full_check", watch)
    STOP["after"] = 1000
    return names


STOP = {"after": 1000}


def stopped_after(count: int, folder: Path, read: list[str]) -> Path:
    journal = folder / module.JOURNAL_NAME
    STOP["after"] = count
    with pytest.raises(KeyboardInterrupt):
        verify(folder, journal=journal)
    assert len(read) == count
    STOP["after"] = 1000
    read.clear()
    return journal


def test_it_goes_on(folder: Path, read: list[str]) -> None:
    whole = verify(folder)
    read.clear()
    journal = stopped_after(4, folder, read)
    seen = []
    report = verify(folder, journal=journal, progress=lambda done, total: seen.append((done, total)))
    assert [name[-5:] for name in read] == ["00004", "00005"]
    assert report == whole and seen[-1][0] == seen[-1][1]
    assert not journal.exists()
    read.clear()
    verify(folder, journal=journal)
    assert len(read) == 6  # whole again


def test_what_was_touched_is_read_again(folder: Path, read: list[str]) -> None:
    journal = stopped_after(4, folder, read)
    path = folder / "code" / "train-00001.bin"
    status, data = path.stat(), bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # as if it had not been
    report = verify(folder, journal=journal)
    assert "code/train-00001" in read and "the block is damaged" in str(report.problems[0])


def test_damage_is_not_journalled(folder: Path, read: list[str]) -> None:
    path = folder / "code" / "train-00000.bin"
    path.write_bytes(b"x" + path.read_bytes()[1:])
    journal = stopped_after(3, folder, read)
    report = verify(folder, journal=journal)
    assert "code/train-00000" in read and len(report.problems) == 1


def test_a_journal_of_another_corpus_counts_for_nothing(folder: Path, read: list[str]) -> None:
    journal = stopped_after(3, folder, read)
    make_corpus(folder, PARTS, version="2.0.0")
    assert verify(folder, journal=journal).ok and len(read) == 6


@pytest.mark.parametrize("text", ["", "{", '{"format": "other"}\n', "\0" * 100, "[1]\n[2]\n", "null"])
def test_a_damaged_journal_counts_for_nothing(text: str, folder: Path, read: list[str]) -> None:
    journal = stopped_after(3, folder, read)
    journal.write_text(text)
    assert verify(folder, journal=journal).ok and len(read) == 6


def test_a_line_that_was_cut(folder: Path, read: list[str]) -> None:
    journal = stopped_after(3, folder, read)
    journal.write_bytes(journal.read_bytes()[:-9])
    assert verify(folder, journal=journal).ok and len(read) == 4


def test_a_journal_cut_at_any_byte(folder: Path, read: list[str]) -> None:
    """Whatever a kill left of it: no shard is passed over that was not found sound, and no line is spoilt by
    the one before it."""
    journal = stopped_after(3, folder, read)
    path = folder / "code" / "train-00004.bin"
    path.write_bytes(b"x" + path.read_bytes()[1:])
    wanted = verify(folder)
    data = journal.read_bytes()
    ends = [at for at in range(len(data)) if data[at : at + 1] == b"\n"]
    for size in [*range(0, len(data) + 1, 37), *ends, *(end + 1 for end in ends)]:
        journal.write_bytes(data[:size])
        read.clear()
        kept = sum(size >= end for end in ends[1:])
        stopped_after(5 - kept, folder, read)  # the journal is gone on with
        assert verify(folder, journal=journal) == wanted and "code/train-00000" not in read


@pytest.mark.parametrize("kind", ["kill", BROKEN_DISK, FULL_DISK])
def test_wherever_its_writing_fails(kind: str | int, folder: Path, read: list[str]) -> None:
    whole, journal = verify(folder), folder / module.JOURNAL_NAME
    with watched() as points:
        verify(folder, journal=journal)
    assert points.calls.count("write") == 1 + len(PARTS)
    for at in range(1, len(points.calls)):
        with watched(at, kind), pytest.raises((Killed, UserError)) as caught:
            verify(folder, journal=journal)
        if kind != "kill":
            assert isinstance(caught.value, UserError) and caught.value.where == str(journal)
        read.clear()
        assert verify(folder, journal=journal) == whole
        # After an error, shards that were read before the threads heard of it may be noted, too.
        found = len(PARTS) - len(read) - max(0, at - 2)
        assert found == 0 if kind == "kill" else 0 <= found <= len(PARTS)


def test_an_entry_names_the_manifest_and_the_files(folder: Path, read: list[str]) -> None:
    journal = stopped_after(1, folder, read)
    header, entry = map(json.loads, journal.read_text().splitlines())
    assert header["manifest_digest"] == load_manifest(folder).manifest_digest
    assert entry["shard"] == "code/train-00000" and [len(each) for each in entry["stat"]] == [4] * 4


def test_a_quick_one_has_no_journal(folder: Path) -> None:
    assert verify(folder, quick=True, journal=folder / "j").ok and not (folder / "j").exists()


def test_a_journal_that_cannot_be_written(folder: Path) -> None:
    with pytest.raises(UserError, match="the journal cannot be written"):
        verify(folder, journal=folder / "none" / "j")


def test_in_threads(folder: Path, read: list[str]) -> None:
    journal = stopped_after(3, folder, read)
    report = verify(folder, workers=4, journal=journal)
    assert report.ok and len(read) == 3 and not journal.exists()
    assert threading.active_count() < 10
