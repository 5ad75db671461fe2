"""Which candidate pairs are similar: by the estimate from their signatures where that is sure, else exactly.

An estimate from 112 values errs by about 0.04 (its standard deviation at similarity 0.75), so a candidate
whose estimate lies `MARGIN_PPM` or more from the threshold is settled by it. The others need the shingles of
both texts (`kernels.shingles.jaccard_ppm`), which is one more look at those texts; `verify: estimate` goes
without. All in millionths, so that nothing depends on how a machine rounds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MARGIN_PPM = 100_000


def unsettled(
    estimates_ppm: npt.NDArray[np.int32], threshold_ppm: int, margin_ppm: int = MARGIN_PPM
) -> npt.NDArray[np.bool_]:
    """bool[k]: candidates whose estimate is too near the threshold to be believed."""
    return np.abs(estimates_ppm.astype(np.int64) - threshold_ppm) < margin_ppm


def edges_of(
    pairs: npt.NDArray[np.int64], similarity_ppm: npt.NDArray[np.int32], threshold_ppm: int
) -> npt.NDArray[np.int64]:
    """int64[m, 3]: (better, worse, similarity) of pairs that reach the threshold, for `independent.py`."""
    similar = similarity_ppm >= threshold_ppm
    return np.column_stack([pairs[similar], similarity_ppm[similar].astype(np.int64)])
