"""Engines: one outcome a task, whatever happens to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dataprep.engines import InlineEngine, LocalEngine, TaskReference
from manifests.errors import UserError

ENTRY = f"{__name__}:behave"


def behave(plan: Path, stage: str, index: int) -> dict[str, Any]:
    """The task of these tests: `stage` says what happens."""
    if stage == "refuse":
        raise UserError("no", where="here", hint="do this")
    if stage == "fail":
        raise RuntimeError(f"task {index}")
    if stage == "die" or (stage == "die on 3" and index == 3):
        os.kill(os.getpid(), signal.SIGKILL)
    if stage == "print":
        print("a library that talks")
    if stage == "set":
        return {"order": " ".join({f"word {number}" for number in range(50)})}
    return {"index": index, "pid": os.getpid()}


def references(stage: str, count: int) -> list[TaskReference]:
    return [TaskReference(Path("plan.json"), stage, index) for index in range(count)]


@pytest.fixture(params=["local", "inline"])
def engine(request: pytest.FixtureRequest) -> Any:
    made = LocalEngine(2, ENTRY) if request.param == "local" else InlineEngine(0, ENTRY)
    yield made
    made.close()


def test_every_task_has_one_outcome(engine: Any) -> None:
    outcomes = list(engine.run(references("work", 20)))
    assert sorted(outcome.result["index"] for outcome in outcomes) == list(range(20))
    assert {outcome.kind for outcome in outcomes} == {"done"}


def test_sets_have_one_order_in_all_workers() -> None:
    """A run's workers on any machine agree, even where a step of the user's depends on it."""
    orders = set()
    for _ in range(2):
        engine = LocalEngine(1, ENTRY)
        (outcome,) = engine.run(references("set", 1))
        orders.add(outcome.result["order"])
        engine.close()
    assert len(orders) == 1


def test_errors_are_outcomes(engine: Any) -> None:
    (refused,) = engine.run(references("refuse", 1))
    assert refused.kind == "refused"
    assert refused.result == {"what": "no", "where": "here", "hint": "do this"}
    (failed,) = engine.run(references("fail", 1))
    assert failed.kind == "failed"
    assert "RuntimeError: task 0" in failed.detail


def test_output_of_a_library_does_not_break_the_protocol(engine: Any) -> None:
    assert [outcome.kind for outcome in engine.run(references("print", 3))] == ["done"] * 3


def test_a_dead_worker_loses_only_its_own_task() -> None:
    engine = LocalEngine(2, ENTRY)
    outcomes = {each.reference.index: each for each in engine.run(references("die on 3", 10))}
    assert outcomes[3].kind == "died"
    assert "SIGKILL" in outcomes[3].detail
    assert all(each.kind == "done" for index, each in outcomes.items() if index != 3)
    assert len(outcomes) == 10
    engine.close()


def test_workers_are_reused_and_never_more_than_asked_for() -> None:
    engine = LocalEngine(2, ENTRY)
    pids = {outcome.result["pid"] for outcome in engine.run(references("work", 30))}
    pids |= {outcome.result["pid"] for outcome in engine.run(references("work", 30))}
    assert 1 <= len(pids) <= 2
    assert os.getpid() not in pids
    engine.close()


def test_workers_end_when_their_run_is_killed() -> None:
    script = (
        "from dataprep.engines import LocalEngine, TaskReference\n"
        "from pathlib import Path\n"
        "import time\n"
        f"engine = LocalEngine(1, {ENTRY!r})\n"
        "outcome, = engine.run([TaskReference(Path('p'), 'work', 0)])\n"
        "print(outcome.result['pid'], flush=True)\n"
        "time.sleep(60)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    worker = int(run.stdout.readline())
    run.kill()
    run.wait()
    run.stdout.close()
    for _ in range(100):
        if not _is_running(worker):
            return
        time.sleep(0.05)
    pytest.fail("the worker outlived its run")


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in ("Z", "X")
    except FileNotFoundError:
        return False


def test_an_idle_worker_that_died_is_no_fault_of_the_next_task() -> None:
    engine = LocalEngine(2, ENTRY)
    list(engine.run(references("work", 4)))
    for worker in engine.idle:
        os.kill(worker.process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, worker.process.pid, os.WEXITED | os.WNOWAIT)  # dead, and the engine not told
    assert [each.kind for each in engine.run(references("work", 4))] == ["done"] * 4
    engine.close()


def test_a_worker_that_dies_with_a_request_unread_closes_without_a_word() -> None:
    engine = LocalEngine(1, ENTRY)
    list(engine.run(references("work", 1)))
    (worker,) = engine.idle
    worker.process.kill()
    worker.process.wait()
    assert not worker.give(references("work", 1)[0], ENTRY)
    engine.close()
