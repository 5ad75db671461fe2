"""Copying token slices: documents that lie in one flat array into their places in another.

Used to merge the ids of two engines, to sort a run file, and to merge the runs of a shard. Knows nothing of
tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.utf8 import read_only

Integers = npt.NDArray[Any]
Int64s = npt.NDArray[np.int64]


def gather_documents(
    source: Integers, starts: Int64s, lengths: Int64s, out: Integers, out_starts: Int64s
) -> None:
    """Write source[starts[i] : starts[i] + lengths[i]] to out[out_starts[i] :], for every i in [0, n).

    source                       integers [any]; a memory map of a file will do
    starts, lengths, out_starts  int64 [n]
    out                          integers [any], maybe narrower than `source`: the caller checks that they fit

    Slices that leave `source` or `out` raise ValueError (one check over all, not one a document); places that
    overlap are the caller's mistake. Slow twin: a loop of slice assignments.
    """
    if starts.size:
        if int(min(starts.min(), lengths.min(), out_starts.min())) < 0:
            raise ValueError("starts and lengths of documents are not negative")
        if int((starts + lengths).max()) > source.size or int((out_starts + lengths).max()) > out.size:
            raise ValueError("a document reaches past the end of the tokens")
    _gather(read_only(np.asarray(source)), read_only(starts), read_only(lengths), out, read_only(out_starts))


@njit(cache=True, nogil=True)
def _gather(source, starts, lengths, out, out_starts):  # type: ignore[no-untyped-def]
    for index in range(starts.size):
        start, place = starts[index], out_starts[index]
        for position in range(lengths[index]):
            out[place + position] = source[start + position]
