"""The schedule as the user gives it, and its resolution to rows: phases, batch sizes, weights.

Rows per step are a function of the step and nothing else; phases are stretches of rows and end at step
boundaries. Neither knows the other's values, so a learning rate or a batch size never moves the mixture.
Steps and rows count from 0 here. `rows.py` makes the plan of a run from this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from manifests.errors import UserError

START = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGBT]?)\s+(rows|steps|tokens)")
MAX_ROWS = 1 << 62
"""Rows and steps are 64-bit numbers."""

MULTIPLES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}


@dataclass(frozen=True, slots=True)
class PhaseSpec:
    """A phase as written: `start` in rows (int), "480 rows", "30 steps" or "2M tokens" (targets)."""

    start: int | str
    sequence_length: int
    weights: Mapping[str, float]
    pack: str = "concat"
    """Or "best_fit": rows of the packings that the corpora have for this length."""


@dataclass(frozen=True, slots=True)
class BatchSchedule:
    """Rows per step: from step starts[i] on, a step holds rows[i] rows. starts[0] is 0."""

    starts: tuple[int, ...]
    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.starts) != len(self.rows) or not self.starts or self.starts[0] != 0:
            raise ValueError(f"batch sizes {self.rows} need as many start steps, from 0, not {self.starts}")
        if any(b <= a for a, b in zip(self.starts, self.starts[1:], strict=False)) or min(self.rows) < 1:
            raise ValueError(f"start steps {self.starts} must ascend, rows {self.rows} be at least 1")

    @classmethod
    def constant(cls, rows: int) -> BatchSchedule:
        return cls((0,), (rows,))

    def rows_in(self, step: int) -> int:
        """Rows that `step` holds."""
        return self.rows[int(np.searchsorted(self.starts, step, side="right")) - 1]

    def first_row(self, step: int) -> int:
        """Rows before `step`, which is the number of the step's first row."""
        stretch = int(np.searchsorted(self.starts, step, side="right")) - 1
        return self._stretch_rows()[stretch] + (step - self.starts[stretch]) * self.rows[stretch]

    def step_of(self, rows: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The step that each row belongs to."""
        numbers = np.asarray(rows, np.int64)
        firsts = np.array(self._stretch_rows(), np.int64)
        stretch = np.searchsorted(firsts, numbers, side="right") - 1
        sizes, starts = np.array(self.rows, np.int64), np.array(self.starts, np.int64)
        return np.asarray(starts[stretch] + (numbers - firsts[stretch]) // sizes[stretch], np.int64)

    def step_boundary(self, row: int) -> int:
        """The first row >= `row` with which a step begins."""
        step = int(self.step_of(row))
        return row if self.first_row(step) == row else self.first_row(step + 1)

    def _stretch_rows(self) -> list[int]:
        firsts = [0]
        for index in range(1, len(self.starts)):
            firsts.append(firsts[-1] + (self.starts[index] - self.starts[index - 1]) * self.rows[index - 1])
        return firsts


@dataclass(frozen=True, slots=True)
class DataSpec:
    """All that the order of rows depends on, besides the manifests."""

    seed: int
    phases: tuple[PhaseSpec, ...]
    batch: BatchSchedule
    steps: int
    block_tokens: int | None = None
    """None: the greatest sequence length of the schedule."""
    document_mask: bool = False
    max_epochs: Mapping[str, float] = field(default_factory=dict)
    """By source, and "default" for the others; a source without an entry has no limit."""
    accept_rounding: bool = False
    accept_repeat: bool = False
    shuffle_extent: int = 1
    subset: str = "train"


def resolve_starts(
    phases: Sequence[PhaseSpec], batch: BatchSchedule, row_targets: Sequence[Fraction] | None = None
) -> list[int]:
    """First row of each phase, rounded up to a step boundary.

    row_targets  mean targets of a row of each phase, which is what "tokens" counts; S where it is not given

    Raises UserError for a text that is no start, a first phase not at 0, starts that do not ascend.
    """
    if row_targets is None:
        row_targets = [Fraction(phase.sequence_length) for phase in phases]
    starts: list[int] = []
    targets = Fraction(0)  # before the last phase of `starts`
    for index, phase in enumerate(phases):
        amount, unit = _parse_start(phase.start, index)
        if index == 0:
            row = int(amount)
        elif unit == "tokens":
            row = starts[-1] + int(-((targets - amount) // row_targets[index - 1]))
        else:
            row = batch.first_row(min(int(amount), MAX_ROWS)) if unit == "steps" else int(amount)
        if row >= MAX_ROWS:
            raise UserError(
                f"phase {index} starts at {phase.start}, after all rows that a run can have",
                where=f"data.phases.{index}.start",
            )
        row = batch.step_boundary(max(row, 0))
        if index == 0 and row != 0:
            raise UserError(f"the first phase starts at {phase.start}, not at 0", where="data.phases.0.start")
        if index > 0:
            if row <= starts[-1]:
                raise UserError(
                    f"phase {index} starts at {phase.start}, which is row {row}, but phase {index - 1} "
                    f"starts at row {starts[-1]}; starts must ascend by at least a step",
                    where=f"data.phases.{index}.start",
                )
            targets += (row - starts[-1]) * row_targets[index - 1]
        starts.append(row)
    return starts


def row_weights(weights: Mapping[str, float], targets_per_row: Mapping[str, float]) -> dict[str, float]:
    """Shares of rows that give these shares of targets: proportional to w_k / tau_k, adding up to 1.

    targets_per_row  tau_k, mean valid targets of a row of each source: S for consecutive tokens, that of the
                     packing for packed rows
    """
    greatest = max(weights.values())  # 5e-324 over S would be 0
    rows = {name: weight / greatest / targets_per_row[name] for name, weight in weights.items()}
    total = sum(rows.values())
    return {name: share / total for name, share in rows.items()}


def mean_targets(weights: Mapping[str, float], targets_per_row: Mapping[str, Fraction]) -> Fraction:
    """Mean valid targets of a row of a phase with these weights, which are shares of targets."""
    asked = {name: Fraction(weight) for name, weight in weights.items()}
    rows = sum((weight / targets_per_row[name] for name, weight in asked.items()), Fraction(0))
    return sum(asked.values(), Fraction(0)) / rows


def _parse_start(start: int | str, index: int) -> tuple[Fraction, str]:
    if isinstance(start, int) or start.isdecimal():
        return Fraction(start), "rows"
    match = START.fullmatch(start.strip())
    amount = Fraction(match[1]) * MULTIPLES[match[2]] if match else Fraction(-1)
    if match is None or amount.denominator != 1:
        raise UserError(
            f"{start!r} is no start of a phase",
            where=f"data.phases.{index}.start",
            hint='write rows as a number, or "30 steps", "480 rows", "2M tokens"',
        )
    return amount, match[3]
