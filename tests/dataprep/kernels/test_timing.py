"""A quadratic kernel fails, soon; a machine that is busy most of the time fails nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.timing import RUNS, assert_linear


class Clock:
    """CPU time that passes as `cost` says: bytes of the text, and how many runs there were."""

    def __init__(self, cost: Callable[[int, int], float]) -> None:
        self.cost, self.now, self.runs = cost, 0.0, 0

    def run(self, texts: Texts) -> None:
        self.runs += 1
        self.now += self.cost(texts.num_bytes, self.runs)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[int, int], float]], Clock]]:
    def make(cost: Callable[[int, int], float]) -> Clock:
        made = Clock(cost)
        monkeypatch.setattr(time, "process_time", lambda: made.now)
        return made

    with monkeypatch.context():
        yield make


def test_squared_time_fails_at_once(clock: Callable[[Callable[[int, int], float]], Clock]) -> None:
    slow = clock(lambda size, _: 1e-9 * size**2)
    with pytest.raises(AssertionError):
        assert_linear(slow.run, "a")
    assert slow.runs <= 2 + RUNS
    hopeless = clock(lambda size, _: 1e-7 * size**3)
    with pytest.raises(AssertionError):
        assert_linear(hopeless.run, "a")
    assert hopeless.runs == 3  # to compile, the small, the large


def test_one_quiet_run_is_enough(clock: Callable[[Callable[[int, int], float]], Clock]) -> None:
    busy = clock(lambda size, run: 1e-6 * size * (1 if run in (1, 2, 9) else 8))
    assert_linear(busy.run, "\u4e2d")
    assert busy.runs == 9


def test_what_takes_no_time_is_not_compared(clock: Callable[[Callable[[int, int], float]], Clock]) -> None:
    assert_linear(clock(lambda size, _: 1e-4 if size < 1e6 else 0.6).run, "a")
