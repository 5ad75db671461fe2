"""What a run says while it works, on stderr: a progress bar on a terminal, plain lines otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

SECONDS_BETWEEN_LINES = 5.0
STAGE_WIDTH = 24
"""Columns in which the name of a stage is written."""


def printable(text: str) -> str:
    """Text for a terminal, where the name of a file may hold escapes that would take effect there."""
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)


class Narrator:
    """`stage` brackets one stage; inside it `advance` counts finished tasks. `line` is for everything
    else."""

    def __init__(self, console: Console | None = None, *, quiet: bool = False) -> None:
        self.console = console or Console(stderr=True, soft_wrap=True, highlight=False)
        self.quiet = quiet
        self._advance: Progress | _Lines | None = None

    def line(self, text: str) -> None:
        if not self.quiet:
            self.console.print(printable(text), markup=False)

    def advance(self) -> None:
        if isinstance(self._advance, Progress):
            self._advance.advance(self._advance.task_ids[0])
        elif self._advance is not None:
            self._advance.advance()

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[None]:
        if self.quiet:
            yield
        elif self.console.is_terminal:
            columns = (
                TextColumn(f"{{task.description:>{STAGE_WIDTH}}}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            with Progress(*columns, console=self.console, transient=True) as progress:
                progress.add_task(name, total=total)
                self._advance = progress
                yield
        else:
            self._advance = _Lines(self, name, total)
            yield
        self._advance = None


def percent(narrator: Narrator) -> Callable[[int, int], None]:
    """A progress callback in bytes that advances a stage of 100."""
    shown = 0

    def progress(done_bytes: int, total_bytes: int) -> None:
        nonlocal shown
        while shown < 100 * done_bytes // max(total_bytes, 1):
            narrator.advance()
            shown += 1

    return progress


class _Lines:
    """Progress as lines, at most one in five seconds."""

    def __init__(self, narrator: Narrator, name: str, total: int) -> None:
        self.narrator, self.name, self.total = narrator, name, total
        self.count = 0
        self.last = time.monotonic()

    def advance(self) -> None:
        self.count += 1
        now = time.monotonic()
        if now - self.last >= SECONDS_BETWEEN_LINES and self.count < self.total:
            self.last = now
            self.narrator.line(f"{self.name:>{STAGE_WIDTH}}  {self.count:,} of {self.total:,} tasks")
