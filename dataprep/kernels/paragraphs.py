"""How many lines of a text, ended by "\\n", have so many characters. Slow twin: a comprehension over
`text.split("\\n")`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.linebreaks import find_byte
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import pointer, read_only


def long_lines(data: Bytes, offsets: Offsets, min_length: int) -> npt.NDArray[np.int64]:
    """int64[n]: lines of at least `min_length` characters, white space included."""
    return _long_lines(read_only(data), read_only(offsets), min_length)


@njit(cache=True, nogil=True)
def _long_lines(data, offsets, min_length):  # type: ignore[no-untyped-def]
    text = pointer(data)
    out = np.zeros(offsets.size - 1, dtype=np.int64)
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        while True:
            end = find_byte(text, at, stop, 0x0A)
            if end - at >= min_length:
                length = 0
                for place in range(at, end):
                    length += text[place] & 0xC0 != 0x80
                out[index] += length >= min_length
            if end == stop:
                break
            at = end + 1
    return out
