"""The work folder: entries are whole or absent, and one run holds the lock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dataprep.cache import Cache, key_of, work_lock
from manifests.errors import UserError
from manifests.fingerprint import UnstableValue


def commit(cache: Cache, key: str, content: bytes = b"result") -> None:
    attempt = cache.begin()
    (attempt / "out.bin").write_bytes(content)
    cache.commit(attempt, "stage", key, components={"a": 1}, facts={"n": 2}, seconds=0.1)


def test_a_committed_entry_is_found_with_its_receipt(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    key = key_of({"a": 1})
    assert cache.find("stage", key) is None
    commit(cache, key)
    entry = cache.find("stage", key)
    assert entry is not None
    assert entry.key == key
    assert entry.facts == {"n": 2}
    assert entry.receipt["components"] == {"a": 1}
    assert entry.file("out.bin").read_bytes() == b"result"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_attempt_without_commit_is_never_a_result(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    attempt = cache.begin()
    (attempt / "out.bin").write_bytes(b"half")
    (attempt / "receipt.json").write_bytes(b"{}")
    assert cache.find("stage", key_of({"a": 1})) is None
    cache.sweep()
    assert not attempt.exists()


def test_an_entry_with_a_cut_or_missing_output_counts_as_absent_and_is_replaced(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    commit(cache, "k" * 32)
    path = cache.get("stage", "k" * 32).file("out.bin")
    path.write_bytes(b"res")
    assert cache.find("stage", "k" * 32) is None
    commit(cache, "k" * 32)
    assert cache.get("stage", "k" * 32).file("out.bin").read_bytes() == b"result"
    cache.get("stage", "k" * 32).file("out.bin").unlink()
    assert cache.find("stage", "k" * 32) is None
    with pytest.raises(UserError, match="gone from the work folder"):
        cache.get("stage", "k" * 32)


def test_a_torn_receipt_counts_as_absent(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    commit(cache, "k" * 32)
    cache.get("stage", "k" * 32).file("receipt.json").write_bytes(b'{"key": ')
    assert cache.find("stage", "k" * 32) is None


def test_of_two_attempts_at_one_key_the_first_stays(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    first, second = cache.begin(), cache.begin()
    for attempt in (first, second):
        (attempt / "out.bin").write_bytes(b"same")
    for attempt in (first, second):
        cache.commit(attempt, "stage", "k" * 32, components={}, facts={}, seconds=0.0)
    assert not second.exists()
    assert cache.get("stage", "k" * 32).file("out.bin").read_bytes() == b"same"


def test_keys_cover_every_component_and_refuse_unstable_values() -> None:
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 1.0})
    with pytest.raises(UnstableValue):
        key_of({"a": {1, 2}})


HOLD = """
import sys, time
from pathlib import Path
from dataprep.cache import work_lock
with work_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(folder: Path, seconds: float) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_second_run_is_refused_with_the_holder_and_goes_on_after_its_death(tmp_path: Path) -> None:
    holder = hold(tmp_path, 60)
    with pytest.raises(UserError, match=f"in use by process {holder.pid}"), work_lock(tmp_path):
        pass
    holder.kill()
    holder.communicate()
    with work_lock(tmp_path):
        pass


def test_a_waiting_run_starts_when_the_other_ends(tmp_path: Path) -> None:
    holder = hold(tmp_path, 0.5)
    with work_lock(tmp_path, wait=True):
        assert holder.wait(timeout=5) == 0
    holder.communicate()


def test_every_byte_of_a_receipt_and_of_an_output_counts(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    commit(cache, "k" * 32)
    entry = cache.get("stage", "k" * 32)
    assert entry.is_intact()
    receipt = entry.file("receipt.json").read_bytes()
    for position in range(0, len(receipt), 7):
        changed = bytearray(receipt)
        changed[position] ^= 1
        entry.file("receipt.json").write_bytes(changed)
        assert cache.find("stage", "k" * 32) is None
    entry.file("receipt.json").write_bytes(receipt)
    entry.file("out.bin").write_bytes(b"resu1t")
    entry = cache.get("stage", "k" * 32)  # of the right size
    assert not entry.is_intact()
