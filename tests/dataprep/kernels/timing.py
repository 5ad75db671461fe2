"""Whether time grows with the input and no faster, on machines that do other things, too.

What is slow by kind (squared time) needs minutes where a limit is a second, so a floor under the limit
loses nothing; and what else the machine does only ever adds, so the fastest of up to twelve runs counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from dataprep.kernels.texts import Texts

RUNS = 12
HOPELESS = 10
"""A run that takes this many times what is allowed ends the tries: what is slow by kind should fail soon."""


def seconds(run: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def ratio(small: Callable[[], object], large: Callable[[], object], at_most: float, floor: float) -> float:
    """How many times as long `large` takes as `small`, tried again while that is more than `at_most`.

    `small` counts as `floor` seconds or more. Both were run before, on something, so that they are compiled.
    """
    base, best = max(seconds(small), floor), float("inf")
    for _ in range(RUNS):
        best = min(best, seconds(large))
        if best <= at_most * base or best > HOPELESS * at_most * base:
            break
    return best / base


def assert_linear(run: Callable[[Texts], object], unit: str, start: str = "") -> None:
    """16 times the text, which repeats one unit, in at most 64 times the time."""
    small, large = (
        Texts.from_strings([start + unit * (size // len(unit.encode()))]) for size in (100_000, 1_600_000)
    )
    run(small)  # compiles
    assert ratio(lambda: run(small), lambda: run(large), at_most=64, floor=0.01) <= 64
