"""What a run tells about itself: metrics.jsonl, one line a step, and where the time of a step went.

The lines are for people and plots. What must be true and provable (tokens, rows) is in the ledger instead.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Spans:
    """Seconds of a step by name; `total` covers them all, so what is left over shows too."""

    started: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def close(self) -> dict[str, float]:
        total = time.perf_counter() - self.started
        return {name: round(seconds, 6) for name, seconds in {**self.seconds, "total": total}.items()}


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """One step as all ranks saw it; `seconds` are those of rank 0."""

    step: int  # steps done when it was over: the first is 1
    loss: float  # mean over the step's trained targets, in nats
    source_loss: Mapping[str, float]  # the same for each source that had targets
    gradient_norm: float  # before clipping
    learning_rate: float
    trained: Mapping[str, int]  # targets by source
    seconds: Mapping[str, float]

    @property
    def num_tokens(self) -> int:
        return sum(self.trained.values())


class MetricsFile:
    """Appends to metrics.jsonl. A resumed attempt repeats steps that were lost; the attempt number tells them
    apart.
    """

    def __init__(self, path: Path, attempt: int) -> None:
        self.stream = open(path, "a", encoding="utf-8")  # noqa: SIM115 - open for the whole run
        self.attempt = attempt

    def append(self, metrics: StepMetrics) -> None:
        line = {"attempt": self.attempt, **asdict(metrics)}
        self.stream.write(json.dumps(line, separators=(",", ":")) + "\n")
        self.stream.flush()

    def close(self) -> None:
        self.stream.close()
