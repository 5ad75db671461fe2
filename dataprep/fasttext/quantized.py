"""Product-quantized matrices: a row is a norm times one of 256 centroids for each part of its components
(Joulin et al. 2016, "FastText.zip", arXiv:1612.03651)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CENTROIDS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """rows x dim numbers.

    codes      uint8 [rows, parts]: which centroid each part of a row is
    norms      float32 [rows]
    centroids  float32 [dim * 256]: of each part 256 centroids, one after the other
    part       components of a part; the last part may have fewer
    """

    codes: npt.NDArray[np.uint8]
    norms: npt.NDArray[np.float32]
    centroids: npt.NDArray[np.float32]
    part: int
    dim: int

    @property
    def rows(self) -> int:
        return len(self.codes)

    def unpacked(self) -> npt.NDArray[np.float32]:
        """float32 [rows, dim], as fastText computes each number."""
        out = np.empty((self.rows, self.dim), dtype=np.float32)
        for index, start in enumerate(range(0, self.dim, self.part)):
            stop = min(start + self.part, self.dim)
            centroids = self.centroids[start * CENTROIDS : stop * CENTROIDS].reshape(CENTROIDS, -1)
            with np.errstate(all="ignore"):  # a broken model shows in its scores
                out[:, start:stop] = self.norms[:, None] * centroids[self.codes[:, index]]
        return out

    def take(self, rows: npt.NDArray[np.int64]) -> Quantized:
        return Quantized(self.codes[rows], self.norms[rows], self.centroids, self.part, self.dim)
