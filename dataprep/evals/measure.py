"""Where documents and evaluation sets overlap: `hits_in` measures one batch or split; nothing is judged here
(see `dataprep/decide/contamination.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dataprep.evals.index import EvalIndex
from dataprep.kernels.overlaps import HIT_FIELDS, RUN_FIELDS, overlaps
from dataprep.kernels.texts import Texts

Int64s = npt.NDArray[np.int64]
ANSWER_WINDOW = 64
"""Words on either side of a run in which an answer counts as near."""


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """What `documents` documents have in common with the texts of an index.

    grams  int64 [h, 4]: document, number of the n-gram, first byte, end; every occurrence, in order
    runs   int64 [r, 9]: document, text of the index, matched words, longest exact stretch, first word and end
           in the text, first byte and end in the document, whether the answer is near. Only those that reach
           what their text needs, and none where the definition asks for no runs.

    Bytes count from where the document begins.
    """

    documents: int
    grams: Int64s
    runs: Int64s

    @staticmethod
    def join(parts: Sequence[Hits]) -> dict[str, Int64s]:
        """Those of batches that follow one another, by name: `grams` and `runs`."""
        together = joined_hits(parts)
        return {"grams": together.grams, "runs": together.runs}


def hits_in(texts: Texts, index: EvalIndex) -> Hits:
    """The hits of a batch, as numbered in it."""
    definition = index.definition
    grams, runs = overlaps(
        texts.data, texts.offsets, index.references, definition.ngram, definition.manner, ANSWER_WINDOW
    )
    return Hits(len(texts), grams, runs)


def joined_hits(parts: Sequence[Hits]) -> Hits:
    """The hits of batches that follow one another as those of one."""
    first, grams, runs = 0, [np.zeros((0, HIT_FIELDS), np.int64)], [np.zeros((0, RUN_FIELDS), np.int64)]
    for part in parts:
        for rows, moved in ((part.grams, grams), (part.runs, runs)):
            copy = rows.copy()
            copy[:, 0] += first
            moved.append(copy)
        first += part.documents
    return Hits(first, np.concatenate(grams), np.concatenate(runs))
