"""Which kept documents are held out: a share of each source, chosen by a hash of the normalised text.

The hash is keyed by the corpus name and not by its version, so new data never moves old choices: what
version 1 held out, version 2 never trains on. Two documents that differ in white space only share the hash
and the choice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Pair = tuple[int, int]
"""High and low half of a hash."""


def hash_key(purpose: str, name: str) -> bytes:
    """16 bytes that key a hash: BLAKE2b of the name, personalised by the purpose (at most 16 ASCII
    characters)."""
    return hashlib.blake2b(name.encode(), digest_size=16, person=purpose.encode()[:16]).digest()


class Forced:
    """Which hashes must be held out, so that every source has held-out documents: looks at the documents a
    part at a time, in any order.

    share   of documents, 0 (nothing) to 0.5

    A source that keeps two documents or more holds out at least one: when none falls under the share, the one
    with the least hash.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._kept: dict[int, int] = {}
        self._least: dict[int, Pair] = {}
        self._has_some: set[int] = set()

    def look(self, mixed: Hashes, source: npt.NDArray[np.int32], kept: npt.NDArray[np.bool_]) -> None:
        """mixed: uint64[n, 2], the keyed hash. source: int32[n]. kept: bool[n]."""
        if self._share <= 0:
            return
        chosen = kept & _under(mixed, self._share)
        self._has_some |= set(np.unique(source[chosen]).tolist())
        for index in np.unique(source[kept]).tolist():
            rows = np.flatnonzero(kept & (source == index))
            self._kept[index] = self._kept.get(index, 0) + len(rows)
            first = rows[np.lexsort((mixed[rows, 1], mixed[rows, 0]))[0]]
            pair = (int(mixed[first, 0]), int(mixed[first, 1]))
            self._least[index] = min(pair, self._least.get(index, pair))

    def hashes(self) -> list[Pair]:
        return sorted(
            {
                self._least[index]
                for index, count in self._kept.items()
                if count >= 2 and index not in self._has_some
            }
        )


def held_out(
    mixed: Hashes, kept: npt.NDArray[np.bool_], share: float, forced: Sequence[Pair]
) -> npt.NDArray[np.bool_]:
    """bool[n]: True for kept documents that are held out: those whose keyed hash is under the share, and
    those with a forced one. The copies of such a document in other sources go with it, so that no held-out
    text is trained on elsewhere.
    """
    if share <= 0:
        return np.zeros(len(kept), dtype=bool)
    chosen = kept & _under(mixed, share)
    for high, low in forced:
        chosen |= kept & (mixed[:, 0] == np.uint64(high)) & (mixed[:, 1] == np.uint64(low))
    return chosen


def _under(mixed: Hashes, share: float) -> npt.NDArray[np.bool_]:
    """Whether the high word of a hash is under share * 2^64."""
    return mixed[:, 0] < np.uint64(min(int(share * 2.0**64), 2**64 - 1))
