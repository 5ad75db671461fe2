"""Which source each row of the run comes from, as a function: row <-> (source, ordinal), O(1) at any row.

The rows of a phase repeat with one period once its start has worn off, because credits then return to
themselves. So a `PhaseTable` holds the transient periods (none in a first phase, mostly one after a change)
and one steady period, and proves that the steady one reproduces its own end state. Tables grow as rows are
asked for, at about 0.3 s for 2^20 rows; a short run never pays for a whole period.

    quotas(weights)               weights -> whole rows in a period, by largest remainder
    Mixture(quotas, starts)       .locate(rows) .row_of(source, ordinal) .counts(row) .credits(row)

The rule itself is in `walk.py`. What a source does with its ordinals is in `rows.py`.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trainer.data.walk import CHUNK_ROWS, MAX_SOURCES, PERIOD, Counts, walk

MAX_TRANSIENT_PERIODS = 8
"""Credits stay within 4 rows, so even a source of one row a period is back on its path sooner."""


def quotas(weights: Sequence[float], period: int = PERIOD) -> Counts:
    """int64[K] by largest remainder: n_k = w_k * period, rounded so that they add up to `period`.

    Weights are >= 0 and need not add up to 1; ties go to the lower index. Raises ValueError.
    """
    shares = np.asarray(weights, np.float64)
    if not len(shares) or len(shares) > MAX_SOURCES or not np.isfinite(shares).all() or shares.min() < 0:
        raise ValueError(f"weights are 1 to {MAX_SOURCES} finite numbers >= 0, not {list(weights)}")
    if shares.sum() <= 0:
        raise ValueError("all weights are 0")
    exact = shares / shares.sum() * period
    quota = np.floor(exact).astype(np.int64)
    # What is left over is less than K rows, and a source of weight 0 has the least remainder.
    most = np.argsort(-(exact - quota), kind="stable")[: period - int(quota.sum())]
    quota[most] += 1
    return np.asarray(quota, np.int64)


class PhaseTable:
    """Rows of one phase, counted from its start. `num_rows` is None for the last phase, which has no end.

    Safe to use from several threads: rows that are known never change, and growing takes a lock.
    """

    def __init__(self, quota: Counts, credits: Counts, num_rows: int | None, period: int = PERIOD) -> None:
        self.quota = quota
        self.period = period
        self.num_rows = num_rows
        self._lock = threading.RLock()
        self._chunk_rows = min(CHUNK_ROWS, period)  # divides the period
        self._source = np.empty(0, np.int16)  # of each row; longer than `_known` while growing
        self._ordinal = np.empty(0, np.int32)  # rows of the same source before it
        self._known = 0
        self._counts = [np.zeros(len(quota), np.int64)]  # rows of each source before each chunk
        self._start_credits = credits
        self._period_credits = credits  # at the start of the period that is growing
        self._end_credits = credits  # after the rows that are known
        self._transient: int | None = None  # rows before the steady period, once that is known
        self._places: dict[int, npt.NDArray[np.int64]] = {}

    def locate(self, rows: Counts) -> tuple[npt.NDArray[np.int32], Counts]:
        """(source int32[n], ordinal in the phase int64[n]) of each row."""
        self._grow(int(rows.max(initial=-1)) + 1)
        folds, places = self._fold(rows)
        source = self._source[places].astype(np.int32)
        return source, self._ordinal[places] + folds * self.quota[source]

    def counts(self, row: int) -> Counts:
        """int64[K]: rows of each source before `row`."""
        self._grow(row)
        folds, places = self._fold(np.array([row]))
        chunk, inside = divmod(int(places[0]), self._chunk_rows)
        start = chunk * self._chunk_rows
        within = np.bincount(self._source[start : start + inside], minlength=len(self.quota))
        return self._counts[chunk] + within + int(folds[0]) * self.quota

    def credits(self, row: int) -> Counts:
        """int64[K] in units of 1 / period row: what is owed to each source before `row`."""
        return self._start_credits + self.quota * row - self.period * self.counts(row)

    def row_of(self, source: int, ordinal: int) -> int:
        """The row of a source's ordinal in the phase. The caller knows that the phase has it."""
        with self._lock:
            while ordinal >= int(self._counts[-1][source]) and self._transient is None:
                self._grow(self._known + 1)
            quota, beyond = int(self.quota[source]), ordinal - int(self._counts[-1][source])
            folds = beyond // quota + 1 if beyond >= 0 else 0
            places = self._places.get(source)
            if places is None or len(places) <= ordinal - folds * quota:
                places = self._places[source] = np.flatnonzero(self._source[: self._known] == source)
        return int(places[ordinal - folds * quota]) + folds * self.period

    def _fold(self, rows: Counts) -> tuple[Counts, Counts]:
        """(periods past the steady one, row in the table) of each row."""
        if self._transient is None:
            return np.zeros_like(rows), rows
        folds = np.maximum(rows - self._transient, 0) // self.period
        return folds, rows - folds * self.period

    def _grow(self, num_rows: int) -> None:
        """Make rows [0, num_rows) known, or the steady period."""
        if num_rows <= self._known or self._transient is not None:
            return
        if self.num_rows is not None and num_rows > self.num_rows:
            raise IndexError(f"row {num_rows - 1} of a phase of {self.num_rows} rows")
        with self._lock:
            while num_rows > self._known and self._transient is None:
                self._grow_chunk()

    def _grow_chunk(self) -> None:
        left = self._chunk_rows if self.num_rows is None else self.num_rows - self._known
        source, credits = walk(self.quota, self._end_credits, min(self._chunk_rows, left), self.period)
        end = self._known + len(source)
        if end > len(self._source):
            # Doubling keeps the copies linear; readers go on with the arrays that they have.
            capacity = max(end, min(2 * self._known, 2 * self.period))
            self._source = np.concatenate([self._source, np.empty(capacity - len(self._source), np.int16)])
            self._ordinal = np.concatenate([self._ordinal, np.empty(capacity - len(self._ordinal), np.int32)])
        counts = np.bincount(source, minlength=len(self.quota))
        order = np.argsort(source, kind="stable")
        firsts = self._counts[-1] - (np.cumsum(counts) - counts)
        self._source[self._known : end] = source
        self._ordinal[self._known + order] = np.arange(len(source)) + np.repeat(firsts, counts)
        self._counts.append(self._counts[-1] + counts)
        self._end_credits = credits
        if end % self.period == 0:
            if np.array_equal(credits, self._period_credits):
                self._transient = end - self.period
            elif end > MAX_TRANSIENT_PERIODS * self.period:
                raise AssertionError(f"no steady period in {end} rows from {self._start_credits.tolist()}")
            self._period_credits = credits
        self._known = end


