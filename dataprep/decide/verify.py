"""Which candidate pairs are similar: by the estimate from their signatures where that is sure, else exactly.

An estimate from 112 values errs by about 0.04 (its standard deviation at similarity 0.75), so a candidate
whose estimate lies `MARGIN_PPM` or more from the threshold is settled by it. The others need the shingles of
both texts (`kernels.shingles.jaccard_ppm`), which is one more look at those texts. `verify: estimate` goes
without, and asks for an estimate a little over the threshold, since more pairs lie just below it than are
worth removing. All in millionths, so that nothing depends on how a machine rounds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MARGIN_PPM = 100_000
CAUTION_PPM = 20_000
"""On 40,000 documents of the data pack this takes the precision of estimates from 0.970 to 0.982, and no
recall of pairs that are 0.1 or more over the threshold (0.04 would take some)."""


def unsettled(
    estimates_ppm: npt.NDArray[np.int32], threshold_ppm: int, margin_ppm: int = MARGIN_PPM
) -> npt.NDArray[np.bool_]:
    """bool[k]: candidates whose estimate is too near the threshold to be believed."""
    return np.abs(estimates_ppm.astype(np.int64) - threshold_ppm) < margin_ppm


def least_estimate(threshold_ppm: int) -> int:
    """The estimate that a pair must reach where nothing else is looked at."""
    return min(10**6, threshold_ppm + CAUTION_PPM)


def sole_apart(threshold_ppm: int) -> bool:
    """Whether texts of one single shingle may be kept apart from all that do not have the same one: the
    similarity of a text of one and a text of two is a half, and the signature of one says no more than 32
    bits."""
    return threshold_ppm > 500_000


def edges_of(
    pairs: npt.NDArray[np.int64], similarity_ppm: npt.NDArray[np.int32], threshold_ppm: int
) -> npt.NDArray[np.int64]:
    """int64[m, 3]: (better, worse, similarity) of pairs that reach the threshold, for `independent.py`."""
    similar = similarity_ppm >= threshold_ppm
    return np.column_stack([pairs[similar], similarity_ppm[similar].astype(np.int64)])
