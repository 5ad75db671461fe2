"""Finding spans in texts and putting other text in their place: what the kernels of `pii` share.

A span is a row of int64[k, 4]: (text, start, end, kind), start and end as places in `data`. Rows are in
order and never overlap. What is a span is decided in `emails`, `addresses` and `numbers`; which text stands
for a kind is said by the step. Slow twin: `tests/reference/pii.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.utf8 import copy_bytes, pointer, read_only

Spans = npt.NDArray[np.int64]

DIGIT, LETTER, HEX, WORD, CAPITAL = 1, 2, 4, 8, 16
ALNUM = DIGIT | LETTER
"""Bits of ASCII_CELLS. WORD is letters, digits and the underscore. Bytes beyond ASCII have none: text that is
written without spaces (Chinese) stands directly beside addresses and numbers."""


def _ascii_cells() -> npt.NDArray[np.uint8]:
    cells = np.zeros(256, dtype=np.uint8)
    cells[[*b"0123456789"]] |= DIGIT | HEX | WORD
    cells[[*b"abcdefABCDEF"]] |= HEX
    cells[[*b"abcdefghijklmnopqrstuvwxyz"]] |= LETTER | WORD
    cells[[*b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]] |= LETTER | WORD | CAPITAL
    cells[ord("_")] |= WORD
    return cells


ASCII_CELLS = _ascii_cells()


@njit(inline="always")
def is_a(text, at, start, stop, bits):  # type: ignore[no-untyped-def]
    """Whether there is a byte at `at`, inside the text, of one of the classes `bits`."""
    return start <= at < stop and (ASCII_CELLS[text[at]] & bits) != 0


@njit(cache=True, nogil=True, forceinline=True)
def run_end(text, at, stop, bits):  # type: ignore[no-untyped-def]
    """Where the bytes of the classes `bits` that stand from `at` on end."""
    while at < stop and ASCII_CELLS[text[at]] & bits:
        at += 1
    return at


@njit(cache=True, nogil=True)
def with_room(spans, count):  # type: ignore[no-untyped-def]
    """`spans` if it has a free row after `count`, else a copy of twice the size."""
    if count < spans.shape[0]:
        return spans
    larger = np.empty((2 * spans.shape[0], 4), dtype=np.int64)
    larger[:count] = spans
    return larger


def counts_of(spans: Spans, num_texts: int) -> npt.NDArray[np.int64]:
    """int64[n]: spans in each text."""
    return np.bincount(spans[:, 0], minlength=num_texts).astype(np.int64)


def spliced(data: Bytes, offsets: Offsets, spans: Spans, replacements: Texts) -> tuple[Bytes, Offsets]:
    """(data, offsets) of all texts, each span replaced by `replacements[kind]`."""
    num_texts = offsets.size - 1
    grown = replacements.lengths[spans[:, 3]] - (spans[:, 2] - spans[:, 1])
    growth = np.zeros(num_texts, dtype=np.int64)
    np.add.at(growth, spans[:, 0], grown)
    out_offsets = np.zeros(offsets.size, dtype=np.int64)
    np.cumsum(np.diff(offsets) + growth, out=out_offsets[1:])
    out = np.empty(int(out_offsets[-1]), dtype=np.uint8)
    new_data, new_offsets = read_only(replacements.data), read_only(replacements.offsets)
    _splice(read_only(data), offsets[0], offsets[-1], spans, new_data, new_offsets, out)
    return out, out_offsets


@njit(cache=True, nogil=True)
def _splice(data, first, last, spans, new_data, new_offsets, out):  # type: ignore[no-untyped-def]
    """Texts lie end to end, so this is one walk over their bytes from `first` to `last`."""
    text, new_text, target = pointer(data), pointer(new_data), pointer(out)
    done, size = first, 0
    for row in range(spans.shape[0]):
        start, kind = spans[row, 1], spans[row, 3]
        copy_bytes(target, size, text, done, start - done)
        size += start - done
        length = new_offsets[kind + 1] - new_offsets[kind]
        copy_bytes(target, size, new_text, new_offsets[kind], length)
        size += length
        done = spans[row, 2]
    copy_bytes(target, size, text, done, last - done)
