"""The first documents by a keyed hash, up to some bytes of text: the sample that a tokenizer is trained on.

Looks at the documents a part at a time, in any order. Memory: 32 bytes for each document of twice the sample.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class Prefix:
    """Documents in ascending order of (hash, row), as long as their bytes together are at most `limit`; at
    least one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[npt.NDArray[np.uint64]] = []
        self._bytes = 0
        self._bound = np.uint64(2**64 - 1)
        """No document whose hash has a higher first half can be chosen."""

    def add(
        self, mixed: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64], text_bytes: npt.NDArray[np.int64]
    ) -> None:
        """mixed: uint64[n, 2], the keyed hash. rows: int64[n]. text_bytes: int64[n]."""
        near = mixed[:, 0] <= self._bound
        part = np.column_stack(
            [mixed[near], rows[near].astype(np.uint64), text_bytes[near].astype(np.uint64)]
        )
        self._parts.append(part)
        self._bytes += int(text_bytes[near].sum())
        if self._bytes > 2 * self._limit:
            self._shrink()

    def chosen(self) -> npt.NDArray[np.int64]:
        """Their rows, ascending."""
        self._shrink()
        return np.sort(np.concatenate([part[:, 2] for part in self._parts]).astype(np.int64))

    def _shrink(self) -> None:
        together = np.concatenate([np.zeros((0, 4), dtype=np.uint64), *self._parts])
        together = together[np.lexsort((together[:, 2], together[:, 1], together[:, 0]))]
        fit = int(np.searchsorted(np.cumsum(together[:, 3].astype(np.int64)), self._limit, side="right"))
        kept = together[: max(1, fit)]
        if fit < len(together) and len(kept):
            self._bound = kept[-1, 0]
        self._parts, self._bytes = [kept], int(kept[:, 3].sum())
