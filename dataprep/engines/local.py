"""The default engine: a fixed number of worker processes on this machine.

Each worker holds one task at a time, so when a worker dies (out of memory, a crash in native code, SIGKILL)
the task that killed it is known exactly; a new worker takes its place and the other tasks go on. Workers
run single-threaded libraries: parallelism comes from the number of tasks. See `worker.py` for the other
side.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO

from dataprep.engines.outcome import ENTRY, Outcome, TaskReference

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "ARROW_DEFAULT_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
SAME_SETS = {"PYTHONHASHSEED": "0"}
"""Nothing of ours depends on the order of a set; if a step of the user's does, all workers still agree."""


class _Worker:
    """A process and the task in its hands."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dataprep.engines.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD, **SAME_SETS},
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout
        self.task: TaskReference | None = None

    def give(self, task: TaskReference, entry: str) -> bool:
        """Hand it a task; False when it died between tasks, so that nobody has the task."""
        request = {"entry": entry, "plan": str(task.plan), "stage": task.stage, "index": task.index}
        try:
            self.stdin.write(json.dumps(request).encode() + b"\n")
            self.stdin.flush()
        except BrokenPipeError:
            return False
        self.task = task
        return True

    def take(self) -> Outcome:
        """Read the answer to the task in hand; called when stdout is readable."""
        task, self.task = self.task, None
        assert task is not None
        line = self.stdout.readline()
        if not line.endswith(b"\n"):
            return Outcome(task, "died", detail=_how_it_died(self.process.wait()))
        answer = json.loads(line)
        return Outcome(task, answer["kind"], answer["result"], answer["detail"])

    def close(self) -> None:
        for stream in (self.stdin, self.stdout):
            with suppress(BrokenPipeError):  # a request that a dead worker never took is flushed again
                stream.close()
        self.process.wait()


class LocalEngine:
    """`workers` processes, started as tasks arrive and kept until `close`."""

    def __init__(self, workers: int, entry: str = ENTRY) -> None:
        assert workers >= 1
        self.workers = workers
        self.entry = entry
        self.idle: list[_Worker] = []
        self.busy: list[_Worker] = []

    def run(self, references: Sequence[TaskReference]) -> Iterator[Outcome]:
        waiting = deque(references)
        with selectors.DefaultSelector() as selector:
            while waiting or self.busy:
                while waiting and len(self.busy) < self.workers:
                    worker = self._place(waiting.popleft())
                    self.busy.append(worker)
                    selector.register(worker.stdout, selectors.EVENT_READ, worker)
                for key, _ in selector.select():
                    worker = key.data
                    selector.unregister(worker.stdout)
                    self.busy.remove(worker)
                    outcome = worker.take()
                    if outcome.kind == "died":
                        worker.close()
                    else:
                        self.idle.append(worker)
                    yield outcome

    def _place(self, task: TaskReference) -> _Worker:
        """Give the task to an idle worker or a new one. An idle one that has died is no fault of the task."""
        while self.idle:
            worker = self.idle.pop()
            if worker.process.poll() is None and worker.give(task, self.entry):
                return worker
            worker.close()
        worker = _Worker()
        worker.give(task, self.entry)
        worker.task = task  # a new one that could not take it has died of it, for all we know
        return worker

    def close(self) -> None:
        """End the workers: the idle ones at once, the busy ones (an interrupted run) by SIGKILL."""
        for worker in self.busy:
            worker.process.kill()
        for worker in [*self.idle, *self.busy]:
            worker.close()
        self.idle, self.busy = [], []


def _how_it_died(returncode: int) -> str:
    if returncode >= 0:
        return f"exit code {returncode}"
    name = signal.Signals(-returncode).name
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f"{name}{hint}"
