"""Texts without parts of them: ranges of bytes are taken out, and the white space around is put in order.

Ranges of one text may overlap and touch; what they cover together is cut. A range that begins or ends inside
a character is refused. Then

- in the middle of a text, of the white space in front of a cut and that at the end of what was cut, the one
  with more line feeds stays, the one in front where both have as many: a paragraph that loses its last
  sentences is still one;
- a cut that has nothing but white space in front takes it along, and the blank lines behind;
- a cut that has nothing but white space behind takes it along, and that in front.

Nothing else changes: blank lines around a line that was taken out stay, and a text without a range keeps
every byte. Who says what goes is in `units.py` and `decide/lines.py`. Slow twin: `tests/reference/units.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.marks import black_end, mark_table, skip_white
from dataprep.kernels.texts import Texts
from dataprep.kernels.utf8 import copy_bytes, pointer, read_only

Int64s = npt.NDArray[np.int64]
LINE_FEED = 0x0A


def without(texts: Texts, rows: Int64s, starts: Int64s, ends: Int64s) -> Texts:
    """The texts, without the bytes starts[i] to ends[i] of text rows[i], for every i.

    Ranges are counted from the beginning of their text, and come in the order of (row, start). ValueError
    where they do not, leave their text or split a character. Memory: the new texts, and 48 bytes a range.
    """
    if not len(rows):
        return texts
    blocks = _blocks(texts, rows, starts, ends)
    out = np.empty(texts.num_bytes, dtype=np.uint8)
    out_offsets = np.zeros(texts.offsets.size, dtype=np.int64)
    _without(
        read_only(texts.data), read_only(texts.offsets), read_only(blocks), *mark_table(), out, out_offsets
    )
    return Texts(out[: out_offsets[-1]], out_offsets)


def _blocks(texts: Texts, rows: Int64s, starts: Int64s, ends: Int64s) -> Int64s:
    """int64[k, 3]: (row, start, end as places in the data) of what ranges cover together, in order."""
    if rows.min() < 0 or rows.max() >= len(texts) or (np.diff(rows) < 0).any():
        raise ValueError("ranges to take out name texts that there are, in ascending order")
    if starts.min() < 0 or (starts > ends).any() or (ends > texts.lengths[rows]).any():
        raise ValueError("a range to take out leaves its text, or ends before it begins")
    first, last = texts.offsets[rows] + starts, texts.offsets[rows] + ends
    if (np.diff(first) < 0).any():
        raise ValueError("ranges to take out come in the order in which they begin")
    for places in (first, last):
        inside = places[places < texts.offsets[rows + 1]]
        if (texts.data[inside] & 0xC0 == 0x80).any():
            raise ValueError("a range to take out splits a character")
    reached = np.maximum.accumulate(last)  # texts lie end to end, so those of the rows before are smaller
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (first[1:] > reached[:-1]) | (rows[1:] != rows[:-1])
    heads = np.flatnonzero(is_new)
    tails = np.append(heads[1:], len(rows)) - 1
    blocks = np.stack([rows[heads], first[heads], reached[tails]], axis=1)
    return blocks[blocks[:, 1] < blocks[:, 2]]


@njit(cache=True, nogil=True)
def _line_feeds(text, at, stop):  # type: ignore[no-untyped-def]
    count = 0
    for place in range(at, stop):
        count += text[place] == LINE_FEED
    return count


@njit(cache=True, nogil=True)
def _without(data, offsets, blocks, page_array, cell_array, out_array, out_offsets):  # type: ignore[no-untyped-def]
    text, out = pointer(data), pointer(out_array)
    pages, cells = pointer(page_array), pointer(cell_array)
    size, block = 0, 0
    for index in range(offsets.size - 1):
        stop, done = offsets[index + 1], offsets[index]
        begin = front = size  # out[front:size] is the white space that ends what is left so far
        feeds, is_cut = 0, False
        while block < blocks.shape[0] and blocks[block, 0] == index:
            start, end = blocks[block, 1], blocks[block, 2]
            block += 1
            is_cut = True
            black = black_end(text, done, start, pages, cells)
            copy_bytes(out, size, text, done, start - done)
            size += start - done
            if black > done:
                front, feeds = size - (start - black), 0
            feeds += _line_feeds(text, max(black, done), start)
            done = end
            if front == begin:  # nothing but white space
                size, feeds = begin, 0
                following = stop
                if block < blocks.shape[0] and blocks[block, 0] == index:
                    following = blocks[block, 1]
                for place in range(end, skip_white(text, end, following, pages, cells)):
                    if text[place] == LINE_FEED:
                        done = place + 1
                continue
            behind = black_end(text, start, end, pages, cells)
            feeds_behind = _line_feeds(text, behind, end)
            if feeds_behind > feeds:
                copy_bytes(out, front, text, behind, end - behind)
                size, feeds = front + end - behind, feeds_behind
        if is_cut and skip_white(text, done, stop, pages, cells) == stop:
            size = front
        else:
            copy_bytes(out, size, text, done, stop - done)
            size += stop - done
        out_offsets[index + 1] = size
