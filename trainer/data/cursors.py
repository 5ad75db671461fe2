"""Where each source stands at the start of each phase: the cursors that phases hand on to each other.

Within a phase a source goes through the parts (rows) of its blocks, epoch after epoch. Between phases:

    same S                 goes on with the next part
    other S, same blocks   goes up to the next whole block; the parts passed over are counted as skipped
    other blocks           a new epoch begins; the rest of the old one is skipped, and what it had is repeated

Blocks are other ones when U changes, or when packed rows follow consecutive ones or packed rows of another S.

Pure integers; which block comes when is `order.py`, which ordinal a row has is `mixture.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trainer.data.refs import PlanSource

Counts = npt.NDArray[np.int64]

CONCAT, BEST_FIT = "concat", "best_fit"


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of the plan. `quota` and `weights` follow the plan's sources; 0 = not in the phase.

    weights  as asked for, as shares of targets that add up to 1; `quota` is what they became
    pack     "concat": rows are S + 1 consecutive tokens; "best_fit": rows of a packing, each a block
    """

    start_row: int
    sequence_length: int
    block_tokens: int
    weights: tuple[float, ...]
    quota: tuple[int, ...]
    pack: str = CONCAT

    @property
    def is_packed(self) -> bool:
        return self.pack == BEST_FIT

    @property
    def blocks(self) -> tuple[str, int]:
        """Equal for phases that go through the same blocks."""
        return self.pack, self.block_tokens

    @property
    def rows_per_block(self) -> int:
        return self.block_tokens // self.sequence_length


@dataclass(frozen=True, slots=True)
class Cursors:
    """State of all K sources at the start of a phase; every array is int64[K].

    first_ordinal   rows of the source before the phase
    epoch, offset   the phase's first row of the source is row `offset` of those of epoch `epoch` and on
    num_blocks      N_k, blocks of an epoch
    rows_per_block  U / S
    skipped_tokens  targets passed over by all changes so far
    """

    first_ordinal: Counts
    epoch: Counts
    offset: Counts
    num_blocks: Counts
    rows_per_block: int
    skipped_tokens: Counts

    def place(self, source: npt.NDArray[np.integer], ordinal: Counts) -> tuple[Counts, Counts, Counts]:
        """(epoch, position of the block in the epoch's order, part of the block) of a source's ordinals."""
        block, part = np.divmod(
            self.offset[source] + ordinal - self.first_ordinal[source], self.rows_per_block
        )
        epoch, position = np.divmod(block, self.num_blocks[source])
        return self.epoch[source] + epoch, position, part

    def ordinal(self, source: int, epoch: int, position: int, part: int) -> int:
        """The ordinal of a place, which may lie before or after the phase."""
        block = (epoch - int(self.epoch[source])) * int(self.num_blocks[source]) + position
        return int(self.first_ordinal[source] - self.offset[source]) + block * self.rows_per_block + part

    def epochs(self, ordinal: Counts) -> npt.NDArray[np.float64]:
        """float64[K]: epochs gone through before each source's `ordinal` [K], such as 1.25."""
        rows = self.offset + ordinal - self.first_ordinal
        return np.asarray(self.epoch + rows / (self.num_blocks * self.rows_per_block), np.float64)


def num_blocks(sources: Sequence[PlanSource], phase: Phase) -> Counts:
    """int64[K], N_k: packed rows of each source, or (T_k - 1) // U, as each block needs one token beyond its
    own for its last target. A source that has none of them has 1: it is in no such phase, and goes through
    none."""
    if phase.is_packed:
        packings = [source.packings.get(phase.sequence_length) for source in sources]
        return np.array([1 if packing is None else packing.rows for packing in packings], np.int64)
    tokens = np.array([source.tokens for source in sources], np.int64)
    return np.maximum((tokens - 1) // phase.block_tokens, 1, dtype=np.int64)


def targets_of(source: PlanSource, phase: Phase, rows: int) -> int:
    """Targets of so many rows of a source: S each, or, packed, as many as its rows have on average."""
    if not phase.is_packed or not rows:
        return rows * phase.sequence_length
    packing = source.packings[phase.sequence_length]
    return rows * packing.targets // packing.rows


def first_cursors(phase: Phase, sources: Sequence[PlanSource]) -> Cursors:
    """Cursors at row 0 of the run."""
    zeros = np.zeros(len(sources), np.int64)
    return Cursors(zeros, zeros, zeros, num_blocks(sources, phase), phase.rows_per_block, zeros)


def next_cursors(
    cursors: Cursors, old: Phase, new: Phase, ordinal: Counts, sources: Sequence[PlanSource]
) -> Cursors:
    """Cursors at the start of `new`, which follows `old`. `ordinal` int64[K]: rows before it."""
    rows = cursors.offset + ordinal - cursors.first_ordinal
    epoch, offset, passed = cursors.epoch, rows, np.zeros_like(rows)
    if new.blocks != old.blocks:
        epoch_rows = cursors.num_blocks * cursors.rows_per_block
        epochs = -(-rows // epoch_rows)
        epoch, offset, passed = epoch + epochs, np.zeros_like(rows), epochs * epoch_rows - rows
    elif new.sequence_length != old.sequence_length:
        blocks = -(-rows // cursors.rows_per_block)
        offset, passed = blocks * new.rows_per_block, blocks * cursors.rows_per_block - rows
    skipped = [targets_of(source, old, rows) for source, rows in zip(sources, passed.tolist(), strict=True)]
    return Cursors(
        ordinal,
        epoch,
        offset,
        num_blocks(sources, new),
        new.rows_per_block,
        cursors.skipped_tokens + np.array(skipped, np.int64),
    )
