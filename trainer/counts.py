"""What a step fed into the model: counted from batches, added up over ranks, hashed row by row.

    count_batch(plan, rows, refs, tokens, classes) -> StepCounts     on each rank, of what enters the model
    StepCounts.to_vector / from_vector                               to be summed over ranks, as int64
    step_record(plan, step, counts)                                  the fields of a line of the ledger

A digest is a sum modulo 2^64 of one hash a row, so ranks add up their parts: `row_digest` shows rows that
moved, `token_digest` tokens that changed. `ledger.py` writes the lines; `audit.py` makes the same fields by
another route.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trainer.data.rows import RowPlan, RowRefs
from trainer.data.targets import CLASSES

COLUMNS = ("rows", *CLASSES, "epoch_sum")
"""What is counted for each source: rows, targets by class, epoch numbers added up."""

MODULUS = 1 << 64


@dataclass(frozen=True, slots=True, eq=False)
class StepCounts:
    """What a micro-batch, a rank or a whole step fed into the model. Adds up with `+`.

    counts                    int64[K, len(COLUMNS)]
    row_digest, token_digest  sums in [0, 2^64) of the hashes of the rows
    """

    counts: npt.NDArray[np.int64]
    row_digest: int
    token_digest: int

    def __add__(self, other: StepCounts) -> StepCounts:
        return StepCounts(
            self.counts + other.counts,
            (self.row_digest + other.row_digest) % MODULUS,
            (self.token_digest + other.token_digest) % MODULUS,
        )

    def to_vector(self) -> npt.NDArray[np.int64]:
        """int64[K * len(COLUMNS) + 2]. Its element-wise sum over ranks, wrapping, is the step's total."""
        digests = np.array([self.row_digest, self.token_digest], np.uint64).view(np.int64)
        return np.concatenate([self.counts.ravel(), digests])

    @classmethod
    def from_vector(cls, vector: npt.NDArray[np.int64]) -> StepCounts:
        row_digest, token_digest = vector[-2:].astype(np.int64).view(np.uint64).tolist()
        return cls(vector[:-2].reshape(-1, len(COLUMNS)).copy(), row_digest, token_digest)


def zero_counts(plan: RowPlan) -> StepCounts:
    """Nothing, for the sources of a plan."""
    return StepCounts(np.zeros((len(plan.sources), len(COLUMNS)), np.int64), 0, 0)


def row_hash(row: int, source: str, epoch: int, block: int, part: int) -> int:
    """64 bits that name the place a row came from. `source` is PlanSource.key_name."""
    place = struct.pack("<qqqq", row, epoch, block, part) + source.encode("utf-8")
    return int.from_bytes(hashlib.blake2b(place, digest_size=8, person=b"headrace-row").digest(), "little")


def token_hash(row: int, tokens: bytes | memoryview) -> int:
    """64 bits of a row's S + 1 tokens, given as little-endian uint32."""
    state = hashlib.blake2b(struct.pack("<q", row), digest_size=8, person=b"headrace-tokens")
    state.update(tokens)
    return int.from_bytes(state.digest(), "little")


def count_batch(
    plan: RowPlan,
    rows: npt.NDArray[np.int64],
    refs: RowRefs,
    tokens: npt.NDArray[np.integer],
    classes: npt.NDArray[np.uint8],
) -> StepCounts:
    """Count rows that enter the model.

    rows     int64[B], row numbers by the rank's coordinate (rank_slice); -1 = fill row, which is not counted
    refs     where the loader says these B rows came from; refs.row is not used, and fill rows are ignored
    tokens   integer[B, S + 1], inputs and the last target, as they enter the model
    classes  uint8[B, S], see targets.py
    """
    total = zero_counts(plan)
    row_digest = token_digest = 0
    words = np.ascontiguousarray(tokens, "<u4")
    for index in np.flatnonzero(rows >= 0).tolist():
        row, source, epoch = int(rows[index]), int(refs.source[index]), int(refs.epoch[index])
        name = plan.sources[source].key_name
        row_digest += row_hash(row, name, epoch, int(refs.block[index]), int(refs.part[index]))
        token_digest += token_hash(row, words[index].data)
        total.counts[source, 0] += 1
        total.counts[source, 1:-1] += np.bincount(classes[index], minlength=len(CLASSES))
        total.counts[source, -1] += epoch
    return StepCounts(total.counts, row_digest % MODULUS, token_digest % MODULUS)


def step_record(plan: RowPlan, step: int, counts: StepCounts) -> dict[str, Any]:
    """The ledger line of `step` (from 0), without chain and outside."""
    sources = {
        source.key_name: dict(zip(COLUMNS, line, strict=True))
        for source, line in zip(plan.sources, counts.counts.tolist(), strict=True)
        if line[0]
    }
    return record_of(step, plan.first_row(step), sources, counts.row_digest, counts.token_digest)


def record_of(
    step: int, first_row: int, sources: Mapping[str, Mapping[str, int]], row_digest: int, token_digest: int
) -> dict[str, Any]:
    """The fields of a line from plain values; `audit.py` makes what it expects with this."""
    return {
        "step": step + 1,
        "row": first_row,
        "rows": sum(counts["rows"] for counts in sources.values()),
        "sources": {name: dict(counts) for name, counts in sources.items()},
        "row_digest": f"{row_digest:016x}",
        "token_digest": f"{token_digest:016x}",
    }
