"""The dictionary of a fastText model file: where its entries are, and a table to find them by their bytes.

Entries are not copied: they stay in the bytes of the file. Used by `dataprep/fasttext/reader.py` to load, and
by `kernels/fasttext_sums.py` to look words up. Slow twin: `tests/reference/fasttext.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import pointer, read_only

FNV_BASIS, FNV_PRIME = np.uint64(2166136261), np.uint64(16777619)
LOW_32 = np.uint64(0xFFFFFFFF)
ENTRY_BYTES = 9  # after the word and its zero byte: a count of 8 bytes and a type of 1
ABSENT = np.int32(-1)


class Entries(NamedTuple):
    """n entries: entry i is the bytes [starts[i], ends[i]) of the file."""

    starts: Offsets
    ends: Offsets
    counts: npt.NDArray[np.int64]
    types: npt.NDArray[np.int8]


def read_entries(file: Bytes, at: int, number: int) -> tuple[Entries, int] | None:
    """The entries that begin at byte `at`, and the byte after them; None if the file ends before."""
    if number * (1 + ENTRY_BYTES) > file.size - at:
        return None
    starts, ends, counts = (np.empty(number, dtype=np.int64) for _ in range(3))
    entries = Entries(starts, ends, counts, np.empty(number, dtype=np.int8))
    end = _read_entries(read_only(file), at, *entries)
    return None if end < 0 else (entries, int(end))


def slots_of(file: Bytes, entries: Entries) -> npt.NDArray[np.int32]:
    """int32 [a power of two]: an open-addressing table of the entries by `fnv`, ABSENT where free.

    Of equal entries the last is found, as in fastText.
    """
    bits = max(1, int(len(entries.starts) * 3 // 2).bit_length())
    slots = np.full(1 << bits, ABSENT, dtype=np.int32)
    _fill_slots(read_only(file), read_only(entries.starts), read_only(entries.ends), slots)
    return slots


@njit(cache=True, nogil=True)
def fnv_step(value, byte):  # type: ignore[no-untyped-def]
    """One step of fastText's 32-bit FNV-1a, which takes bytes as signed; only the low 32 bits count."""
    return (value ^ np.uint64(np.int64(np.int8(byte)))) * FNV_PRIME


@njit(cache=True, nogil=True)
def fnv(text, at, end):  # type: ignore[no-untyped-def]
    """fastText's hash of text[at:end], as uint64 below 2^32."""
    value = FNV_BASIS
    for place in range(at, end):
        value = fnv_step(value, text[place])
    return value & LOW_32


@njit(cache=True, nogil=True)
def find_slot(file, starts, ends, slots, mask, text, at, end, value):  # type: ignore[no-untyped-def]
    """The slot of the entry text[at:end], whose `fnv` is `value`: where it is, or the free one for it."""
    slot = np.int64(value) & mask
    while slots[slot] >= 0:
        start = starts[slots[slot]]
        size = ends[slots[slot]] - start
        if size == end - at:
            same = 0
            while same < size and file[start + same] == text[at + same]:
                same += 1
            if same == size:
                break
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _read_entries(file, at, starts, ends, counts, types):  # type: ignore[no-untyped-def]
    for index in range(starts.size):
        starts[index] = at
        while at < file.size and file[at] != 0:
            at += 1
        if at + 1 + ENTRY_BYTES > file.size:
            return -1
        ends[index] = at
        count = np.uint64(0)
        for place in range(8):
            count |= np.uint64(file[at + 1 + place]) << np.uint64(8 * place)
        counts[index] = np.int64(count)
        types[index] = np.int8(file[at + 9])
        at += 1 + ENTRY_BYTES
    return at


@njit(cache=True, nogil=True)
def _fill_slots(file, starts, ends, slots):  # type: ignore[no-untyped-def]
    text, first, last, table = pointer(file), pointer(starts), pointer(ends), pointer(slots)
    mask = slots.size - 1
    for index in range(starts.size):
        at, end = starts[index], ends[index]
        slot = find_slot(text, first, last, table, mask, text, at, end, fnv(text, at, end))
        slots[slot] = index
