"""The learning rate as a pure function of the step: nothing to save, nothing to restore.

Steps are counted from 0; step `total_steps - 1` is the last and has the lowest rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from trainer.config import TrainConfig

# Share of the way from peak to floor that is left after a share x in [0, 1] of the decay.
DECAYS: dict[str, Callable[[float], float]] = {
    "constant": lambda x: 1.0,
    "linear": lambda x: 1.0 - x,
    "cosine": lambda x: 0.5 * (1.0 + math.cos(math.pi * x)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRate:
    """Linear warm-up, a plateau if `decay_steps` is shorter than the rest, then a decay to `peak *
    min_ratio`.
    """

    peak: float
    total_steps: int
    warmup_steps: int
    decay: str
    decay_steps: int
    min_ratio: float

    def at(self, step: int) -> float:
        if step < self.warmup_steps:
            return self.peak * (step + 1) / self.warmup_steps
        done = step - (self.total_steps - self.decay_steps) + 1
        left = DECAYS[self.decay](min(1.0, max(0.0, done / self.decay_steps))) if self.decay_steps else 1.0
        return self.peak * (self.min_ratio + (1.0 - self.min_ratio) * left)


def build_learning_rate(config: TrainConfig) -> LearningRate:
    schedule = config.schedule
    return LearningRate(
        peak=config.optimizer.lr,
        total_steps=config.steps,
        warmup_steps=schedule.warmup_steps,
        decay=schedule.decay,
        decay_steps=schedule.decay_steps or config.steps - schedule.warmup_steps,
        min_ratio=schedule.min_ratio,
    )
