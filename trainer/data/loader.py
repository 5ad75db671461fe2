"""Batches for one data-parallel rank: rows of the plan, read ahead in threads.

A batch is a function of (plan, step, rank, world size). The threads hold no state: starting at any step gives
what an uninterrupted run gives there, and any number of workers gives the same batches in the same order.
Counting what was trained on is the loop's work, from the batch that entered the model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainer.data.rows import RowPlan, RowRefs, rank_slice
from trainer.data.source_tokens import SourceTokens
from trainer.data.targets import (
    PADDING,
    TRAINED,
    classify,
    classify_packed,
    document_numbers,
    positions_of,
)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one rank in one step, or some of them (a micro-batch).

    refs       where each row's tokens came from; of fill rows without meaning
    tokens     int64 [B, S + 1]: inputs, then the last target
    classes    uint8 [B, S]: the class of each target (targets.py)
    trained    bool [B, S]: targets that the loss is taken on
    documents  int32 [B, S]: number of the document within the row, for the block mask
    positions  int32 [B, S]: of each input within its document, counted from where the row has it first

    `documents` and `positions` are None where a row is one text: consecutive tokens without document_mask.
    """

    step: int
    refs: RowRefs
    tokens: Tensor
    classes: np.ndarray
    trained: Tensor
    documents: Tensor | None
    positions: Tensor | None

    def __len__(self) -> int:
        return len(self.tokens)

    def split(self, micro_rows: int) -> Iterator[Batch]:
        """Micro-batches of at most `micro_rows` rows, in order; every rank gets the same number of them."""
        for start in range(0, len(self), micro_rows):
            part = slice(start, start + micro_rows)
            yield Batch(
                self.step,
                self.refs.take(np.arange(len(self))[part]),
                self.tokens[part],
                self.classes[part],
                self.trained[part],
                None if self.documents is None else self.documents[part],
                None if self.positions is None else self.positions[part],
            )


def read_batch(
    plan: RowPlan, sources: Sequence[SourceTokens], step: int, rank: int, world_size: int
) -> Batch:
    """Read one rank's rows of one step. Fill rows (zero weight) hold token 0 and no trained target."""
    rows = rank_slice(plan.rows_of_step(step), rank, world_size)
    phase = plan.phase_at(plan.first_row(step))
    length = phase.sequence_length
    refs = plan.locate(np.where(rows < 0, plan.first_row(step), rows))
    tokens = np.zeros((len(rows), length + 1), dtype=np.int64)
    classes = np.full((len(rows), length), PADDING, dtype=np.uint8)
    documents = positions = None
    if plan.document_mask or phase.is_packed:
        documents = np.zeros((len(rows), length), dtype=np.int32)
        positions = np.tile(np.arange(length, dtype=np.int32), (len(rows), 1))
    for index in np.flatnonzero(rows >= 0):
        source = sources[refs.source[index]]
        if phase.is_packed:
            row = source.packed(length).read(int(refs.block[index]))
            tokens[index] = row.tokens
            classes[index] = classify_packed(row.starts, row.used, length)
            starts = np.append(row.starts, row.used)  # padding is a document of its own
        else:
            start = int(refs.start[index])
            tokens[index] = source.read(start, length + 1)
            starts = source.document_starts(start, length + 1)
            classes[index] = classify(starts, length, plan.document_mask)
        if documents is not None and positions is not None:
            documents[index] = document_numbers(starts, length)
            positions[index] = positions_of(starts, length)
    return Batch(
        step,
        refs,
        torch.from_numpy(tokens),
        classes,
        torch.from_numpy(classes == TRAINED),
        None if documents is None else torch.from_numpy(documents),
        None if positions is None else torch.from_numpy(positions),
    )


@dataclass(frozen=True, slots=True)
class Loader:
    """Reads ahead `2 * workers` steps with `workers` threads; 0 reads in the caller's thread."""

    plan: RowPlan
    sources: Sequence[SourceTokens]
    rank: int
    world_size: int
    workers: int

    def read(self, step: int) -> Batch:
        return read_batch(self.plan, self.sources, step, self.rank, self.world_size)

    def batches(self, first_step: int, last_step: int) -> Generator[Batch, None, None]:
        """Batches of the steps [first_step, last_step), in order. A thread's error is raised at its step."""
        if self.workers == 0:
            yield from map(self.read, range(first_step, last_step))
            return
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="loader")
        ahead: deque[Future[Batch]] = deque()
        try:
            for step in range(first_step, last_step):
                while len(ahead) < 2 * self.workers and step + len(ahead) < last_step:
                    ahead.append(pool.submit(self.read, step + len(ahead)))
                yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
