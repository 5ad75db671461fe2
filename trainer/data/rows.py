"""RowPlan: which tokens each row of a run is, and which rows each step is. Pure, O(1) at any row.

    step -> rows              batch schedule (schedule.py)
    row -> source, ordinal    mixture with carried credits (mixture.py)
    ordinal -> epoch, place   cursors of the phases (cursors.py)
    place -> block, tokens    the epoch's keyed permutation (order.py); of packed rows the block is the row

and back by `row_of`. A plan holds no file and no state that matters: asking for rows in any order, from any
number of threads or ranks, gives the same rows. It is made from manifests and a DataSpec by `planning.py`,
and written and read back as `facts` (plan_facts.py). Tokens come from `source_tokens.py`, those of packed
rows from `packed_rows.py`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trainer.data.cursors import Cursors, Phase, first_cursors, next_cursors
from trainer.data.mixture import Mixture
from trainer.data.order import ExtentPermutation, Permutation, block_order, permutation_key
from trainer.data.refs import PlanManifest, PlanSource, RowRefs
from trainer.data.schedule import BatchSchedule, DataSpec
from trainer.data.walk import PERIOD

if TYPE_CHECKING:
    from manifests.corpus import Corpus

__all__ = ["PlanManifest", "PlanSource", "RowPlan", "RowRefs", "rank_slice"]

Counts = npt.NDArray[np.int64]

ORDERS_KEPT = 1024
"""Permutations kept: at most 128 KB each way, and only those of small sources hold a table."""


class RowPlan:
    """See the module. Rows and steps count from 0; sources are sorted by `key_name`."""

    def __init__(
        self,
        *,
        seed: int,
        subset: str,
        manifests: Sequence[PlanManifest],
        sources: Sequence[PlanSource],
        phases: Sequence[Phase],
        batch: BatchSchedule,
        num_steps: int,
        document_mask: bool,
        shuffle_extent: int,
        period: int = PERIOD,
    ) -> None:
        self.seed = seed
        self.subset = subset
        self.manifests = tuple(manifests)
        self.sources = tuple(sources)
        self.phases = tuple(phases)
        self.batch = batch
        self.num_steps = num_steps
        self.document_mask = document_mask
        self.shuffle_extent = shuffle_extent
        self.period = period
        self.num_rows = batch.first_row(num_steps)
        self.max_sequence_length = max(phase.sequence_length for phase in phases)
        self.block_tokens = phases[0].block_tokens
        quotas_by_phase = np.array([phase.quota for phase in phases], np.int64)
        self.mixture = Mixture(quotas_by_phase, [phase.start_row for phase in phases], period)
        self._cursors = [first_cursors(self.phases[0], self.sources)]
        self._orders: OrderedDict[tuple[int, int, int], Permutation | ExtentPermutation] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def build(cls, corpora: Sequence[Corpus], spec: DataSpec) -> RowPlan:
        """Plan a run. Raises UserError with everything that is wrong, before any token is read."""
        from trainer.data.planning import build_plan

        return build_plan(corpora, spec)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> RowPlan:
        """The plan that `facts()` described (data.json, a checkpoint)."""
        from trainer.data.plan_facts import plan_from_facts

        return plan_from_facts(facts)

    def facts(self) -> dict[str, Any]:
        """The whole plan as plain JSON values, with fingerprints; see plan_facts.py."""
        from trainer.data.plan_facts import plan_facts

        return plan_facts(self)

    def fingerprint(self) -> str:
        """Digest of what decides the rows: content of the manifests, schedule, seed, ORDER_VERSION."""
        return str(self.facts()["fingerprints"]["plan"])

    def summary(self) -> dict[str, Any]:
        """What a start prints: per phase and source the shares asked for and realised, rows, epochs."""
        from trainer.data.plan_facts import plan_summary

        return plan_summary(self)

    # Steps

    def first_row(self, step: int) -> int:
        """Rows before `step`; `first_row(k)` is the next row after k steps."""
        return self.batch.first_row(step)

    def rows_of_step(self, step: int) -> Counts:
        """int64 numbers of the step's rows, ascending without a gap."""
        first = self.batch.first_row(step)
        return np.arange(first, first + self.batch.rows_in(step), dtype=np.int64)

    def step_of(self, rows: npt.ArrayLike) -> Counts:
        """The step of each row."""
        return self.batch.step_of(rows)

    def sequence_length(self, step: int) -> int:
        """S of a step: no step holds two phases."""
        return self.phase_at(self.batch.first_row(step)).sequence_length

    def phase_at(self, row: int) -> Phase:
        """The phase that `row` lies in."""
        return self.phases[int(self.mixture.phase_of(np.array([row]))[0])]

    # Rows

    def locate(self, rows: Counts) -> RowRefs:
        """Where rows come from; `rows` int64[n] in any order, all >= 0. Raises IndexError."""
        rows = np.asarray(rows, np.int64)
        source, ordinal = self.mixture.locate(rows)
        epoch, position, part = (np.empty(len(rows), np.int64) for _ in range(3))
        block_tokens, sequence_length = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        num_blocks = np.empty(len(rows), np.int64)
        packed = np.zeros(len(rows), np.bool_)
        phases = self.mixture.phase_of(rows)
        for phase in np.unique(phases):
            members = phases == phase
            cursors = self._cursors_of(int(phase))
            places = cursors.place(source[members], ordinal[members])
            epoch[members], position[members], part[members] = places
            num_blocks[members] = cursors.num_blocks[source[members]]
            block_tokens[members] = self.phases[phase].block_tokens
            sequence_length[members] = self.phases[phase].sequence_length
            packed[members] = self.phases[phase].is_packed
        block = self._permute(source, epoch, num_blocks, position)
        start = np.where(packed, -1, block * block_tokens + part * sequence_length)
        return RowRefs(rows, source.astype(np.int64), epoch, block, part, start, sequence_length + 1)

    def row_of(self, source: int, epoch: int, block: int, part: int) -> int | None:
        """The first row of the run, however long, that is this part; None when no phase comes to it."""
        for index, phase in enumerate(self.phases):
            cursors = self._cursors_of(index)
            blocks = int(cursors.num_blocks[source])
            if block >= blocks or part >= phase.rows_per_block or epoch < int(cursors.epoch[source]):
                continue
            position = self._order(source, epoch, blocks).inverse(block)
            ordinal = cursors.ordinal(source, epoch, position, part)
            last = index + 1 == len(self.phases)
            end = None if last else int(self._cursors_of(index + 1).first_ordinal[source])
            if ordinal >= int(cursors.first_ordinal[source]) and (end is None or ordinal < end):
                return self.mixture.row_of(source, ordinal)
        return None

    def counts(self, row: int) -> Counts:
        """int64[K]: rows of each source before `row`."""
        return self.mixture.counts(row)

    def epochs(self, row: int) -> npt.NDArray[np.float64]:
        """float64[K]: epochs of each source gone through before `row`, such as 1.25."""
        return self._cursors_of(self._phase_before(row)).epochs(self.counts(row))

    def skipped_tokens(self, row: int) -> Counts:
        """int64[K]: targets that changes of sequence length before `row` passed over."""
        return self._cursors_of(self._phase_before(row)).skipped_tokens

    def planned_rows(self, row: int) -> npt.NDArray[np.float64]:
        """float64[K]: rows before `row` times realised weights: what `counts` is held close to."""
        return self.counts(row) + self.mixture.credits(row) / self.period

    def _phase_before(self, row: int) -> int:
        return int(self.mixture.phase_of(np.array([max(row - 1, 0)]))[0])

    def _cursors_of(self, phase: int) -> Cursors:
        with self._lock:
            while len(self._cursors) <= phase:
                index = len(self._cursors)
                old, new = self.phases[index - 1 : index + 1]
                ordinal = self.mixture.counts(new.start_row)
                self._cursors.append(next_cursors(self._cursors[-1], old, new, ordinal, self.sources))
            return self._cursors[phase]

    def _permute(
        self, source: npt.NDArray[np.int32], epoch: Counts, num_blocks: Counts, position: Counts
    ) -> Counts:
        block = np.empty(len(position), np.int64)
        keys = np.stack([source.astype(np.int64), epoch, num_blocks], axis=1)
        orders, order_of = np.unique(keys, axis=0, return_inverse=True)
        for index, (source_index, epoch_number, blocks) in enumerate(orders.tolist()):
            members = order_of.reshape(-1) == index
            block[members] = self._order(source_index, epoch_number, blocks).forward(position[members])
        return block

    def _order(self, source: int, epoch: int, num_blocks: int) -> Permutation | ExtentPermutation:
        wanted = (source, epoch, num_blocks)
        with self._lock:
            if wanted in self._orders:
                self._orders.move_to_end(wanted)
                return self._orders[wanted]
        key = permutation_key(self.seed, "blocks", self.sources[source].key_name, epoch)
        order = block_order(num_blocks, key, self.shuffle_extent)
        with self._lock:
            self._orders[wanted] = order
            if len(self._orders) > ORDERS_KEPT:
                self._orders.popitem(last=False)
        return order


def rank_slice(rows: Counts, rank: int, world: int) -> Counts:
    """The rank-th of `world` contiguous, equally long slices of a step's rows; -1 fills up what is missing.

    Fill rows have no weight and are never counted, so every world size has the same rows.
    """
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} of {world}")
    length = -(-len(rows) // world)
    filled = np.full(length, -1, np.int64)
    mine = rows[rank * length : (rank + 1) * length]
    filled[: len(mine)] = mine
    return filled
