"""PackedRows: the packed rows of one source, those of its first shard first.

A row is up to S + 1 tokens of whole documents, or of pieces of those that are longer than a row, and padding
(`manifests/packing.py`). Rows are numbered over all shards; which row of a run is which of these, `rows.py`
says. Packings are opened by the corpus, which compares each with its list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from manifests.fingerprint import digest_value
from trainer.data.refs import PlanPacking

if TYPE_CHECKING:
    from manifests.corpus import Corpus

PADDING_TOKEN = 0
"""Stands where a row has no token. It is never a target, and no document sees it."""


@dataclass(frozen=True, slots=True)
class PackedRow:
    """One row.

    tokens  int64[S + 1]: those of its pieces, then padding
    starts  int64[p]: offsets in the row of the first token of each piece; the first is 0
    used    tokens that are not padding
    """

    tokens: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    used: int


class PackedRows:
    """The packed rows of one subset of a source. Thread-safe."""

    def __init__(self, corpus: Corpus, source: str, subset: str, sequence_length: int) -> None:
        listed = corpus.packings(sequence_length)
        self.sequence_length = sequence_length
        self._corpus = corpus
        self._shards = corpus.shards_of(source, subset)
        self._ends = np.cumsum([listed[shard.name].rows for shard in self._shards], dtype=np.int64)

    @property
    def num_rows(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def read(self, row: int) -> PackedRow:
        """Row `row`. Raises IndexError, ShardError, PackingError."""
        if not 0 <= row < self.num_rows:
            raise IndexError(f"packed row {row} of {self.num_rows}")
        index = int(np.searchsorted(self._ends, row, side="right"))
        shard = self._shards[index]
        packing = self._corpus.packing(shard, self.sequence_length)
        reader = self._corpus.reader(shard)
        first_row = int(self._ends[index]) - packing.num_rows
        starts, lengths = packing.pieces(row - first_row)
        ends = np.cumsum(lengths, dtype=np.int64)
        used = int(ends[-1])
        tokens = np.full(self.sequence_length + 1, PADDING_TOKEN, np.int64)
        offsets = ends - lengths
        if len(starts) == 1:
            tokens[:used] = reader.read(int(starts[0]), used)
        else:  # each token of a piece lies as far from its start in the shard as in the row
            places = np.arange(used) + np.repeat(starts - offsets, lengths)
            tokens[:used] = np.asarray(reader.tokens).take(places)
        return PackedRow(tokens, offsets, used)


def plan_packing(corpus: Corpus, source: str, subset: str, sequence_length: int) -> PlanPacking:
    """What a plan has to know of the packed rows of a source. Raises ManifestError when there are none."""
    listed = corpus.packings(sequence_length)
    packings = [listed[shard.name] for shard in corpus.shards_of(source, subset)]
    return PlanPacking(
        rows=sum(each.rows for each in packings),
        targets=sum(each.targets for each in packings),
        digest=digest_value([each.file_sha256 for each in packings]),
    )
