from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.extraction import client as module
from dataprep.extraction.client import Client, Settings, client_of
from dataprep.extraction.outcomes import Outcome

ROOT = Path(__file__).resolve().parents[3]
PLANTED = "tests.dataprep.extraction.engines_for_tests:planted"
LIMITS = {"cpu_seconds": 1, "memory_bytes": 512 << 20}


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    client = Client(Settings(PLANTED, {}, **LIMITS))
    yield client
    client.close()


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[tuple[Client, Path]]:
    log = tmp_path / "log"
    client = Client(Settings(PLANTED, {"log": str(log)}, **LIMITS))
    yield client, log
    client.close()


def is_gone(pid: int, within: float = 10.0) -> bool:
    """Whether a process has ended, and is no zombie of ours either."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z" and os.getppid() != pid:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
    return False


def test_texts_come_back_in_order(shared: Client) -> None:
    pages = [f"page {n}".encode() for n in range(100)] + ["кот \u4e2d".encode(), b"x" * 3_000_000]
    assert shared.extract(pages) == [(Outcome.OK, page.decode().upper().encode()) for page in pages]


def test_nothing_to_do_starts_nothing() -> None:
    client = Client(Settings(PLANTED, {}))
    assert client.extract([]) == [] and client.pid is None


@settings(max_examples=20)
@given(pages=st.lists(st.text(max_size=40).map(lambda text: "x " + text), max_size=8))
def test_any_text_there_and_back(shared: Client, pages: list[str]) -> None:
    found = shared.extract([page.encode() for page in pages])
    assert found == [(Outcome.OK, page.upper().encode()) for page in pages]


@pytest.mark.parametrize(
    ("page", "outcome"),
    [
        ("crash", Outcome.CRASHED),
        ("abort", Outcome.CRASHED),
        ("exit 0", Outcome.CRASHED),
        ("exit 3", Outcome.CRASHED),
        ("rust-out-of-memory", Outcome.OUT_OF_MEMORY),
        ("eat", Outcome.OUT_OF_MEMORY),
        ("swallow", Outcome.OUT_OF_MEMORY),
        ("raise", Outcome.FAILED),
        ("sys.exit", Outcome.FAILED),
        ("recurse", Outcome.TOO_DEEP),
        ("  ", Outcome.EMPTY),
        ("", Outcome.EMPTY),
    ],
)
def test_what_pages_do_costs_only_them(shared: Client, page: str, outcome: Outcome) -> None:
    found = shared.extract([b"before", page.encode(), b"after"])
    assert found == [(Outcome.OK, b"BEFORE"), (outcome, b""), (Outcome.OK, b"AFTER")]


@pytest.mark.slow
def test_a_page_that_hangs_ends_by_its_cpu_time(shared: Client) -> None:
    """Twice: at first, and once more alone. Only the outcome is judged: time on the wall proves nothing."""
    found = shared.extract([b"before", b"hang", b"after"])
    assert found == [(Outcome.OK, b"BEFORE"), (Outcome.OUT_OF_TIME, b""), (Outcome.OK, b"AFTER")]


def test_waiting_is_no_cpu_time(shared: Client) -> None:
    assert shared.extract([b"sleep 1.2"]) == [(Outcome.OK, b"SLEEP 1.2")]  # the limit is 1 second


def test_the_time_of_earlier_pages_does_not_count(shared: Client) -> None:
    loop = "x" * 2_000_000
    found = shared.extract([loop.encode()] * 40)
    assert {outcome for outcome, _ in found} == {Outcome.OK}


def test_what_a_page_prints_is_no_answer(shared: Client) -> None:
    assert shared.extract([b"print", b"x"]) == [(Outcome.OK, b"PRINT"), (Outcome.OK, b"X")]


def test_a_text_that_is_not_utf8_is_mended(shared: Client) -> None:
    assert shared.extract([b"surrogate"]) == [(Outcome.OK, b"?x")]


def test_a_page_that_takes_the_worker_down_is_tried_once_more_alone(logged: tuple[Client, Path]) -> None:
    client, log = logged
    client.extract([b"one", b"crash", b"two"])
    processes, pages = zip(*(line.split(" ", 1) for line in log.read_text().splitlines()), strict=True)
    assert pages == ("one", "crash", "crash", "two")
    assert processes[0] == processes[1] and len(set(processes)) == 3  # "two" gets a third one


def test_memory_that_earlier_pages_kept_does_no_harm(logged: tuple[Client, Path]) -> None:
    """A process that has grown makes room for another before the next page."""
    client, log = logged
    page = f"keep {100 << 20}".encode()
    assert [outcome for outcome, _ in client.extract([page, page, b"x", b"y"])] == [Outcome.OK] * 4
    processes = [line.split()[0] for line in log.read_text().splitlines()]
    assert len(processes) == 4 and len(set(processes)) == 3 and processes[2] == processes[3]


def test_a_worker_that_is_killed_from_outside_changes_nothing(shared: Client) -> None:
    shared.extract([b"start"])
    for _ in range(3):
        assert shared.pid is not None
        os.kill(shared.pid, signal.SIGKILL)
        time.sleep(0.05)
        assert shared.extract([b"one", b"two"]) == [(Outcome.OK, b"ONE"), (Outcome.OK, b"TWO")]


def test_killed_in_the_middle_of_a_page(shared: Client, tmp_path: Path) -> None:
    page = f"kill-once {tmp_path / 'mark'}"
    assert shared.extract([b"one", page.encode(), b"two"]) == [
        (Outcome.OK, b"ONE"),
        (Outcome.OK, page.upper().encode()),
        (Outcome.OK, b"TWO"),
    ]


def test_killed_again_and_again_is_an_error_of_the_machine(shared: Client) -> None:
    with pytest.raises(RuntimeError, match="died 3 times in a row: SIGKILL"):
        shared.extract([b"one", b"kill", b"two"])
    assert shared.extract([b"one"]) == [(Outcome.OK, b"ONE")]


def test_standing_still_is_an_error_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.1)
    client = Client(Settings(PLANTED, {}, **LIMITS))
    with pytest.raises(RuntimeError, match="used no CPU time"):
        client.extract([b"sleep 60"])
    client.close()


def test_an_engine_that_cannot_be_loaded_says_why() -> None:
    client = Client(Settings(PLANTED.replace("planted", "broken"), {}))
    with pytest.raises(RuntimeError, match=r"(?s)did not start.*a missing package"):
        client.extract([b"x"])


def test_a_worker_is_replaced_after_many_bytes(
    logged: tuple[Client, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, log = logged
    monkeypatch.setattr(module, "RECYCLE_BYTES", 10)
    for _ in range(3):
        client.extract([b"x" * 11])
    assert len({line.split()[0] for line in log.read_text().splitlines()}) == 3


def test_the_same_results_whatever_the_batches(shared: Client) -> None:
    pages = [b"a", b"crash", b"b", b"raise", b"c", b"exit 1", b"crash", b"d"]
    expected = shared.extract(pages)
    assert [result for page in pages for result in shared.extract([page])] == expected
    assert shared.extract(pages[:3]) + shared.extract(pages[3:]) == expected


def test_close_ends_the_worker_and_leaves_no_zombie() -> None:
    client = Client(Settings(PLANTED, {}))
    client.extract([b"x"])
    pid = client.pid
    assert pid is not None
    client.close()
    assert is_gone(pid) and client.pid is None


def test_one_client_for_the_same_settings() -> None:
    settings_ = Settings(PLANTED, {"a": 1})
    assert client_of(settings_) is client_of(Settings(PLANTED, {"a": 1}))
    assert client_of(settings_) is not client_of(Settings(PLANTED, {"a": 2}))


PARENT = """
import os, sys, time
from dataprep.extraction.client import Settings, client_of
client = client_of(Settings({engine!r}, {{}}))
client.extract([b"x"])
print(client.pid, flush=True)
{then}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "then",
    ["time.sleep(60)", 'client.extract([b"hang"])', 'client.extract([b"sleep 60"])'],
    ids=["between pages", "busy", "waiting"],
)
def test_a_parent_that_is_killed_takes_the_worker_along(then: str) -> None:
    code = PARENT.format(engine=PLANTED, then=then)
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert is_gone(pid)


def test_a_parent_that_ends_well_takes_the_worker_along() -> None:
    code = PARENT.format(engine=PLANTED, then="")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert is_gone(int(done.stdout)) and done.stderr == b""


POOL = """
import multiprocessing
from dataprep.extraction.client import Settings, client_of
def work(page):
    return client_of(Settings({engine!r}, {{}})).extract([page])
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, [b"a", b"b", b"crash"]))
"""


def test_in_a_daemonic_process_of_a_pool() -> None:
    """Where a pool would forbid a multiprocessing child."""
    code = POOL.format(engine=PLANTED)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True)
    assert done.stdout.count("b'A'") == 1 and "CRASHED" in done.stdout
