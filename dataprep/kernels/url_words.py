"""Which words stand in URLs: whole words, and parts of words.

A word is a run of ASCII letters and digits, whatever their case; `%41` is the letter A, and `%20` parts words
as a space does. Slow twin: `tests/reference/urls.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.spans import ALNUM, ASCII_CELLS, HEX
from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.urls import BASIS, PERCENT, lowered, mixed, stepped
from dataprep.kernels.utf8 import longest, pointer, read_only

Int64s = npt.NDArray[np.int64]


def count_words(data: Bytes, offsets: Offsets, words: Sequence[str]) -> Int64s:
    """int64[n]: how many different ones of `words`, in lower case, stand in each URL."""
    texts = Texts.from_strings(words)
    keys = np.unique(_word_keys(read_only(texts.data), read_only(texts.offsets)))
    return _count_words(read_only(data), read_only(offsets), read_only(keys))


def count_parts(data: Bytes, offsets: Offsets, parts: Sequence[str]) -> Int64s:
    """int64[n]: how many different ones of `parts`, in lower case, each URL holds once all but letters and
    digits is left out."""
    texts = Texts.from_strings(sorted(set(parts)))
    firsts = np.array([part[0] for part in texts], dtype=np.int64)
    ranges = np.searchsorted(firsts, np.arange(257))
    scratch = np.empty(longest(offsets) + 1, dtype=np.uint8)
    return _count_parts(
        read_only(data), read_only(offsets), read_only(texts.data), read_only(texts.offsets), ranges, scratch
    )


@njit(cache=True, nogil=True)
def _word_keys(data, offsets):  # type: ignore[no-untyped-def]
    out = np.empty(offsets.size - 1, dtype=np.uint64)
    for index in range(out.size):
        running = BASIS
        for place in range(offsets[index], offsets[index + 1]):
            running = stepped(running, data[place])
        out[index] = mixed(running)
    return out


@njit(cache=True, nogil=True, forceinline=True)
def _letter(text, at, stop):  # type: ignore[no-untyped-def]
    """(letter or digit in lower case or 0, bytes that it takes)."""
    byte, size = np.int64(text[at]), 1
    is_escape = byte == PERCENT and at + 2 < stop and ASCII_CELLS[text[at + 1]] & HEX
    if is_escape and ASCII_CELLS[text[at + 2]] & HEX:
        byte, size = _hex(text[at + 1]) * 16 + _hex(text[at + 2]), 3
    if byte < 0x80 and ASCII_CELLS[byte] & ALNUM:
        return lowered(byte), size
    return 0, size


@njit(inline="always")
def _hex(byte):  # type: ignore[no-untyped-def]
    return np.int64(byte) - 0x30 if byte <= 0x39 else (np.int64(byte) | 0x20) - 0x57


@njit(cache=True, nogil=True)
def _count_words(data, offsets, keys):  # type: ignore[no-untyped-def]
    text = pointer(data)
    out = np.zeros(offsets.size - 1, dtype=np.int64)
    seen_in = np.full(keys.size, -1, dtype=np.int64)
    for index in range(out.size):
        at, stop = offsets[index], offsets[index + 1]
        running, letters = BASIS, 0
        while at <= stop:
            letter, size = _letter(text, at, stop) if at < stop else (0, 1)
            at += size
            if letter:
                running = stepped(running, letter)
                letters += 1
            elif letters:
                place = np.searchsorted(keys, mixed(running))
                if place < keys.size and keys[place] == mixed(running) and seen_in[place] != index:
                    seen_in[place] = index
                    out[index] += 1
                running, letters = BASIS, 0
    return out


@njit(cache=True, nogil=True)
def _count_parts(data, offsets, part_data, part_offsets, ranges, scratch):  # type: ignore[no-untyped-def]
    text, parts, letters = pointer(data), pointer(part_data), pointer(scratch)
    out = np.zeros(offsets.size - 1, dtype=np.int64)
    seen_in = np.full(part_offsets.size - 1, -1, dtype=np.int64)
    for index in range(out.size):
        at, stop, length = offsets[index], offsets[index + 1], 0
        while at < stop:
            letter, size = _letter(text, at, stop)
            at += size
            if letter:
                letters[length] = letter
                length += 1
        for place in range(length):
            for part in range(ranges[letters[place]], ranges[np.int64(letters[place]) + 1]):
                size = part_offsets[part + 1] - part_offsets[part]
                if size > length - place or seen_in[part] == index:
                    continue
                same = 1
                while same < size and letters[place + same] == parts[part_offsets[part] + same]:
                    same += 1
                if same == size:
                    seen_in[part] = index
                    out[index] += 1
    return out
