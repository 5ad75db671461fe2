"""Whether a kernel's time grows with its input and no faster, on texts that repeat one unit."""

from __future__ import annotations

import time
from collections.abc import Callable

from dataprep.kernels.texts import Texts


def assert_linear(run: Callable[[Texts], object], unit: str) -> None:
    """16 times the text in at most 64 times the time (the best of three; machines are noisy)."""

    def seconds(size: int) -> float:
        texts = Texts.from_strings([unit * (size // len(unit))])
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            run(texts)
            best = min(best, time.process_time() - start)
        return best

    seconds(1000)
    assert seconds(1_600_000) < 16 * 4 * max(seconds(100_000), 0.001)
