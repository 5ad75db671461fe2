"""Token ids to bytes: each id stands for a short string of a table, and a text is those strings end to end.

Used to decode the tokens of byte-level vocabularies. Knows nothing of tokenizers;
dataprep/tokenizers/decode.py makes the table. Slow twin: `tests/reference/token_bytes.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import read_only

Integers = npt.NDArray[Any]


def bytes_of_tokens(tokens: Integers, ends: Offsets, table: Bytes, starts: Offsets) -> tuple[Bytes, Offsets]:
    """(data, offsets int64 [n + 1]): the bytes of n documents.

    tokens  integers [any]; document i is tokens[ends[i] : ends[i + 1]]
    ends    int64 [n + 1], not descending
    table   uint8; id k stands for table[starts[k] : starts[k + 1]]
    starts  int64 [ids + 1]

    Raises ValueError, naming the place, for an id that the table does not have.
    """
    offsets = np.zeros(ends.size, dtype=np.int64)
    wrong = _sizes(read_only(np.asarray(tokens)), read_only(ends), read_only(starts), offsets)
    if wrong >= 0:
        raise ValueError(
            f"token {wrong:,} has the id {int(tokens[wrong]):,}; there are 0 to {starts.size - 2:,}"
        )
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    _copy(read_only(np.asarray(tokens)), read_only(ends), read_only(table), read_only(starts), data)
    return data, offsets


@njit(cache=True, nogil=True)
def _sizes(tokens, ends, starts, offsets):  # type: ignore[no-untyped-def]
    """Fill in `offsets`; the first token whose id is not in the table, or -1."""
    count = starts.size - 1
    for index in range(ends.size - 1):
        size = 0
        for place in range(ends[index], ends[index + 1]):
            token = np.int64(tokens[place])
            if token < 0 or token >= count:
                return place
            size += starts[token + 1] - starts[token]
        offsets[index + 1] = offsets[index] + size
    return -1


@njit(cache=True, nogil=True)
def _copy(tokens, ends, table, starts, data):  # type: ignore[no-untyped-def]
    at = 0
    for place in range(ends[0], ends[-1]):
        token = np.int64(tokens[place])
        for position in range(starts[token], starts[token + 1]):
            data[at] = table[position]
            at += 1
