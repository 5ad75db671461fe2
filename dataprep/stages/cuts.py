"""What a CorpusEdit takes out of the texts of one split: `cut.npy`, int64[k, 3] of (row of the split, start,
end), bytes counted from the beginning of the text as the step saw it; ascending by row and start.

Which parts those are is decided over all documents, in `repeats.py` and `passages.py`. Whatever reads the
split again takes them out; memory: a mapped file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import mapped, save_array
from dataprep.cache import Cache
from dataprep.chain import Link
from dataprep.columnfile import read_columns, write_columns

CUT = "cut.npy"
COLUMNS = "columns.arrow"
"""Beside it where the stages say more of each document of the split."""

Int64s = npt.NDArray[np.int64]


class Cuts:
    """Looks up the cuts of some documents, and what else the stages of the step say of them."""

    def __init__(self, cuts: Int64s, columns: Mapping[str, Any]) -> None:
        self._cuts = cuts
        self._columns = columns

    @classmethod
    def of_link(cls, link: Link, cache: Cache) -> Cuts:
        assert link.cut is not None
        entry = cache.get(link.cut.kind, link.cut.key)
        path = entry.file(COLUMNS)
        return cls(mapped(entry.file(CUT)), read_columns(path) if path.is_file() else {})

    def columns(self, rows: Int64s) -> dict[str, Any]:
        """The columns that the stages left, of documents at `rows` of the split."""
        return {name: column[rows] for name, column in self._columns.items()}

    def of(self, rows: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """(which of `rows`, start, end) of every cut of documents at `rows` of the split, ascending."""
        if not len(rows) or not len(self._cuts):
            none = np.zeros(0, dtype=np.int64)
            return none, none, none
        first, last = np.searchsorted(self._cuts[:, 0], (rows[0], rows[-1] + 1))
        cuts = np.asarray(self._cuts[first:last])
        places = np.searchsorted(rows, cuts[:, 0])
        mine = rows[places] == cuts[:, 0]
        return places[mine], cuts[mine, 1].copy(), cuts[mine, 2].copy()


def write_cuts(folder: Path, cuts: Int64s, columns: Mapping[str, Any] | None = None) -> str:
    """Write `cut.npy`, sorted, and the columns (numpy arrays); return a digest of what they say."""
    cuts = cuts[np.lexsort((cuts[:, 2], cuts[:, 1], cuts[:, 0]))]
    save_array(folder / CUT, cuts)
    digest = hashlib.blake2b(np.ascontiguousarray(cuts, dtype="<i8").tobytes(), digest_size=16)
    if columns is not None:
        write_columns(folder / COLUMNS, columns)
        for name, column in columns.items():
            digest.update(name.encode() + np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()