class Mixture:
    """The sources of all rows of a run, over all of its phases. Pure, whatever was asked before.

    quotas_by_phase  int64[phases, K], each row adding up to `period`; 0 = the source is not in the phase.
    starts           first row of each phase, ascending from 0. The last phase has no end.

    Credits (int64, in units of 1 / period row) are carried from phase to phase, and so are the ordinals of
    each source.
    """

    def __init__(self, quotas_by_phase: Counts, starts: Sequence[int], period: int = PERIOD) -> None:
        ascending = len(starts) > 0 and starts[0] == 0 and bool(np.all(np.diff(starts) > 0))
        if not ascending or len(starts) != len(quotas_by_phase):
            raise ValueError(f"phases must start at ascending rows from 0, not at {list(starts)}")
        self.quotas = quotas_by_phase
        self.starts = np.asarray(starts, np.int64)
        self.period = period
        self._lock = threading.Lock()
        num_sources = quotas_by_phase.shape[1]
        self._first_counts = [np.zeros(num_sources, np.int64)]  # rows of each source before each phase
        self._tables = [self._table(0, np.zeros(num_sources, np.int64))]

    def locate(self, rows: Counts) -> tuple[npt.NDArray[np.int32], Counts]:
        """(source int32[n], ordinal int64[n]) of rows in any order; ordinals count from row 0 of the run."""
        rows = np.asarray(rows, np.int64)
        if len(rows) and int(rows.min()) < 0:
            raise IndexError(f"row {int(rows.min())} is before the run")
        source, ordinal = np.empty(len(rows), np.int32), np.empty(len(rows), np.int64)
        phases = self.phase_of(rows)
        for phase in np.unique(phases):
            members = phases == phase
            table = self.table(int(phase))
            source[members], inside = table.locate(rows[members] - self.starts[phase])
            ordinal[members] = inside + self._first_counts[phase][source[members]]
        return source, ordinal

    def row_of(self, source: int, ordinal: int) -> int | None:
        """The row of a source's ordinal; None when no row of the run has it."""
        self.table(len(self.starts) - 1)
        firsts = [int(counts[source]) for counts in self._first_counts]
        phase = bisect.bisect_right(firsts, ordinal) - 1  # phases without the source share one first ordinal
        table = self.table(phase)
        if ordinal < 0 or not table.quota[source]:
            return None
        return int(self.starts[phase]) + table.row_of(source, ordinal - firsts[phase])

    def counts(self, row: int) -> Counts:
        """int64[K]: rows of each source before `row`."""
        phase = int(self.phase_of(np.array([max(row - 1, 0)]))[0])
        table = self.table(phase)
        return self._first_counts[phase] + table.counts(row - int(self.starts[phase]))

    def credits(self, row: int) -> Counts:
        """int64[K] in units of 1 / period row: what is owed to each source before `row`."""
        phase = int(self.phase_of(np.array([max(row - 1, 0)]))[0])
        return self.table(phase).credits(row - int(self.starts[phase]))

    def phase_of(self, rows: Counts) -> Counts:
        """Index of the phase of each row."""
        return np.searchsorted(self.starts, rows, side="right") - 1

    def table(self, phase: int) -> PhaseTable:
        """The table of a phase; makes those before it first, since they leave it their credits."""
        with self._lock:
            while len(self._tables) <= phase:
                before = self._tables[-1]
                assert before.num_rows is not None
                self._first_counts.append(self._first_counts[-1] + before.counts(before.num_rows))
                self._tables.append(self._table(len(self._tables), before.credits(before.num_rows)))
        return self._tables[phase]

    def _table(self, phase: int, credits: Counts) -> PhaseTable:
        last = phase + 1 == len(self.starts)
        num_rows = None if last else int(self.starts[phase + 1] - self.starts[phase])
        return PhaseTable(self.quotas[phase], credits, num_rows, self.period)
