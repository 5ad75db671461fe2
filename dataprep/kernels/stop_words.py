"""Which of up to 64 given words a word is, as one bit: by its first eight bytes in a table without
collisions, or, for longer words, by comparing.

Nothing of where words are. Slow twin: `in` of a set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.utf8 import load64, read_only

MAX_STOP_WORDS = 64
SHORT = 8
"""Bytes of a word that the table holds."""

SIZES, EVERY = np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xFFFFFFFFFFFFFFFF)
Slots = npt.NDArray[np.uint64]


def stop_word_tables(stop_words: Sequence[str]) -> tuple[Bytes, Offsets, npt.NDArray[np.int64]]:
    """What `stop_word_bit` looks in: data and offsets of the sorted words; by first byte where they are."""
    stops = Texts.from_strings(sorted(set(stop_words)))
    firsts = np.array([word[0] for word in stops], dtype=np.int64)
    return read_only(stops.data), read_only(stops.offsets), np.searchsorted(firsts, np.arange(257))


def short_word_table(stop_words: Sequence[str]) -> tuple[Slots, Slots]:
    """What `short_word_bit` looks in, for the words of up to SHORT bytes: slots uint64[2^k, 3] of (bytes,
    size, the bit that `stop_word_bit` gives), and the factor and shift that give each word its own slot."""
    words = [word.encode() for word in sorted(set(stop_words))]
    rows = np.array(
        [
            (int.from_bytes(word, "little"), len(word), 1 << bit)
            for bit, word in enumerate(words)
            if len(word) <= SHORT
        ],
        dtype=np.uint64,
    ).reshape(-1, 3)
    for shift in range(56, 0, -1):
        for odd in range(1, 65, 2):
            factor = np.uint64(odd * 0x9E3779B97F4A7C15 % 2**64)
            places = ((rows[:, 0] ^ (rows[:, 1] * SIZES)) * factor) >> np.uint64(shift)
            if np.unique(places).size == len(rows):
                slots = np.zeros((1 << (64 - shift), 3), dtype=np.uint64)
                slots[places] = rows
                return read_only(slots), np.array([factor, shift], dtype=np.uint64)
    raise ValueError("these stop words share every slot")


@njit(cache=True, nogil=True, forceinline=True)
def stop_word_bit(text, start, end, stop_text, stop_ends, ranges):  # type: ignore[no-untyped-def]
    """The bit of the stop word text[start:end], or 0. `ranges`: by first byte, where such stop words are."""
    byte = np.int64(text[start])
    for index in range(ranges[byte], ranges[byte + 1]):
        first = stop_ends[index]
        if stop_ends[index + 1] - first == end - start:
            same = True
            for place in range(1, end - start):
                same = same and text[start + place] == stop_text[first + place]
            if same:
                return np.uint64(1) << np.uint64(index)
    return np.uint64(0)


@njit(cache=True, nogil=True, forceinline=True)
def short_word_bit(text, start, size, slots, factor, shift):  # type: ignore[no-untyped-def]
    """The bit of the stop word of `size` bytes at `start` if it has at most SHORT, or 0, without a branch.
    Reads SHORT bytes."""
    value = load64(text, start) & (EVERY >> np.uint64(64 - 8 * min(size, SHORT)))
    place = 3 * (((value ^ (np.uint64(size) * SIZES)) * factor) >> shift)
    same = (slots[place] == value) & (slots[place + np.uint64(1)] == np.uint64(size))
    return slots[place + np.uint64(2)] * np.uint64(same)
