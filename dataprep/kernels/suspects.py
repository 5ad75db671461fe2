"""Lines that a slow repairer of text must look at, told from those that it provably leaves as they are.

What is suspect is said by a table over code points (see `dataprep/steps/ftfy.py`); only the one rule on HTML
entities is written here. A line is what ends with a line feed, which belongs to it. Slow twin: the repairer.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import njit

from dataprep.kernels.linebreaks import LOW, find_byte, zero_bytes
from dataprep.kernels.spans import ALNUM, ASCII_CELLS, Spans, with_room
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.unicode import Table
from dataprep.kernels.utf8 import HIGH_BITS, decode, load64, lookup, pointer, read_only

CLEAN, IN_DOUBT, SUSPECT = 0, 1, 2
"""Values of the table, and kinds of spans. IN_DOUBT are characters that may stand for others."""

BEHIND_MARKUP = 4
"""Added to the kind where a `<` stands in a line above."""

AMPERSANDS, ANGLES, SPACES = LOW * np.uint64(0x26), LOW * np.uint64(0x3C), LOW * np.uint64(0x20)
AMPERSAND, ANGLE, HASH, LINE_FEED = 0x26, 0x3C, 0x23, 0x0A

LONG_LINE = 1_000_000
"""Lines of more bytes are suspect: the repairer cuts them."""


def suspect_lines(
    data: Bytes, offsets: Offsets, table: Table, entities: Literal["auto", True, False]
) -> Spans:
    """int64[k, 4]: (text, start, end, kind) of the lines that are not CLEAN.

    An ampersand with a letter, digit or `#` behind it makes a line SUSPECT if `entities`; if "auto", only as
    long as no `<` has come.
    """
    wanted = 2 if entities == "auto" else int(entities)
    pages, cells = map(read_only, table)
    return _suspect_lines(read_only(data), read_only(offsets), pages, cells, wanted)


@njit(cache=True, nogil=True)
def _suspect_lines(data, offsets, page_array, cell_array, entities):  # type: ignore[no-untyped-def]
    text, pages, cells = pointer(data), pointer(page_array), pointer(cell_array)
    spans, count = np.empty((64, 4), dtype=np.int64), 0
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        markup_above = False
        while at < stop:
            start = at
            end = min(find_byte(text, at, stop, LINE_FEED) + 1, stop)
            kind = SUSPECT if end - start > LONG_LINE else CLEAN
            has_entity, has_markup = False, False
            while at < end:
                while at + 8 <= end and _is_plain(load64(text, at)):
                    at += 8
                limit = min(at + 8, end)
                while at < limit:
                    byte = text[at]
                    size = 1
                    if byte >= 0x80:
                        code, size = decode(text, at, end)
                        kind = max(kind, np.int64(lookup(pages, cells, code)))
                    elif byte < 0x20 or byte == 0x7F:
                        kind = max(kind, np.int64(lookup(pages, cells, np.int64(byte))))
                    elif byte == AMPERSAND:
                        has_entity |= at + 1 < end and (
                            ASCII_CELLS[text[at + 1]] & ALNUM != 0 or text[at + 1] == HASH
                        )
                    else:
                        has_markup |= byte == ANGLE
                    at += size
            if has_entity and (entities == 1 or (entities == 2 and not (has_markup or markup_above))):
                kind = SUSPECT
            if kind != CLEAN:
                spans = with_room(spans, count)
                spans[count, 0], spans[count, 1], spans[count, 2] = index, start, end
                spans[count, 3] = kind + (BEHIND_MARKUP if markup_above else 0)
                count += 1
            markup_above |= has_markup
    return spans[:count].copy()


@njit(inline="always")
def _is_plain(word):  # type: ignore[no-untyped-def]
    """Whether eight bytes are ASCII from the space on, without DEL, `&` and `<`."""
    low = word & ~HIGH_BITS
    controls = ~(low + (HIGH_BITS - SPACES)) | (low + LOW)  # high bit: below the space, or DEL
    return (controls | word | zero_bytes(word ^ AMPERSANDS) | zero_bytes(word ^ ANGLES)) & HIGH_BITS == 0
