"""What is taken out of documents that hold examples: the texts without it, and how many bytes went.

A piece that goes from between two others leaves one line feed, so that no two words become one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dataprep.kernels.margins import janitor_windows, widened
from dataprep.kernels.spans import spliced
from dataprep.kernels.texts import Texts

Int64s = npt.NDArray[np.int64]
BETWEEN = Texts.from_strings(["", "\n"])
"""By the kinds of `kernels/margins.py`."""


def without(texts: Texts, found: Int64s, margin: int) -> tuple[Texts, Int64s]:
    """(texts, bytes taken out of each int64[n]) without the spans `found` (document, first byte, end) and
    `margin` characters on either side."""
    order = np.lexsort((found[:, 2], found[:, 1], found[:, 0]))
    return _spliced(texts, widened(texts.data, texts.offsets, found[order], margin))


def without_windows(texts: Texts, hits: Int64s) -> tuple[Texts, Int64s]:
    """The same by the rule of `gpt3`, of hits (document, first byte, end) in order."""
    return _spliced(texts, janitor_windows(texts.data, texts.offsets, hits))


def _spliced(texts: Texts, spans: Int64s) -> tuple[Texts, Int64s]:
    taken = np.zeros(len(texts), dtype=np.int64)
    if not len(spans):
        return texts, taken
    np.add.at(taken, spans[:, 0], spans[:, 2] - spans[:, 1])
    return Texts(*spliced(texts.data, texts.offsets, spans, BETWEEN)), taken
