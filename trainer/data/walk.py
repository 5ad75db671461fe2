"""Tijdeman's chairman assignment: which source each row of a stretch comes from, given quotas and credits.

R. Tijdeman, "The chairman assignment problem", Discrete Mathematics 32 (1980) 323-330. With n_k rows due to
source k in P rows, K sources and c_k = n_k * i - P * (rows of k before row i), row i (from 1) goes, among the
sources with c_k >= P / (2K - 2), to the one that soonest would lag by more than P * (1 - 1 / (2K - 2)). Then
every source stays within 1 - 1 / (2K - 2) rows of its share at every prefix, which no rule can better.

Seen as scheduling: the j-th row of source k is a job of one unit with a release (the first row at which k is
owed enough) and a deadline, and the rule is earliest deadline first. All releases and deadlines are integers
that numpy computes at once; what is left to Python is one heap operation a row (about 0.3 s for 2^20 rows).
Deadlines within one row are equal, and ties go to the lower index.

`mixture.py` keeps tables of this and carries credits over phases; it is where to look next.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]

PERIOD = 1 << 20
"""Rows in which weights become whole numbers of rows. One for a whole run."""

MAX_SOURCES = 1024
CHUNK_ROWS = 1 << 16
"""Rows walked at a time: bounds memory, and keeps every product below 2^62."""


def walk(
    quota: Counts, credits: Counts, num_rows: int, period: int = PERIOD
) -> tuple[npt.NDArray[np.int16], Counts]:
    """Walk up to CHUNK_ROWS rows. Returns (source index of each row, int16[num_rows]; credits after them).

    quota    int64[K], rows of each source in `period` rows; adds up to `period`; 0 = not in this phase.
    credits  int64[K] in units of 1 / period row: what is owed to each source before the first row.

    Walking a stretch in pieces gives the same rows: credits are the whole state.
    """
    if not 1 <= num_rows <= CHUNK_ROWS:
        raise ValueError(f"walk takes 1 to {CHUNK_ROWS} rows, not {num_rows}")
    if len(quota) > MAX_SOURCES or int(quota.sum()) != period or int(quota.min()) < 0:
        raise ValueError(f"quotas of at most {MAX_SOURCES} sources must be >= 0 and add up to {period}")
    active = np.flatnonzero(quota)
    if len(active) == 1:
        choice = np.zeros(num_rows, np.int64)
    else:
        choice = _earliest_deadline_first(quota[active], credits[active], num_rows, period)
    sources = active[choice]
    counts = np.bincount(sources, minlength=len(quota))
    return sources.astype(np.int16), credits + quota * num_rows - period * counts


def _earliest_deadline_first(quota: Counts, credits: Counts, num_rows: int, period: int) -> Counts:
    """Source index of each row, for two or more sources with quotas of at least 1."""
    num_sources = len(quota)
    inverse_margin = 2 * num_sources - 2
    # Integers in units of 1 / (period * scale) row. Sources that are absent from this phase keep their
    # credits, so those of the others may not add up to zero; the difference is shared equally among the
    # others, or else none might be owed enough, or all would be late, for the whole phase.
    scale = inverse_margin * num_sources
    whole, margin = scale * period, num_sources * period
    owed = scale * credits - inverse_margin * int(credits.sum())
    rate = scale * quota
    # Jobs that are released within these rows: j = 0, 1, ... of each source.
    jobs = np.maximum((owed + rate * num_rows - margin) // whole + 1, 0)
    source = np.repeat(np.arange(num_sources), jobs)
    job = np.arange(len(source)) - np.repeat(np.cumsum(jobs) - jobs, jobs)
    before = whole * job - owed[source]
    release = np.maximum(-((-(before + margin)) // rate[source]), 1)
    deadline = (before + whole - margin) // rate[source]
    order = np.argsort(release, kind="stable")
    ranks = (deadline * num_sources + source)[order].tolist()
    released = np.searchsorted(release[order], np.arange(1, num_rows + 1), side="right").tolist()
    return np.array(_drain(ranks, released), np.int64) % num_sources


def _drain(ranks: list[int], released: list[int]) -> list[int]:
    """For each row the least rank among the first `released[row]` that no earlier row took.

    The heap is never empty: credits add up to one row before each choice, so the greatest is at least 1 / K,
    which is above the margin 1 / (2K - 2) times one row.
    """
    heap: list[int] = []
    taken: list[int] = []
    push, pop, push_pop, take = heapq.heappush, heapq.heappop, heapq.heappushpop, taken.append
    at = 0
    for end in released:
        if at == end:
            take(pop(heap))
            continue
        while at + 1 < end:
            push(heap, ranks[at])
            at += 1
        take(push_pop(heap, ranks[at]))
        at += 1
    return taken
