"""Taking spans out of texts with a margin of characters around them: two ways, both in code points.

`widened` grows spans by a margin and joins those that touch. A span never begins or ends inside a code point,
nor between a character and a mark that belongs to it (DELETE of `word_keys.word_table`, but no apostrophe).

`janitor_windows` gives what Janitor of EleutherAI's lm-evaluation-harness takes out around its hits, with its
habits: pieces of `window` characters or less between hits go too, as does one at the end; a document with
more than `most` hits goes as a whole; behind the last hit one character more goes than behind the others,
which begin with the last character of their window.

Slow twins: `tests/reference/contamination.py` (and there, in its own words, Janitor).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.spans import Spans
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import decode, lookup, pointer, read_only
from dataprep.kernels.word_keys import DELETE, PLAIN, word_table

Int64s = npt.NDArray[np.int64]
EMPTY, BREAK = 0, 1
"""Kinds of what is taken out, for `spans.spliced`: at an end of its text, or between two pieces."""


def widened(data: Bytes, offsets: Offsets, found: Int64s, margin: int) -> Spans:
    """Spans of `found`, int64[k, 3]: (text, first byte, end), bytes counted from where the text begins, in
    the order of texts and first bytes."""
    pages, cells = word_table(PLAIN)[:2]
    out = np.empty((len(found), 4), dtype=np.int64)
    count = _widened(read_only(data), read_only(offsets), found, margin, pages, cells, out)
    return out[:count]


def janitor_windows(data: Bytes, offsets: Offsets, hits: Int64s, window: int = 200, most: int = 10) -> Spans:
    """The same of hits, as `found` above, but of one text in the order of n-grams, overlapping ones too."""
    out = np.empty((len(hits) + 1, 4), dtype=np.int64)
    count = _janitor(read_only(data), read_only(offsets), hits, window, most, out)
    return out[:count]


@njit(cache=True, nogil=True)
def _back(text, at, start, characters):  # type: ignore[no-untyped-def]
    """So many code points before `at`, not before `start`."""
    while characters > 0 and at > start:
        at -= 1
        while at > start and text[at] & 0xC0 == 0x80:
            at -= 1
        characters -= 1
    return at


@njit(cache=True, nogil=True)
def _ahead(text, at, stop, characters):  # type: ignore[no-untyped-def]
    while characters > 0 and at < stop:
        at += 1
        while at < stop and text[at] & 0xC0 == 0x80:
            at += 1
        characters -= 1
    return at


@njit(cache=True, nogil=True)
def _is_mark(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    if text[at] < 0x80:
        return False
    return lookup(pages, cells, decode(text, at, stop)[0]) == DELETE


@njit(cache=True, nogil=True)
def _widened(data, offsets, found, margin, pages, cells, out):  # type: ignore[no-untyped-def]
    text, count = pointer(data), 0
    for row in range(found.shape[0]):
        index = found[row, 0]
        start, stop = offsets[index], offsets[index + 1]
        first = _back(text, start + found[row, 1], start, margin)
        end = _ahead(text, start + found[row, 2], stop, margin)
        while first > start and _is_mark(text, first, stop, pages, cells):
            first = _back(text, first, start, 1)
        while end < stop and _is_mark(text, end, stop, pages, cells):
            end = _ahead(text, end, stop, 1)
        if count and out[count - 1, 0] == index and first <= out[count - 1, 2]:
            out[count - 1, 2] = max(out[count - 1, 2], end)
        else:
            out[count, 0], out[count, 1], out[count, 2] = index, first, end
            count += 1
        last = count - 1
        out[last, 3] = EMPTY if out[last, 1] == start or out[last, 2] == stop else BREAK
    return count


@njit(cache=True, nogil=True)
def _characters(text, start, stop):  # type: ignore[no-untyped-def]
    count = 0
    for at in range(start, stop):
        count += text[at] & 0xC0 != 0x80
    return count


@njit(cache=True, nogil=True)
def _janitor(data, offsets, hits, window, most, out):  # type: ignore[no-untyped-def]
    text, count, row = pointer(data), 0, 0
    while row < hits.shape[0]:
        index, last = hits[row, 0], row
        while last < hits.shape[0] and hits[last, 0] == index:
            last += 1
        start, stop = offsets[index], offsets[index + 1]
        gone, done = start, start  # all before `gone` goes or is kept; pieces are judged from `done` on
        first_of_text = count
        if last - row > most:
            out[count, 0], out[count, 1], out[count, 2] = index, start, stop
            count += 1
        else:
            for hit in range(row, last):
                first = _back(text, start + hits[hit, 1], start, window)
                if first > done and _characters(text, done, first) > window:
                    if done > gone:
                        out[count, 0], out[count, 1], out[count, 2] = index, gone, done
                        count += 1
                    gone = first
                # Where the last character of the n-gram begins, and so many characters on.
                done = _ahead(text, _back(text, start + hits[hit, 2], start, 1), stop, window)
            if _characters(text, done, stop) > window:
                stop = _ahead(text, done, stop, 1)
            if stop > gone:
                out[count, 0], out[count, 1], out[count, 2] = index, gone, stop
                count += 1
        for span in range(first_of_text, count):
            at_end = out[span, 1] == offsets[index] or out[span, 2] == offsets[index + 1]
            out[span, 3] = EMPTY if at_end else BREAK
        row = last
    return count
