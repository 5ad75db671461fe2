"""The class of each target of a row: what the loss is taken on, and why the others are left out.

    trained    the loss is taken on it
    masked     the first token of a document, when documents may not see each other; of a packed row, the
               first token of a piece
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


def classify_packed(
    piece_starts: npt.NDArray[np.int64], used: int, sequence_length: int
) -> npt.NDArray[np.uint8]:
    """uint8[S]: the class of each target of one packed row, of which `used` tokens are not padding.

    What a piece of a document begins with is predicted from nothing in its row, so it is masked.
    """
    classes = classify(piece_starts, sequence_length, True)
    classes[used - 1 :] = PADDING
    return classes


def document_numbers(starts: npt.NDArray[np.int64], sequence_length: int) -> npt.NDArray[np.int32]:
    """int32[S]: which document, from 0, each input of a row is of. `starts`: offsets of first tokens."""
    numbers = np.zeros(sequence_length, np.int32)
    numbers[starts[(starts > 0) & (starts < sequence_length)]] = 1
    return np.cumsum(numbers, dtype=np.int32)


def positions_of(starts: npt.NDArray[np.int64], sequence_length: int) -> npt.NDArray[np.int32]:
    """int32[S]: where in its document, or in the part of it that is in the row, each input is."""
    inside = starts[(starts > 0) & (starts < sequence_length)]
    positions = np.arange(sequence_length, dtype=np.int32)
    opened = np.zeros(sequence_length, np.int32)
    opened[inside] = inside
    return positions - np.maximum.accumulate(opened)
