"""What each code point is to rules that look at lines and sentences: one byte of properties, looked up.

The two lists of marks are those of spaCy and datatrove, named below; the rest is the interpreter's
`unicodedata`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.cuts import start_before
from dataprep.kernels.unicode import Table, populated, spread
from dataprep.kernels.utf8 import decode, lookup

WHITE, PUNCTUATION_CATEGORY, SENTENCE_MARK, LETTER, ALPHANUMERIC, DECIMAL = 1, 2, 4, 8, 16, 32
"""`str.isspace`; general category P; SENTENCE_MARKS; `str.isalpha`; `str.isalnum`; general category Nd."""

SENTENCE_MARKS = """
21 2e 3f 589 61f 6d4 700-702 7f9 964-965 104a-104b 1362 1367-1368 166e 1735-1736 1803 1809 1944-1945 1aa8-1aab
1b5a-1b5b 1b5e-1b5f 1c3b-1c3c 1c7e-1c7f 203c-203d 2047-2049 2e2e 2e3c 3002 a4ff a60e-a60f a6f3 a6f7 a876-a877
a8ce-a8cf a92f a9c8-a9c9 aa5d-aa5f aaf0-aaf1 abeb fe52 fe56-fe57 ff01 ff0e ff1f ff61 10a56-10a57 11047-11048
110be-110c1 11141-11143 111c5-111c6 111cd 111de-111df 11238-11239 1123b-1123c 112a9 1144b-1144c 115c2-115c3
115c9-115d7 11641-11642 1173c-1173e 11a42-11a43 11a9b-11a9c 11c41-11c42 16a6e-16a6f 16af5 16b37-16b38 16b44
1bc9f 1da88"""
"""What ends a sentence for the Sentencizer of spaCy 3.8."""

TERMINAL_MARKS = f"""{SENTENCE_MARKS}
61d-61e 837 839 83d-83e 17d4-17d6 17d9-17da 1b7d-1b7e 2e53-2e54 10f55-10f59 10f86-10f89 11944 11946
11ef7-11ef8 11f43-11f44 16e98"""
"""TERMINAL_PUNCTUATION of datatrove 0.10.1; no quotation marks among them."""


def code_points(ranges: str) -> list[int]:
    """The code points of hexadecimal ranges, such as "21 3f-40"."""
    return [
        code
        for piece in ranges.split()
        for first, _, last in [piece.partition("-")]
        for code in range(int(first, 16), int(last or first, 16) + 1)
    ]


@lru_cache(maxsize=1)
def mark_table() -> Table:
    """The properties of each code point."""
    characters = populated()
    values = np.zeros(len(characters), dtype=np.uint8)
    for index, character in enumerate(characters):
        category = unicodedata.category(character)
        if category == "Cn":
            continue
        if character.isspace():
            values[index] = WHITE
        elif category[0] == "P":
            values[index] = PUNCTUATION_CATEGORY
        elif character.isalnum():
            values[index] = ALPHANUMERIC | (LETTER if character.isalpha() else 0)
            values[index] |= DECIMAL if category == "Nd" else 0
    values[code_points(SENTENCE_MARKS)] |= SENTENCE_MARK
    return spread(values, default=0)


@lru_cache(maxsize=8)
def member_table(characters: frozenset[str]) -> Table:
    """1 for the given characters, 0 for all others."""
    every = populated()
    values = np.zeros(len(every), dtype=np.uint8)
    for index, character in enumerate(every):
        values[index] = character in characters
    return spread(values, default=0)


@lru_cache(maxsize=1)
def sentence_mark_leads() -> npt.NDArray[np.uint8]:
    """uint8[256]: 1 where a sentence mark may begin with this byte."""
    leads = np.zeros(256, dtype=np.uint8)
    leads[[chr(code).encode()[0] for code in code_points(SENTENCE_MARKS)]] = 1
    leads.flags.writeable = False
    return leads


@njit(cache=True, nogil=True, forceinline=True)
def properties_at(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """(properties, bytes) of the character at `at` < `stop`."""
    code, size = decode(text, at, stop)
    return lookup(pages, cells, code), size


@njit(inline="always")
def is_ascii_white(byte):  # type: ignore[no-untyped-def]
    """Whether a byte is white space as `str.isspace` has it; beyond ASCII never."""
    return byte == 0x20 or 0x09 <= byte <= 0x0D or 0x1C <= byte <= 0x1F


@njit(cache=True, nogil=True)
def skip_white(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """The first place from `at` on that is no white space."""
    while at < stop:
        if text[at] < 0x80:
            if not is_ascii_white(text[at]):
                break
            at += 1
            continue
        properties, size = properties_at(text, at, stop, pages, cells)
        if not properties & WHITE:
            break
        at += size
    return at


@njit(cache=True, nogil=True)
def skip_black(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """The first place from `at` on that is white space."""
    while at < stop:
        if text[at] < 0x80:
            if is_ascii_white(text[at]):
                break
            at += 1
            continue
        properties, size = properties_at(text, at, stop, pages, cells)
        if properties & WHITE:
            break
        at += size
    return at


@njit(cache=True, nogil=True)
def black_end(text, start, stop, pages, cells):  # type: ignore[no-untyped-def]
    """Where the white space that ends text[start:stop] begins."""
    while stop > start:
        at = stop - 1
        if text[at] < 0x80:
            if not is_ascii_white(text[at]):
                break
        else:
            at = start_before(text, stop, start)
            if not properties_at(text, at, stop, pages, cells)[0] & WHITE:
                break
        stop = at
    return stop


@njit(cache=True, nogil=True)
def strip_white(text, start, stop, pages, cells):  # type: ignore[no-untyped-def]
    """(start, stop) of text[start:stop] without white space at its ends."""
    start = skip_white(text, start, stop, pages, cells)
    return start, black_end(text, start, stop, pages, cells)
