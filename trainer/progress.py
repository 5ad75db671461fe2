"""Narration on stderr: a live bar on a terminal, plain lines otherwise. stdout stays data."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from trainer.metrics import StepMetrics

PLAIN_SECONDS = 5.0
"""Without a terminal, steps are told this far apart at least."""


class Narrator(Protocol):
    def say(self, text: str) -> None: ...
    def step(self, metrics: StepMetrics) -> None: ...
    def close(self) -> None: ...


class Silent:
    """For every rank but the first."""

    def say(self, text: str) -> None: ...
    def step(self, metrics: StepMetrics) -> None: ...
    def close(self) -> None: ...


class Plain:
    """Lines on stderr: the first step, the last, and one every few seconds between."""

    def __init__(self, total_steps: int) -> None:
        self.total_steps = total_steps
        self.last_told = float("-inf")
        self.shares = Shares()

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def step(self, metrics: StepMetrics) -> None:
        self.shares.add(metrics)
        now = time.monotonic()
        if now - self.last_told >= PLAIN_SECONDS or metrics.step == self.total_steps:
            self.last_told = now
            self.say(f"step {metrics.step}/{self.total_steps}  {describe(metrics, self.shares)}")

    def close(self) -> None: ...


class Live:
    """A bar that stays at the bottom of the terminal."""

    def __init__(self, total_steps: int, console: Console) -> None:
        self.shares = Shares()
        bar = [BarColumn(bar_width=20)] if console.width >= 110 else []
        self.bar = Progress(
            TextColumn("step {task.completed}/{task.total}"),
            *bar,
            TimeRemainingColumn(compact=True),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
        )
        self.task = self.bar.add_task("", total=total_steps)

    def say(self, text: str) -> None:
        self.bar.console.print(text, markup=False, highlight=False)

    def step(self, metrics: StepMetrics) -> None:
        self.bar.start()
        self.shares.add(metrics)
        self.bar.update(self.task, completed=metrics.step, description=describe(metrics, self.shares))

    def close(self) -> None:
        self.bar.stop()


class Shares:
    """Trained targets by source since this attempt began."""

    def __init__(self) -> None:
        self.trained: Counter[str] = Counter()

    def add(self, metrics: StepMetrics) -> None:
        self.trained.update(metrics.trained)

    def __str__(self) -> str:
        total = max(1, self.trained.total())
        return " ".join(f"{name} {count / total:.0%}" for name, count in self.trained.most_common(4))


def describe(metrics: StepMetrics, shares: Shares) -> str:
    speed = metrics.num_tokens / max(1e-9, metrics.seconds["total"])
    return f"loss {metrics.loss:.4f}  {speed:,.0f} tokens/s  {shares}"


def say_at_once(text: str) -> None:
    """Narrate from a signal handler, which may have interrupted a print: past all buffers and locks."""
    os.write(2, f"{text}\n".encode())


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar for work that reports (steps done, steps in all); nothing without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with Progress(*Progress.get_default_columns(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def open_narrator(total_steps: int, is_first: bool) -> Narrator:
    """The narrator of a rank: one speaks for all."""
    if not is_first:
        return Silent()
    return Live(total_steps, Console(stderr=True)) if sys.stderr.isatty() else Plain(total_steps)
