"""The control tensor: what one rank wants, told to all in one small sum a step.

Each rank adds its flags to the int64 vector that also carries its counts; every rank reads the same total and
so takes the same decision at the same step boundary. No rank acts on a signal or a failure of its own.

    [stop, save, failures, failed rank + 1]     the last is a rank only when failures is 1
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import numpy as np

from trainer.errors import RankFailed

FLAGS = 4


@dataclass(frozen=True, slots=True)
class Decision:
    stop: bool
    save: bool


class Control:
    """The flags of this rank. SIGTERM and SIGINT ask to save and stop, SIGUSR1 to save and go on."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.stop = self.save = False

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Handle the signals while the body runs; a second SIGINT interrupts at once."""
        old = {
            name: signal.signal(name, self._heard) for name in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
        }
        try:
            yield
        finally:
            for name, handler in old.items():
                signal.signal(name, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR1:
            self.save = True
            return
        if self.stop and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.stop = True
        self.say(f"{signal.Signals(number).name}: saving and stopping at the next step boundary")

    def flags(self, failure: Exception | None, rank: int) -> np.ndarray:
        """This rank's share of the sum, int64 [FLAGS]. A save that was asked for is asked once."""
        save, self.save = self.save, False
        return np.array(
            [self.stop, save, failure is not None, (rank + 1) * (failure is not None)], dtype=np.int64
        )

    @staticmethod
    def decide(total: np.ndarray, failure: Exception | None) -> Decision:
        """The decision of all ranks; raises this rank's failure, or RankFailed for that of another."""
        stop, save, failures, failed = (int(value) for value in total)
        if failure is not None:
            raise failure
        if failures:
            raise RankFailed(
                f"rank {failed - 1} failed" if failures == 1 else f"{failures} other ranks failed"
            )
        return Decision(stop > 0, save > 0)
