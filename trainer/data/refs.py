"""The small records of a plan: the sources and manifests it was made from, and where rows come from.

Data only; `rows.py` makes and uses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowRefs:
    """Where rows come from: int64 arrays of equal length, one entry a row, in the order asked for.

    source  index into RowPlan.sources
    block   number of the block in the source; part: of the block, in rows. A packed row is a block of its own
    start   token offset of the row in the source laid end to end, -1 for a packed row; length: S + 1 tokens
    """

    row: Counts
    source: Counts
    epoch: Counts
    block: Counts
    part: Counts
    start: Counts
    length: Counts

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> RowRefs:
        """The entries that `which` (indices or a mask) selects."""
        return RowRefs(
            self.row[which],
            self.source[which],
            self.epoch[which],
            self.block[which],
            self.part[which],
            self.start[which],
            self.length[which],
        )


@dataclass(frozen=True, slots=True)
class PlanPacking:
    """The packed rows of one length of a source. `digest` is of the packings of its shards."""

    rows: int
    targets: int
    digest: str


@dataclass(frozen=True, slots=True)
class PlanSource:
    """A source of the plan. `name` is what the schedule calls it; `tokens` is T_k; `packings` has, by length,
    those that the schedule uses."""

    name: str
    corpus: str
    source: str
    tokens: int
    packings: Mapping[int, PlanPacking] = field(default_factory=dict)

    @property
    def key_name(self) -> str:
        """What permutations and digests know it by; other sources and manifests never change it."""
        return f"{self.corpus}/{self.source}"


@dataclass(frozen=True, slots=True)
class PlanManifest:
    """A manifest that the plan was made from. `path` says where it was, and is in no fingerprint."""

    path: str
    corpus: str
    version: str
    content_digest: str
