"""Which texts hold a code point of a given set, found in the UTF-8 bytes without making strings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import NUM_CODE_POINTS, decode, lookup, read_only, two_level


class CodePointSet:
    """A set of code points from U+0080 on, as `texts_with_code_points` wants it: 2 kB a page of 256 in use.

    ranges  (first, last) pairs, both included. ASCII is refused: the scan passes over it unread.
    """

    __slots__ = ("cells", "lowest_lead", "pages")

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        member = np.zeros(NUM_CODE_POINTS, dtype=np.uint8)
        for first, last in ranges:
            member[first : last + 1] = 1
        if member[:0x80].any():
            raise ValueError("a code point set holds nothing below U+0080")
        lowest = int(member.argmax())
        self.lowest_lead = chr(lowest).encode("utf-8")[0] if member[lowest] else 0xFF
        self.pages, self.cells = two_level(member)


def texts_with_code_points(data: Bytes, offsets: Offsets, wanted: CodePointSet) -> npt.NDArray[np.bool_]:
    """bool[n]: whether each text holds a code point of the set. Slow twin: `any(ord(c) in set for c in
    text)`."""
    out = np.zeros(offsets.size - 1, dtype=np.bool_)
    _scan(read_only(data), read_only(offsets), wanted.pages, wanted.cells, wanted.lowest_lead, out)
    return out


@njit(cache=True, nogil=True)
def _scan(data, offsets, pages, cells, lowest_lead, out):  # type: ignore[no-untyped-def]
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        while at < stop:
            # Continuation bytes are below every lead byte, so one comparison passes over whole alphabets.
            if data[at] < lowest_lead:
                at += 1
                continue
            code, width = decode(data, at, stop)
            if lookup(pages, cells, code):
                out[index] = True
                break
            at += width
