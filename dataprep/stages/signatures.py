"""The low bytes of all signatures, one file a group, looked up by rank for `decide/pairs.py`.

Files are mapped, and let go of every few documents: pages of a mapped file count as memory of the process.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import HEADER_BYTES
from dataprep.cache import Entry
from dataprep.stages.rank import Ranks

LOW_BYTES = "low.npy"
"""uint8[documents of the group, permutations], zeros for those that take no part."""
STRETCH = 4096

Int64s = npt.NDArray[np.int64]


class GroupSignatures:
    """A `Lookup` over the files of some entries, whose facts say at which row each starts."""

    def __init__(self, entries: Sequence[Entry], ranks: Ranks) -> None:
        self._ranks = ranks
        self._starts = np.array([entry.facts["start"] for entry in entries], dtype=np.int64)
        self._files: list[Any] = [
            np.load(entry.file(LOW_BYTES), mmap_mode="r", allow_pickle=False)
            if entry.facts["documents"]
            else None
            for entry in entries
        ]
        self._width = next((each.shape[1] for each in self._files if each is not None), 0)

    def __call__(self, ranks: Int64s) -> npt.NDArray[np.uint8]:
        rows = self._ranks.rows(ranks)
        order = np.argsort(rows)
        rows = rows[order]
        found = np.empty((len(ranks), self._width), dtype=np.uint8)
        bounds = np.searchsorted(rows, np.append(self._starts, np.iinfo(np.int64).max))
        for number in np.flatnonzero(np.diff(bounds)).tolist():
            file = self._files[number]
            for start in range(bounds[number], bounds[number + 1], STRETCH):
                stop = min(start + STRETCH, bounds[number + 1])
                found[order[start:stop]] = file[rows[start:stop] - self._starts[number]]
                begin, end = rows[start] - self._starts[number], rows[stop - 1] + 1 - self._starts[number]
                begin = (HEADER_BYTES + int(begin) * self._width) // mmap.PAGESIZE * mmap.PAGESIZE
                file._mmap.madvise(mmap.MADV_DONTNEED, begin, HEADER_BYTES + int(end) * self._width - begin)
        return found
