"""`Model`: a classifier in memory, and what it says of texts.

Results depend on the model and the text alone, whatever was asked before: the sums of words that a model
keeps between calls change nothing but the time (see `kernels/fasttext_sums.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dataprep.kernels.fasttext_labels import NONE, Labels, scores_of, two_best
from dataprep.kernels.fasttext_rows import Tables
from dataprep.kernels.fasttext_sums import Sums, new_cache, padded, token_sums
from dataprep.kernels.texts import Texts
from manifests.errors import UserError

PPM = 1_000_000
SLICE_BYTES = 32 << 20  # of sums at a time


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A classifier.

    path    of its file, for messages
    names   of the labels, without "__label__"
    """

    path: str
    names: tuple[str, ...]
    tables: Tables
    labels: Labels
    _caches: list[npt.NDArray[np.uint64]] = field(default_factory=list)

    @contextmanager
    def cache(self) -> Iterator[npt.NDArray[np.uint64]]:
        """Sums of words, for one thread at a time; there are as many as threads that ever asked at once."""
        try:
            cache = self._caches.pop()
        except IndexError:
            cache = new_cache(self.tables)
        yield cache
        self._caches.append(cache)


def predictions(model: Model, texts: Texts) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(int64 [n, 2] indices of the best and second best label, int32 [n, 2] their scores in millionths).

    -1 and 0 where there is no label: for a text of nothing but white space, one in which the model knows
    nothing at all, and a second label that fastText would not give either.
    """
    labels = np.full((len(texts), 2), NONE, dtype=np.int64)
    scores = np.zeros((len(texts), 2), dtype=np.int32)
    for rows, sums, counts in _sums(model, texts):
        labels[rows], found = two_best(sums, counts, model.labels)
        scores[rows] = _millionths(model, found)
    return labels, scores


def label_scores(model: Model, texts: Texts, name: str) -> npt.NDArray[np.int32]:
    """int32 [n]: the score of the label `name` in millionths; 0 for a text of nothing but white space."""
    scores = np.zeros(len(texts), dtype=np.int32)
    label = model.names.index(name)
    for rows, sums, counts in _sums(model, texts):
        scores[rows] = _millionths(model, scores_of(sums, counts, model.labels, label))
    return scores


def _sums(model: Model, texts: Texts) -> Iterator[tuple[slice, Sums, npt.NDArray[np.int64]]]:
    """(which texts, sums of rows, numbers of rows), some at a time; a text without words has no rows."""
    step = max(1, SLICE_BYTES // (8 * padded(model.tables.dim)))
    for start in range(0, len(texts), step):
        part = texts.slice(start, start + step)
        with model.cache() as cache:
            sums, counts, tokens = token_sums(part.data, part.offsets, model.tables, cache)
        yield slice(start, start + len(part)), sums, np.where(tokens > 0, counts, 0)


def _millionths(model: Model, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    if np.isnan(scores).any():
        raise UserError("a score of this model is not a number", where=model.path, hint="train it anew")
    return np.rint(np.minimum(scores, 1.0) * PPM).astype(np.int32)
