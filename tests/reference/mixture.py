"""The slow twin of trainer/data/mixture.py: Tijdeman's rule in fractions, for each row over all sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor


def chairman(weights: Sequence[Fraction], owed: list[Fraction]) -> Iterator[int]:
    """Source of each row, without end. `owed` (rows owed to each source) is the state, changed in place.

    What the sources of this phase are owed together, which is not 0 when absent sources hold credits, is left
    out of each decision in equal parts.
    """
    active = [k for k, weight in enumerate(weights) if weight]
    apart = sum((owed[k] for k in active), Fraction(0)) / len(active)
    margin = Fraction(1, 2 * len(active) - 2) if len(active) > 1 else Fraction(0)
    while True:
        candidates: list[tuple[int, int]] = []
        for k in active:
            owed[k] += weights[k]
            if owed[k] - apart >= margin or len(active) == 1:
                # Whole rows that the source can still wait before it lags by more than 1 - margin.
                candidates.append((floor((1 - margin - owed[k] + apart) / weights[k]), k))
        chosen = min(candidates)[1]
        owed[chosen] -= 1
        yield chosen


def mixture(phases: Sequence[tuple[int, Sequence[int]]], num_rows: int, period: int) -> list[int]:
    """Source of each row of a run; phases are (first row, quota of each source)."""
    owed = [Fraction(0)] * len(phases[0][1])
    rows: list[int] = []
    for index, (start, quota) in enumerate(phases):
        end = phases[index + 1][0] if index + 1 < len(phases) else num_rows
        walk = chairman([Fraction(rows_of, period) for rows_of in quota], owed)
        rows.extend(next(walk) for _ in range(max(0, min(end, num_rows) - start)))
    return rows
