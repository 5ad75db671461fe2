"""Hands pages to a worker process and gets their texts, whatever the pages do to the worker.

One worker at a time, started when the first page comes and kept. When it dies, the page in its hands is
tried once more, alone in a new one, and only what happens there counts: so the outcome of a page depends on
the page and the limits, never on the pages before it or on whoever killed a process. Limits are of CPU time
and of memory, and watched by the kernel; a busy machine changes nothing.

A worker that is killed from outside, or stands still without using the CPU, is the machine's fault and no
outcome: tried again, then an error of the task.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dataprep.extraction.outcomes import Outcome
from dataprep.extraction.worker import OUT_OF_MEMORY_EXIT, READY, TIRED_EXIT, write_documents

ATTEMPTS = 3  # at a page whose worker died of something that pages do not do
LOOK_SECONDS = 1.0  # between two looks at the CPU clock of a worker that is waited for
STALL_SECONDS = 300.0  # of waiting in which a worker used no CPU time at all
RECYCLE_BYTES = 1 << 30  # of pages, after which a worker is replaced: parsers leak
PIPE_BYTES = 1 << 20  # the most that Linux gives without privileges; fewer switches between the two
ANSWER_BYTES = 16
_ROOT = Path(__file__).resolve().parents[2]
_OF_A_PAGE = {
    signal.SIGXCPU: Outcome.OUT_OF_TIME,
    **dict.fromkeys(
        (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP),
        Outcome.CRASHED,
    ),
}
_OUT_OF_MEMORY_WORDS = ("memory allocation of", "MemoryError", "std::bad_alloc", "out of memory")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a worker is started with.

    engine        a name of `dataprep.extraction.engines`
    options       its options, as JSON values
    cpu_seconds   of one page, rounded up by less than two seconds
    memory_bytes  of one page, on top of what the worker has when it is ready
    """

    engine: str
    options: Mapping[str, Any]
    cpu_seconds: int = 20
    memory_bytes: int = 2 << 30

    def to_json(self) -> str:
        values = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(values, sort_keys=True)


class WorkerDied(Exception):
    """`outcome` is that of the page in its hands, or None where pages do not do such things."""

    def __init__(self, outcome: Outcome | None, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome


class WorkerTired(Exception):
    """It ended before a page, to let another one do it with fresh memory."""


class _Worker:
    """One process."""

    def __init__(self, settings: Settings) -> None:
        paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dataprep.extraction.worker", settings.to_json()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            pipesize=PIPE_BYTES,
        )
        self.num_bytes = 0
        self._buffer = b""
        self._cpu_clock = (~self.process.pid << 3) | 2  # Linux: the CPU clock of another process
        try:
            self._take(len(READY))
        except WorkerDied as death:
            raise RuntimeError(f"the extraction worker did not start: {death}") from death

    def extract(self, documents: Sequence[bytes]) -> Iterator[tuple[Outcome, bytes]]:
        """Outcome and text of each document, as they come. Raises WorkerDied in place of the one of which
        the worker dies."""
        assert self.process.stdin is not None
        self.num_bytes += sum(map(len, documents))
        with suppress(BrokenPipeError):  # what it did not take it does not answer
            write_documents(self.process.stdin, list(documents))
        for _ in documents:
            outcome, length = struct.unpack("<qq", self._take(ANSWER_BYTES))
            yield Outcome(outcome), self._take(length)

    def close(self) -> None:
        """End it, however busy."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # what it did not take is flushed again
                stream.close()
        self.process.wait()
        self._stderr.close()

    def _take(self, count: int) -> bytes:
        assert self.process.stdout is not None
        parts = [self._buffer]
        have = len(self._buffer)
        while have < count:
            self._wait()
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise self._death()
            parts.append(part)
            have += len(part)
        data = b"".join(parts)
        self._buffer = data[count:]
        return data[:count]

    def _wait(self) -> None:
        """Until there is something to read, or the end. Raises WorkerDied for one that stands still."""
        assert self.process.stdout is not None
        poll = select.poll()
        poll.register(self.process.stdout, select.POLLIN)
        used, since = -1.0, time.monotonic()
        while not poll.poll(1000 * LOOK_SECONDS):
            with suppress(OSError):  # it has just ended
                now = time.clock_gettime(self._cpu_clock)
                if now != used:
                    used, since = now, time.monotonic()
            if time.monotonic() - since > STALL_SECONDS:
                self.close()
                raise WorkerDied(None, f"it used no CPU time in {STALL_SECONDS:.0f} seconds")

    def _death(self) -> WorkerDied | WorkerTired:
        code = self.process.wait()
        words = self._last_words()
        self.close()
        if code == TIRED_EXIT:
            return WorkerTired()
        if code >= 0:
            is_memory = code == OUT_OF_MEMORY_EXIT
            return WorkerDied(
                Outcome.OUT_OF_MEMORY if is_memory else Outcome.CRASHED, f"exit code {code}: {words}"
            )
        outcome = _OF_A_PAGE.get(signal.Signals(-code))
        if outcome is Outcome.CRASHED and any(each in words for each in _OUT_OF_MEMORY_WORDS):
            outcome = Outcome.OUT_OF_MEMORY
        return WorkerDied(outcome, f"{signal.Signals(-code).name}: {words}")

    def _last_words(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - 2000))
        return self._stderr.read().decode("utf-8", "replace").strip()


class Client:
    """Extracts with one worker at a time."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._worker: _Worker | None = None

    def extract(self, documents: Sequence[bytes]) -> list[tuple[Outcome, bytes]]:
        """Outcome and text of each document, in order. RuntimeError for a fault of the machine."""
        results: list[tuple[Outcome, bytes]] = []
        try:
            while len(results) < len(documents):
                try:
                    for result in self._ready().extract(documents[len(results) :]):
                        results.append(result)
                except WorkerTired:
                    self.close()
                except WorkerDied:
                    results.append(self._alone(documents[len(results)]))
        except BaseException:
            self.close()  # it may be in the middle of an answer
            raise
        if self._worker and self._worker.num_bytes > RECYCLE_BYTES:
            self.close()
        return results

    def close(self) -> None:
        """End the worker, if there is one."""
        worker, self._worker = self._worker, None
        if worker:
            worker.close()

    @property
    def pid(self) -> int | None:
        """The process of the worker, if there is one."""
        return self._worker.process.pid if self._worker else None

    def _alone(self, document: bytes) -> tuple[Outcome, bytes]:
        """A document of which a worker has died, once more."""
        for _ in range(ATTEMPTS):
            self.close()
            try:
                return next(self._ready().extract([document]))
            except WorkerDied as death:
                last = death
            self.close()
            if last.outcome is not None:
                return last.outcome, b""
        raise RuntimeError(f"the extraction worker died {ATTEMPTS} times in a row: {last}")

    def _ready(self) -> _Worker:
        if self._worker is None:
            self._worker = _Worker(self.settings)
        return self._worker


_CLIENTS: dict[tuple[int, str], Client] = {}


def client_of(settings: Settings) -> Client:
    """This process's client for these settings."""
    key = (os.getpid(), settings.to_json())  # after a fork another process's worker is not ours
    if key not in _CLIENTS:
        _CLIENTS[key] = Client(settings)
    return _CLIENTS[key]


@atexit.register
def _close_all() -> None:
    for (pid, _), client in _CLIENTS.items():
        if pid == os.getpid():
            client.close()
