"""Whether a kernel's time grows with its input and no faster, on texts that repeat one unit."""

from __future__ import annotations

import time
from collections.abc import Callable

from dataprep.kernels.texts import Texts


def assert_linear(run: Callable[[Texts], object], unit: str) -> None:
    """16 times the text in at most 64 times the time.

    What a kernel of squared time would need for the larger text is minutes, so under two thirds of
    a second nothing is said; and since machines are noisy, the fastest of up to twelve runs counts.
    """
    small, large = (Texts.from_strings([unit * (size // len(unit))]) for size in (100_000, 1_600_000))

    def seconds(texts: Texts) -> float:
        start = time.process_time()
        run(texts)
        return time.process_time() - start

    run(small)  # compiles
    fastest = seconds(small)
    slowest_allowed = 64 * max(fastest, 0.01)
    assert any(seconds(large) < slowest_allowed for _ in range(12))
