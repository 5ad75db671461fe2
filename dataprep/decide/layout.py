"""Where the tokens of documents are, when documents are named by their rank.

All documents are thought of as laid end to end by rank, the best first. A token's *place* in that row says
both whose it is and how good: of two, the one at the lower place is better. Tokens themselves stay in the
arrays (maps of files) in which they were written, in the order in which they were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Tokens = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The tokens of some documents.

    tokens         uint8, uint16 or uint32, one type in all splits; a map of a file will do
    token_offsets  int64[n + 1]: document i is tokens[token_offsets[i] : token_offsets[i + 1]]
    ranks          int64[n]: 0 is the best; no rank comes twice in all splits, and gaps don't matter
    """

    tokens: Tokens
    token_offsets: Int64s
    ranks: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Documents by rank; 28 bytes each.

    ranks   int64[n], ascending
    starts  int64[n + 1]: the place of each document's first token; the last is the number of tokens
    split   int32[n]: the split in which it is
    within  int64[n]: where in the tokens of that split it begins
    """

    ranks: Int64s
    starts: Int64s
    split: npt.NDArray[np.int32]
    within: Int64s

    def documents_at(self, places: Int64s) -> Int64s:
        """Whose tokens these are, as indices into `ranks`."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def places_of(self, ranks: Int64s) -> Int64s:
        """The places of the first tokens of documents of the layout."""
        return self.starts[np.searchsorted(self.ranks, ranks)]

    def by_split(self, runs: Int64s, num_splits: int) -> tuple[Int64s, Int64s]:
        """(runs (place, count), now with their first token as an index into the tokens of their split, in
        order of splits; bounds int64[num_splits + 1])."""
        document = self.documents_at(runs[:, 0])
        split = self.split[document]
        order = np.argsort(split, kind="stable")
        document, runs = document[order], runs[order]
        first = self.within[document] + runs[:, 0] - self.starts[document]
        bounds = np.searchsorted(split[order], np.arange(num_splits + 1))
        return np.stack([first, runs[:, 1]], axis=1), bounds


def layout_of(splits: Sequence[Split]) -> Layout:
    """Of all documents of all splits. Reads no token. ValueError for a rank that comes twice."""
    none = np.zeros(0, dtype=np.int64)
    ranks = np.concatenate([none, *(each.ranks for each in splits)])
    lengths = np.concatenate([none, *(np.diff(each.token_offsets) for each in splits)])
    within = np.concatenate([none, *(each.token_offsets[:-1] for each in splits)])
    split = np.repeat(np.arange(len(splits), dtype=np.int32), [each.ranks.size for each in splits])
    order = np.argsort(ranks)
    ranks = ranks[order]
    if (ranks[1:] == ranks[:-1]).any():
        raise ValueError("two documents have the same rank")
    starts = np.zeros(order.size + 1, dtype=np.int64)
    np.cumsum(lengths[order], out=starts[1:])
    return Layout(ranks, starts, split[order], within[order])


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """A layout, and the tokens of its splits: what says where in memory a place is."""

    layout: Layout
    tokens: Sequence[Tokens]

    def __post_init__(self) -> None:
        for each in self.tokens:
            if each.dtype != self.like.dtype or not (each.flags.c_contiguous and each.flags.aligned):
                raise ValueError("tokens of all splits are of one type, contiguous and aligned")

    @property
    def like(self) -> Tokens:
        """An array of the type of the tokens."""
        return np.asarray(self.tokens[0])[:0]

    def addresses(self, places: Int64s) -> Int64s:
        """int64[m]: where the tokens at these places are in memory, as long as this corpus lives."""
        bases = np.array([each.ctypes.data for each in self.tokens], dtype=np.int64)
        document = self.layout.documents_at(places)
        first = self.layout.within[document] + places - self.layout.starts[document]
        return bases[self.layout.split[document]] + first * self.like.itemsize
