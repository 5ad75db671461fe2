"""What a CorpusEdit takes out of the texts of one split: `cut.npy`, int64[k, 3] of (row of the split, start,
end), bytes counted from the beginning of the text as the step saw it; ascending by row and start.

Which parts those are is decided over all documents, in `repeats.py` and `passages.py`. Whatever reads the
split again takes them out; memory: a mapped file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import mapped, save_array
from dataprep.cache import Cache
from dataprep.chain import Link

CUT = "cut.npy"

Int64s = npt.NDArray[np.int64]


class Cuts:
    """Looks up the cuts of some documents."""

    def __init__(self, cuts: Int64s) -> None:
        self._cuts = cuts

    @classmethod
    def of_link(cls, link: Link, cache: Cache) -> Cuts:
        assert link.cut is not None
        return cls(mapped(cache.get(link.cut.kind, link.cut.key).file(CUT)))

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


def write_cuts(folder: Path, cuts: Int64s) -> str:
    """Write `cut.npy`, sorted; return a digest of what it says."""
    cuts = cuts[np.lexsort((cuts[:, 2], cuts[:, 1], cuts[:, 0]))]
    save_array(folder / CUT, cuts)
    return hashlib.blake2b(np.ascontiguousarray(cuts, dtype="<i8").tobytes(), digest_size=16).hexdigest()
