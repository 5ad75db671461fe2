"""SourceTokens: the shards of one source laid end to end, as one long row of tokens.

Shards are opened by the corpus, which keeps the most recently used 1,024 and compares each with its manifest
when it first opens it. Nothing here knows of rows or blocks (`rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from manifests.errors import UserError
from trainer.data.packed_rows import PackedRows, plan_packing

if TYPE_CHECKING:
    from manifests.corpus import Corpus
    from trainer.data.refs import PlanSource
    from trainer.data.rows import RowPlan

Offsets = npt.NDArray[np.int64]


class SourceTokens:
    """One subset of one source. Thread-safe.

    num_tokens  T_k, all tokens of its shards
    dtype       of the tokens (uint16 or int32)
    """

    def __init__(self, corpus: Corpus, source: str, subset: str = "train") -> None:
        self._corpus = corpus
        self._shards = corpus.shards_of(source, subset)
        self._starts = np.zeros(len(self._shards) + 1, np.int64)  # first token of each shard, and the end
        np.cumsum([shard.tokens for shard in self._shards], out=self._starts[1:])
        self.num_tokens = int(self._starts[-1])
        self.dtype = np.dtype(corpus.manifest.dtype)
        self._source, self._subset = source, subset
        self._packed: dict[int, PackedRows] = {}

    def read(self, start: int, count: int) -> npt.NDArray[np.integer]:
        """Tokens [start, start + count), a new array of `dtype`. IndexError outside; ShardError."""
        pieces = self._pieces(start, count)
        tokens = np.empty(count, self.dtype)
        for index, first, last, at in pieces:
            reader = self._corpus.reader(self._shards[index])
            tokens[at : at + last - first] = reader.read(first, last - first)
        return tokens

    def document_starts(self, start: int, count: int) -> Offsets:
        """Ascending offsets in [0, count), from `start`, of the tokens that are the first of a document."""
        found = [np.empty(0, np.int64)]
        for index, first, last, at in self._pieces(start, count):
            offsets = self._corpus.reader(self._shards[index]).offsets
            low, high = np.searchsorted(offsets[:-1], [first, last])
            found.append(offsets[low:high] - first + at)
        return np.concatenate(found)

    def packed(self, sequence_length: int) -> PackedRows:
        """Its packed rows of one length. Raises ManifestError when there are none."""
        if sequence_length not in self._packed:
            rows = PackedRows(self._corpus, self._source, self._subset, sequence_length)
            self._packed[sequence_length] = rows
        return self._packed[sequence_length]

    def _pieces(self, start: int, count: int) -> list[tuple[int, int, int, int]]:
        """(shard, first token in it, token after the last, offset in the window) of each shard concerned."""
        if start < 0 or count < 0 or start + count > self.num_tokens:
            raise IndexError(f"tokens {start} to {start + count} of {self.num_tokens}")
        pieces = []
        index = int(np.searchsorted(self._starts, start, side="right")) - 1
        at = start
        while at < start + count:
            begin, end = int(self._starts[index]), int(self._starts[index + 1])
            last = min(end, start + count)
            if last > at:  # empty shards hold nothing of the window
                pieces.append((index, at - begin, last - begin, at - start))
                at = last
            index += 1
        return pieces


def open_sources(plan: RowPlan, corpora: Sequence[Corpus]) -> tuple[SourceTokens, ...]:
    """SourceTokens for each of plan.sources, in that order. Raises UserError when tokens and plan differ."""
    by_name = {corpus.manifest.corpus: corpus for corpus in corpora}
    opened = []
    for source in plan.sources:
        tokens = SourceTokens(by_name[source.corpus], source.source, plan.subset)
        if tokens.num_tokens != source.tokens:
            raise UserError(
                f"source {source.name} has {tokens.num_tokens} tokens; the plan was made for {source.tokens}",
                where=str(by_name[source.corpus].folder),
            )
        _check_packings(source, by_name[source.corpus], plan.subset)
        opened.append(tokens)
    return tuple(opened)


def _check_packings(source: PlanSource, corpus: Corpus, subset: str) -> None:
    for length, packing in source.packings.items():
        if plan_packing(corpus, source.source, subset, length) != packing:
            raise UserError(
                f"source {source.name} has other packed rows of {length} than the plan was made for",
                where=str(corpus.folder),
            )
