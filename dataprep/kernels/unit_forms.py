"""How lines, paragraphs and sentences are compared: named forms of a text that fold what shall not count.

exact   the bytes as they are
c4      lower case: C4 as published (tensorflow/datasets at 0560e68, text/c4_utils.py)
ccnet   lower case, every decimal digit a 0, without the marks and control characters that CCNet leaves out
        (facebookresearch/cc_net at 1341eec, `normalize_for_dedup`). As there accents stay, and so do the
        marks of ASCII and runs of spaces

White space at the ends is the caller's, who takes it off for every form. Those tools look at lines alone; in
what holds several, a line break and the ASCII white space around it count as one space (but not in `exact`).
Lower case is that of each code point by itself, so a capital sigma at the end of a word is a small one here
and a final one there. What the units are is in `units.py`. Slow twin: `tests/reference/units.py`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.marks import code_points, is_ascii_white
from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.unicode import populated, spread
from dataprep.kernels.utf8 import copy_bytes, decode, lookup

Form = Literal["exact", "c4", "ccnet"]
FormTables = tuple[Bytes, Bytes, npt.NDArray[np.uint16], npt.NDArray[np.uint16], Bytes, Offsets]

CCNET_MARKS = """
ab b4 bb 2013-2014 2019 201c-201e 2026 2236 2501 25ba 3001-3002 3008-300d 3010-3011 ff01 ff05 ff08-ff09 ff0c
ff0e ff1a-ff1b ff1f ff5e"""
"""CCNet's UNICODE_PUNCT. Its U+FF11, a full-width 1, is a digit before it can be a mark."""
CCNET_CONTROLS = "0-1f 7f-9f"

SAME, DROPPED, REPLACED = 0, 1, 2
"""Cells: itself; nothing; from REPLACED on, the numbers of the replacements."""

MOST_GROWTH = 2
"""No code point becomes more than twice its bytes; it is 3 for 2 at most."""


@lru_cache(maxsize=4)
def form_tables(form: Form) -> FormTables:
    """(for each ASCII byte what it becomes uint8[128], whether anything uint8[128], cells uint16 by code
    point, data and offsets of the replacements)."""
    zero: set[str] = set()
    dropped: set[str] = set()
    characters = populated()
    if form == "ccnet":
        zero = {each for each in characters if unicodedata.category(each) == "Nd"}
        dropped = {*map(chr, code_points(CCNET_MARKS)), *map(chr, code_points(CCNET_CONTROLS))}
    values = np.zeros(len(characters), dtype=np.uint16)
    numbers: dict[str, int] = {}
    for index, character in enumerate(characters):
        new = "0" if character in zero else "" if character in dropped else character.lower()
        if form != "exact" and new != character:
            values[index] = REPLACED + numbers.setdefault(new, len(numbers)) if new else DROPPED
    ascii_new = np.arange(128, dtype=np.uint8)
    ascii_kept = (values[:128] != DROPPED).astype(np.uint8)
    replacements = Texts.from_strings(numbers)
    for code in np.flatnonzero(values[:128] >= REPLACED).tolist():
        ascii_new[code] = replacements[int(values[code]) - REPLACED][0]
    pages, cells = spread(values, default=SAME)
    tables = (ascii_new, ascii_kept, pages, cells, replacements.data, replacements.offsets)
    for table in tables:
        table.flags.writeable = False
    return tables


@njit(cache=True, nogil=True)
def put_form(  # type: ignore[no-untyped-def]
    text, at, stop, is_exact, joins, ascii_new, ascii_kept, pages, cells, new_data, new_offsets, out, size
):
    """Write text[at:stop] in a form to out[size]; the size after it. `joins`: line breaks become spaces."""
    if is_exact:
        copy_bytes(out, size, text, at, stop - at)
        return size + stop - at
    while at < stop:
        byte = text[at]
        if byte < 0x80:
            end = at + 1
            if joins and is_ascii_white(byte):
                breaks = byte == 0x0A
                while end < stop and is_ascii_white(text[end]):
                    breaks |= text[end] == 0x0A
                    end += 1
                if breaks:
                    out[size] = 0x20
                    size += 1
                    at = end
                    continue
            for place in range(at, end):
                out[size] = ascii_new[text[place]]
                size += ascii_kept[text[place]]
            at = end
            continue
        code, width = decode(text, at, stop)
        value = np.int64(lookup(pages, cells, code))
        if value == SAME:
            for place in range(width):
                out[size + place] = text[at + place]
            size += width
        elif value >= REPLACED:
            for place in range(new_offsets[value - REPLACED], new_offsets[value - REPLACED + 1]):
                out[size] = new_data[place]
                size += 1
        at += width
    return size
