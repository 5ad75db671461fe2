"""The class of each target of a row: what the loss is taken on, and why the others are left out.

    trained    the loss is taken on it
    masked     the first token of a document, when documents may not see each other
    padding    no token at all (best_fit bins; also every target of a fill row, which is never counted)
    cut        taken out by an example's own rules (fill-in-the-middle)
    excluded   taken out by the schedule

Document boundaries come from the index of the shards, never from an end-of-text token.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TRAINED, MASKED, PADDING, CUT, EXCLUDED = range(5)
CLASSES = ("trained", "masked", "padding", "cut", "excluded")
"""Names in the order of their numbers, and of the ledger's columns."""


def classify(
    document_starts: npt.NDArray[np.int64], sequence_length: int, document_mask: bool
) -> npt.NDArray[np.uint8]:
    """uint8[S]: the class of each target of one row of consecutive tokens.

    document_starts  offsets in the row's S + 1 tokens, as SourceTokens.document_starts(start, S + 1) gives.

    Target t is token t + 1. Without the mask, all are trained; with it, a document's first token is masked.
    """
    classes = np.full(sequence_length, TRAINED, np.uint8)
    if document_mask:
        classes[document_starts[document_starts > 0] - 1] = MASKED
    return classes
