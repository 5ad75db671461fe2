"""The slow twin of trainer/data/rows.py: the rows of a plan listed by counters that count."""

from __future__ import annotations

from dataclasses import dataclass

from tests.reference.mixture import mixture
from tests.reference.order import feistel, sorted_order
from trainer.data.order import permutation_key
from trainer.data.rows import RowPlan


@dataclass
class Stand:
    epoch: int = 0
    position: int = 0
    part: int = 0


def list_rows(plan: RowPlan, num_rows: int) -> list[tuple[int, int, int, int, int, int]]:
    """(source, epoch, block, part, start, length) of rows [0, num_rows). One block size for all phases."""
    quotas = [(phase.start_row, phase.quota) for phase in plan.phases]
    sources = mixture(quotas, num_rows, plan.period)
    stands = [Stand() for _ in plan.sources]
    rows = []
    phase = plan.phases[0]
    for row, k in enumerate(sources):
        for later in plan.phases:
            if later.start_row == row and later.sequence_length != phase.sequence_length:
                for index, stand in enumerate(stands):
                    if stand.part:
                        step_block(stand, blocks_of(plan, index))
            if later.start_row == row:
                phase = later
        stand, blocks = stands[k], blocks_of(plan, k)
        block = block_at(plan, k, stand, blocks)
        start = block * phase.block_tokens + stand.part * phase.sequence_length
        rows.append((k, stand.epoch, block, stand.part, start, phase.sequence_length + 1))
        stand.part += 1
        if stand.part == phase.rows_per_block:
            step_block(stand, blocks)
    return rows


def blocks_of(plan: RowPlan, source: int) -> int:
    return (plan.sources[source].tokens - 1) // plan.block_tokens


def block_at(plan: RowPlan, source: int, stand: Stand, blocks: int) -> int:
    key = permutation_key(plan.seed, "blocks", plan.sources[source].key_name, stand.epoch)
    if blocks > 1 << 16:
        return feistel(stand.position, blocks, key)
    return sorted_order(blocks, key)[stand.position]


def step_block(stand: Stand, blocks: int) -> None:
    stand.position, stand.part = stand.position + 1, 0
    if stand.position == blocks:
        stand.epoch, stand.position = stand.epoch + 1, 0
