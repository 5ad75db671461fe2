"""Windows of consecutive tokens, grouped by what equal windows are sure to have in common.

A window is `length` tokens of one document. Of the hashes of its shorter grams (`gram_of(length)` tokens) the
lowest is its key: it depends on the tokens of the window alone, so equal windows have equal keys. (These are
the minimizers of Roberts et al. 2004, and the winnowing of Schleimer et al. 2003.) Neighbours mostly share
their lowest gram, so they are told as runs: in text there is one for about every (length - gram + 2) / 2
tokens. Which windows are in fact equal is settled on the tokens, in `repeats.py`.

A run is a row of int64[m, 3]:
  key    64 bits, evenly spread; equal for all windows of the run, and for windows equal to one of them
  place  of its first window; the others follow, one token apart
  size   2 * windows, + 1 if two of these windows may be equal to one another ("aaaa")

Slow twin: `tests/reference/substrings.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.keytable import mixed
from dataprep.kernels.utf8 import pointer, read_only

Tokens = npt.NDArray[Any]
"""uint8, uint16 or uint32."""
Int64s = npt.NDArray[np.int64]

BASE = np.uint64(0x9E3779B97F4A7C15)
LEAST_LENGTH = 2
PIECE = 1 << 16
"""Windows of a run at most, so that what is made from one run is small however long a document is."""
CHUNK = 1 << 18


def gram_of(length: int) -> int:
    """Tokens of a gram: with half a window, a gram that comes twice is seldom in windows that do not, and
    there is a run for about every quarter window."""
    return (length + 1) // 2


def window_runs(
    tokens: Tokens, token_offsets: Int64s, places: Int64s, length: int, chunk: int = CHUNK
) -> Iterator[Int64s]:
    """int64[m, 3] rows: the runs of all windows, of about `chunk` windows at a time.

    tokens         of all documents
    token_offsets  int64[n + 1]: document i is tokens[token_offsets[i] : token_offsets[i + 1]]
    places         int64[n]: of the first token of each document
    length         of a window, at least 2; a document of fewer tokens has none

    Memory beside the input: 56 bytes a document, and 24 for each window of a chunk.
    """
    if length < LEAST_LENGTH:
        raise ValueError(f"a window has at least {LEAST_LENGTH} tokens, not {length}")
    windows = np.maximum(np.diff(token_offsets) - length + 1, 0)
    pieces = -(-windows // PIECE)
    document = np.repeat(np.arange(windows.size), pieces)
    first = (np.arange(document.size) - (np.cumsum(pieces) - pieces)[document]) * PIECE
    size = np.minimum(windows[document] - first, PIECE)
    begin, place = token_offsets[:-1][document] + first, places[document] + first
    gram = gram_of(length)
    ring = np.empty(1 << (length - gram + 1).bit_length(), dtype=np.uint64)
    power = np.uint64(pow(int(BASE), gram, 1 << 64))
    before = np.cumsum(size) - size
    cuts = np.append(np.flatnonzero(np.diff(before // chunk, prepend=-1)), size.size)
    tokens = read_only(np.asarray(tokens))
    for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        out = np.empty((int(size[start:stop].sum()), 3), dtype=np.int64)
        part = slice(start, stop)
        count = _window_runs(tokens, begin[part], size[part], place[part], length, gram, power, ring, out)
        yield out[:count]


def by_part(rows: Int64s, parts: int) -> tuple[Int64s, Int64s]:
    """(rows in order of their part, bounds int64[parts + 1]): part i is rows[bounds[i] : bounds[i + 1]]. Runs
    with equal keys are in the same part; where the split or the chunk ends plays no role."""
    high = np.ascontiguousarray(rows[:, 0]).view(np.uint64) >> np.uint64(32)
    which = (high * np.uint64(parts) >> np.uint64(32)).astype(np.int64)
    order = np.argsort(which, kind="stable")
    return rows[order], np.searchsorted(which[order], np.arange(parts + 1))


@njit(cache=True, nogil=True)
def _window_runs(tokens, begins, sizes, places, length, gram, power, ring, out):  # type: ignore[no-untyped-def]
    """A ring holds the hashes of the last grams. Where the lowest drops out, they are looked through: once in
    about half a window. Of equal ones the last counts, so that "aaaa" never needs that."""
    text, mask, grams = pointer(tokens), ring.size - 1, length - gram + 1
    one, rows = np.uint64(1), 0
    for piece in range(begins.size):
        begin = begins[piece]
        hashed = np.uint64(0)
        for at in range(begin, begin + gram - 1):
            hashed = hashed * BASE + (np.uint64(text[at]) + one)
        leaving = np.uint64(0)
        lowest, lowest_at, several = np.uint64(0), np.int64(-1), False
        run_key, run_size, run_several = np.uint64(0), np.int64(0), False
        for number in range(sizes[piece] + grams - 1):
            at = begin + number
            hashed = hashed * BASE + (np.uint64(text[at + gram - 1]) + one) - leaving * power
            leaving = np.uint64(text[at]) + one
            value = mixed(hashed)
            ring[number & mask] = value
            if lowest_at < 0 or value <= lowest:
                several = lowest_at >= 0 and value == lowest
                lowest, lowest_at = value, number
            elif lowest_at <= number - grams:
                lowest, lowest_at, several = value, number, False
                for back in range(number - 1, number - grams, -1):
                    other = ring[back & mask]
                    if other < lowest:
                        lowest, lowest_at, several = other, back, False
                    elif other == lowest:
                        several = True
            if number < grams - 1:
                continue
            if run_size and run_key == lowest:
                run_size += 1
                run_several |= several
                continue
            if run_size:
                out[rows, 0] = np.int64(mixed(run_key))
                out[rows, 1] = places[piece] + number - grams + 1 - run_size
                out[rows, 2] = 2 * run_size + (1 if run_several else 0)
                rows += 1
            run_key, run_size, run_several = lowest, np.int64(1), several
        out[rows, 0] = np.int64(mixed(run_key))
        out[rows, 1] = places[piece] + sizes[piece] - run_size
        out[rows, 2] = 2 * run_size + (1 if run_several else 0)
        rows += 1
    return rows
