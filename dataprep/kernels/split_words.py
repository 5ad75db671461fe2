"""The words of a text as `str.split` finds them: runs of characters without white space (`str.isspace`).

For definitions that count such words. The finer words of `kernels/words.py` are cut from these. Slow twin:
`str.split`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.characters import CLASS, SPACE, character_table
from dataprep.kernels.masks import byte_set, first_bits, lowest, preceded_by, window
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import decode, leading_zeros, longest, lookup, pointer, read_only, trailing_zeros
from dataprep.kernels.words import MAX_TEXT_BYTES, WIDE, Words

spaces, beyond_ascii = byte_set((0x09, 0x0D), (0x1C, 0x20)), byte_set((0x80, 0xFF))
space_leads = byte_set((0xC2, 0xC2), (0xE1, 0xE3))
"""First bytes of white space beyond ASCII; `test_split_words.py` checks that there are no others."""


def find_chunks(data: Bytes, offsets: Offsets) -> Words:
    """The chunks of each text (for `Batch.derived`), with no trait but WIDE. A text of 2 GiB or more is a
    ValueError."""
    if longest(offsets) > MAX_TEXT_BYTES:
        raise ValueError(f"words are found in texts of up to {MAX_TEXT_BYTES} bytes")
    pages, cells = character_table()
    tail = np.empty(64, dtype=np.uint8)
    return Words(*_find_chunks(read_only(data), read_only(offsets), pages, cells, tail))


@njit(cache=True, nogil=True)
def _find_chunks(data, offsets, page_array, cell_array, tail_array):  # type: ignore[no-untyped-def]
    text, pages, cells, tail = pointer(data), pointer(page_array), pointer(cell_array), pointer(tail_array)
    room = (offsets[-1] - offsets[0]) // 5 + 1024
    starts, sizes = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    traits = np.empty(room, dtype=np.uint8)
    to_starts, to_sizes, to_traits = pointer(starts), pointer(sizes), pointer(traits)
    chunk_offsets = np.zeros(offsets.size, dtype=np.int64)
    count = 0
    for index in range(offsets.size - 1):
        begin, stop = offsets[index], offsets[index + 1]
        start, wide_at, white_stop = np.int64(-1), np.int64(-1), begin
        for at in range(begin, stop, 64):
            if count + 33 > room:
                room = 2 * count + 1024
                larger = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
                larger_traits = np.empty(room, dtype=np.uint8)
                larger[0][:count], larger[1][:count] = starts[:count], sizes[:count]
                larger_traits[:count] = traits[:count]
                starts, sizes, traits = larger[0], larger[1], larger_traits
                to_starts, to_sizes, to_traits = pointer(starts), pointer(sizes), pointer(traits)
            block, place = window(text, at, stop, data.size, tail)
            white = spaces(block, place) | ~first_bits(stop - at) | first_bits(max(white_stop - at, 0))
            leads = space_leads(block, place) & ~white
            while leads:
                lead = at + trailing_zeros(leads)
                code, size = decode(text, lead, stop)
                if lookup(pages, cells, code) & CLASS == SPACE:
                    white_stop = lead + size
                    white |= first_bits(white_stop - at) & ~first_bits(lead - at)
                leads ^= lowest(leads)
            wide = beyond_ascii(block, place)
            before = preceded_by(white) | np.uint64(start < 0)
            turns = white ^ before  # where a chunk begins, and the byte after its end
            while turns:
                bit = trailing_zeros(turns)
                if start < 0:
                    start = at + bit
                else:
                    below = wide & first_bits(bit)
                    if below:
                        wide_at = at + 63 - leading_zeros(below)
                    to_starts[count], to_sizes[count] = start - begin, at + bit - start
                    to_traits[count] = WIDE if wide_at >= start else 0
                    count += 1
                    start = -1
                turns ^= lowest(turns)
            wide &= first_bits(stop - at)
            if wide:
                wide_at = at + 63 - leading_zeros(wide)
        if start >= 0:
            to_starts[count], to_sizes[count] = start - begin, stop - start
            to_traits[count] = WIDE if wide_at >= start else 0
            count += 1
        chunk_offsets[index + 1] = count
    return starts[:count], sizes[:count], traits[:count], chunk_offsets
