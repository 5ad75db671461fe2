"""Tokens that some windows cover and others protect, and the bytes of text that they are.

One flag a token of a split: set where a marked window lies, cleared again where a kept one does. Tokens of a
byte-level vocabulary, and bytes, may end inside a character; what is cut from a text is whole characters, so
that it stays UTF-8, and maybe a few bytes more than was asked. Slow twin: `tests/reference/substrings.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.spans import Spans
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import pointer, read_only

Int64s = npt.NDArray[np.int64]


def covered_tokens(num_tokens: int, marked: Int64s, kept: Int64s, length: int) -> npt.NDArray[np.bool_]:
    """bool[num_tokens]: in a marked window of `length` tokens and in no kept one.

    marked, kept  int64[m, 2]: (first token, windows), the windows one token apart, all inside the tokens
    """
    flags = np.zeros(num_tokens, dtype=np.bool_)
    _set(flags, read_only(np.ascontiguousarray(marked)), length, True)
    _set(flags, read_only(np.ascontiguousarray(kept)), length, False)
    return flags


def token_ranges(flags: npt.NDArray[np.bool_], token_offsets: Offsets) -> Int64s:
    """int64[k, 3] (document, first token, end) of each run of flags, places in `flags`; a run ends where its
    document does."""
    flags, token_offsets = read_only(flags), read_only(token_offsets)
    out = np.empty((_token_ranges(flags, token_offsets, np.empty((0, 3), dtype=np.int64)), 3), dtype=np.int64)
    _token_ranges(flags, token_offsets, out)
    return out


def byte_spans(
    ranges: Int64s,
    tokens: npt.NDArray[Any],
    token_offsets: Offsets,
    sizes: Int64s,
    data: Bytes,
    offsets: Offsets,
) -> Spans:
    """int64[k, 4] (document, start, end, 0), places in `data`, as `spans.spliced` takes them: the whole
    characters of each range; a range without any gives no row.

    ranges         as `token_ranges` gives them
    tokens         the ids, of documents as in `token_offsets` [n + 1]
    sizes          int64[vocabulary]: bytes of each id
    data, offsets  the n texts that the tokens spell byte for byte (`spelled_wrongly`)
    """
    out = np.zeros((len(ranges), 4), dtype=np.int64)
    count = _byte_spans(
        read_only(ranges),
        read_only(np.asarray(tokens)),
        read_only(token_offsets),
        read_only(sizes),
        read_only(data),
        read_only(offsets),
        out,
    )
    return out[:count]


def spelled_wrongly(
    tokens: npt.NDArray[Any],
    token_offsets: Offsets,
    spellings: Bytes,
    spelling_offsets: Offsets,
    data: Bytes,
    offsets: Offsets,
) -> int:
    """The first text that is not its tokens' bytes laid end to end; -1 if all are."""
    return int(
        _spelled_wrongly(
            read_only(np.asarray(tokens)),
            read_only(token_offsets),
            read_only(spellings),
            read_only(spelling_offsets),
            read_only(data),
            read_only(offsets),
        )
    )


@njit(cache=True, nogil=True)
def _set(flags, runs, length, value):  # type: ignore[no-untyped-def]
    for row in range(runs.shape[0]):
        for at in range(runs[row, 0], runs[row, 0] + runs[row, 1] + length - 1):
            flags[at] = value


@njit(cache=True, nogil=True)
def _token_ranges(flags, token_offsets, out):  # type: ignore[no-untyped-def]
    """How many; they are written if there is room for all."""
    count = 0
    for document in range(token_offsets.size - 1):
        at, stop = token_offsets[document], token_offsets[document + 1]
        while at < stop:
            if not flags[at]:
                at += 1
                continue
            start = at
            while at < stop and flags[at]:
                at += 1
            if count < out.shape[0]:
                out[count, 0], out[count, 1], out[count, 2] = document, start, at
            count += 1
    return count


@njit(cache=True, nogil=True)
def _byte_spans(ranges, tokens, token_offsets, sizes, data, offsets, out):  # type: ignore[no-untyped-def]
    text = pointer(data)
    count, document, at, byte = 0, -1, 0, 0
    for row in range(ranges.shape[0]):
        if ranges[row, 0] != document:
            document = ranges[row, 0]
            at, byte = token_offsets[document], offsets[document]
        while at < ranges[row, 1]:
            byte += sizes[tokens[at]]
            at += 1
        start = byte
        while at < ranges[row, 2]:
            byte += sizes[tokens[at]]
            at += 1
        end, stop = byte, offsets[document + 1]
        while start < end and text[start] & 0xC0 == 0x80:
            start += 1
        while end > start and end < stop and text[end] & 0xC0 == 0x80:
            end -= 1
        if end > start:
            out[count, 0], out[count, 1], out[count, 2] = document, start, end
            count += 1
    return count


@njit(cache=True, nogil=True)
def _spelled_wrongly(tokens, token_offsets, spellings, spelling_offsets, data, offsets):  # type: ignore[no-untyped-def]
    text, spelled = pointer(data), pointer(spellings)
    for document in range(offsets.size - 1):
        byte, stop = offsets[document], offsets[document + 1]
        for at in range(token_offsets[document], token_offsets[document + 1]):
            first, end = spelling_offsets[tokens[at]], spelling_offsets[tokens[at] + 1]
            if byte + end - first > stop:
                return document
            for place in range(first, end):
                if text[byte] != spelled[place]:
                    return document
                byte += 1
        if byte != stop:
            return document
    return -1
