"""Where each source stands at the start of each phase: the cursors that phases hand on to each other.

Within a phase a source goes through the parts (rows) of its blocks, epoch after epoch. Between phases:

    same S                 goes on with the next part
    other S, same blocks   goes up to the next whole block; the parts passed over are counted as skipped
    other blocks           a new epoch begins; the rest of the old one is skipped, and what it had is repeated

Pure integers; which block comes when is `order.py`, which ordinal a row has is `mixture.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of the plan. `quota` and `weights` follow the plan's sources; 0 = not in the phase.

    weights  as asked for, as shares of targets that add up to 1; `quota` is what they became.
    """

    start_row: int
    sequence_length: int
    block_tokens: int
    weights: tuple[float, ...]
    quota: tuple[int, ...]

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


def num_blocks(tokens: Counts, block_tokens: int) -> Counts:
    """N_k = (T_k - 1) // U: each block needs one token beyond its own for its last target."""
    return (tokens - 1) // block_tokens


def first_cursors(phase: Phase, tokens: Counts) -> Cursors:
    """Cursors at row 0 of the run. `tokens` int64[K] is T_k."""
    zeros = np.zeros(len(tokens), np.int64)
    blocks = num_blocks(tokens, phase.block_tokens)
    return Cursors(zeros, zeros, zeros, blocks, phase.rows_per_block, zeros)


def next_cursors(cursors: Cursors, old: Phase, new: Phase, ordinal: Counts, tokens: Counts) -> Cursors:
    """Cursors at the start of `new`, which follows `old`. `ordinal` int64[K]: rows before it."""
    rows = cursors.offset + ordinal - cursors.first_ordinal
    epoch, offset, passed = cursors.epoch, rows, np.zeros_like(rows)
    if new.block_tokens != old.block_tokens:
        epoch_rows = cursors.num_blocks * cursors.rows_per_block
        epochs = -(-rows // epoch_rows)
        epoch, offset, passed = epoch + epochs, np.zeros_like(rows), epochs * epoch_rows - rows
    elif new.sequence_length != old.sequence_length:
        blocks = -(-rows // cursors.rows_per_block)
        offset, passed = blocks * new.rows_per_block, blocks * cursors.rows_per_block - rows
    return Cursors(
        ordinal,
        epoch,
        offset,
        num_blocks(tokens, new.block_tokens),
        new.rows_per_block,
        cursors.skipped_tokens + passed * old.sequence_length,
    )
