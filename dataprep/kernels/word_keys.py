"""Each word of a text as one 64-bit key after a normalisation that forgives case, accents, punctuation and
white space. No text is written: what is equal has the same key, and that is all that comes out.

manner   PLAIN    a character in folded case, in form NFKD without its marks (so composed and decomposed
                  text are the same, and "fi" is a ligature's too). Letters, digits and spacing marks make
                  words; a letter of a script without spaces is a word by itself; nonspacing marks, format
                  characters and apostrophes are as if they were not there; all else parts words.
         JANITOR  what lm-evaluation-harness' Janitor makes of a text: words are what white space parts
                  (`str.split`), ASCII capitals are small, ASCII punctuation is as if it were not there. A
                  word of nothing but punctuation has the key BLANK.

The key of a word folds its normalised UTF-8 bytes in, eight at a time, the last piece shorter, maybe empty;
its lowest bit says whether it is a letter of a script without spaces (ALONE_BIT).
Different words share a key about once in 2^60 pairs. Slow twin: `tests/reference/word_keys.py`.
"""

from __future__ import annotations

import string
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.characters import CLASS, SPACELESS, character_table
from dataprep.kernels.masks import first_bits
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.unicode import populated, spread
from dataprep.kernels.utf8 import (
    BEYOND_Z,
    FROM_A,
    HIGH_BITS,
    SPACES,
    decode,
    load64,
    lookup,
    pointer,
    read_only,
    trailing_zeros,
)
from dataprep.kernels.xxh3 import folded

Keys = npt.NDArray[np.uint64]

PLAIN, JANITOR = 0, 1
BREAK, DELETE, SAME, ALONE, FIRST_SEQUENCE = 0, 1, 2, 3, 4
"""Cells of a table: parts words; is as if not there; part of a word; a word by itself; and from there on what
stands for the character, by its number in `sequences`."""

START, FACTOR_A, FACTOR_B = (
    np.uint64(0x8BB84B93962EACC9),
    np.uint64(0x2D358DCCAA6C78A5),
    np.uint64(0x4B33A62ED433D4A3),
)
BLANK = np.uint64(0x1B873593CC9E2D50)
ALONE_BIT = np.uint64(1)
EACH = np.uint64(0x0101010101010101)
FROM_0, BEYOND_9 = EACH * np.uint64(0x80 - 0x30), EACH * np.uint64(0x80 - 0x3A)
LOW_BITS, EIGHT = EACH * np.uint64(0x7F), np.uint64(8)
APOSTROPHES = "'\u2018\u2019\u02bc\u02b9\uff07"


class WordTable(NamedTuple):
    """What a kernel needs of a manner: cells by code point, and the sequences that some stand for."""

    pages: npt.NDArray[np.uint16]
    cells: npt.NDArray[np.uint16]
    sequence_data: Bytes
    sequence_offsets: npt.NDArray[np.int64]
    sequence_alone: npt.NDArray[np.uint8]
    manner: int


@lru_cache(maxsize=2)
def word_table(manner: int) -> WordTable:
    """The table of a manner; takes half a second the first time."""
    characters = populated()
    values = np.zeros(len(characters), dtype=np.uint16)
    numbers: dict[tuple[bytes, bool], int] = {}
    pages, cells = character_table()

    def spaceless(character: str) -> bool:
        code = ord(character)
        return bool(cells[int(pages[code >> 8]) * 256 + (code & 255)] & CLASS == SPACELESS)

    for index, character in enumerate(characters):
        if manner == JANITOR:
            normal, alone = _janitor(character), False
        else:
            normal = _plain(character)
            alone = len(normal or "") == 1 and spaceless(normal or "")
        if normal is None or normal == "":
            values[index] = BREAK if normal is None else DELETE
        elif normal == character:
            values[index] = ALONE if alone else SAME
        else:
            key = (normal.encode("utf-8", "surrogatepass"), alone)
            values[index] = FIRST_SEQUENCE + numbers.setdefault(key, len(numbers))
    sequences = [sequence for sequence, _ in numbers]
    offsets = np.zeros(len(sequences) + 1, dtype=np.int64)
    np.cumsum([len(sequence) for sequence in sequences], out=offsets[1:])
    return WordTable(
        *spread(values, default=BREAK if manner == PLAIN else SAME),
        np.frombuffer(b"".join(sequences), dtype=np.uint8),
        offsets,
        np.array([alone for _, alone in numbers], dtype=np.uint8),
        manner,
    )


def _janitor(character: str) -> str | None:
    if character.isspace():
        return None
    if character in string.punctuation:
        return ""
    return character.lower() if character.isascii() else character


def _plain(character: str) -> str | None:
    """What stands for a character; None where it parts words."""
    if character in APOSTROPHES:
        return ""
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return ""
    if not (character.isalnum() or category == "Mc"):
        return None
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character.casefold()).casefold())
    return "".join(
        each
        for each in parts
        if (each.isalnum() or unicodedata.category(each) == "Mc") and each not in APOSTROPHES
    )


def word_keys(data: Bytes, offsets: Offsets, manner: int = PLAIN) -> tuple[Keys, Offsets]:
    """(keys uint64[m], word_offsets int64[n + 1]): the words of each text."""
    keys, _, _, word_offsets = _word_keys(read_only(data), read_only(offsets), False, *word_table(manner))
    return keys, word_offsets


def word_places(
    data: Bytes, offsets: Offsets, manner: int = PLAIN
) -> tuple[Keys, npt.NDArray[np.int64], npt.NDArray[np.int64], Offsets]:
    """(keys, starts int64[m], ends int64[m], word_offsets): and where in `data` each word lies. In the manner
    JANITOR with the punctuation around it."""
    keys, starts, ends, word_offsets = _word_keys(
        read_only(data), read_only(offsets), True, *word_table(manner)
    )
    return keys, starts, ends, word_offsets


@njit(cache=True, nogil=True)
def most_words(size_bytes):  # type: ignore[no-untyped-def]
    """No text of so many bytes has more words: a word takes a byte and what parts it, or the three bytes of
    a letter that is one by itself."""
    return size_bytes // 2 + 1


@njit(cache=True, nogil=True)
def _word_keys(  # type: ignore[no-untyped-def]
    data, offsets, placed, pages, cells, sequence_data, sequence_offsets, sequence_alone, manner
):
    num_texts = offsets.size - 1
    room = most_words(offsets[num_texts] - offsets[0]) + num_texts
    keys = np.empty(room, dtype=np.uint64)
    starts = np.empty(room if placed else 0, dtype=np.int64)
    ends = np.empty(room if placed else 0, dtype=np.int64)
    word_offsets = np.zeros(num_texts + 1, dtype=np.int64)
    table = (
        pointer(pages),
        pointer(cells),
        pointer(sequence_data),
        pointer(sequence_offsets),
        pointer(sequence_alone),
        manner,
    )
    out = pointer(keys), pointer(starts), pointer(ends), placed
    count = 0
    for index in range(num_texts):
        count = keys_of(pointer(data), offsets[index], offsets[index + 1], table, out, count)
        word_offsets[index + 1] = count
    return keys[:count], starts[: count if placed else 0], ends[: count if placed else 0], word_offsets


@njit(inline="always")
def fold(key, piece):  # type: ignore[no-untyped-def]
    return folded(piece ^ FACTOR_A, key ^ FACTOR_B)


@njit(cache=True, nogil=True)
def keys_of(text, at, stop, table, out, count):  # type: ignore[no-untyped-def]
    """Puts the keys of the words of text[at:stop], and their places if wanted, from `count` on; the count
    then."""
    keys, starts, ends, placed = out
    plain = table[5] == PLAIN
    while at < stop:
        if plain and at + 8 <= stop:
            eight = load64(text, at)
            low = eight & LOW_BITS
            small = ((low | SPACES) + FROM_A) & ~((low | SPACES) + BEYOND_Z)
            solid = (small | ((low + FROM_0) & ~(low + BEYOND_9))) & ~eight & HIGH_BITS
            if solid & np.uint64(0x80):
                start, key = at, START
                run = trailing_zeros(solid ^ HIGH_BITS) >> 3
                while run == 8 and at + 16 <= stop:
                    key = fold(key, eight | (small & solid) >> np.uint64(2))
                    at += 8
                    eight = load64(text, at)
                    low = eight & LOW_BITS
                    small = ((low | SPACES) + FROM_A) & ~((low | SPACES) + BEYOND_Z)
                    solid = (small | ((low + FROM_0) & ~(low + BEYOND_9))) & ~eight & HIGH_BITS
                    run = trailing_zeros(solid ^ HIGH_BITS) >> 3
                if run < 8 and text[at + run] < 0x80 and text[at + run] != 0x27:
                    lower = eight | (small & solid) >> np.uint64(2)
                    keys[count] = fold(key, lower & first_bits(8 * run)) & ~ALONE_BIT
                    if placed:
                        starts[count], ends[count] = start, at + run
                    count += 1
                    at += run + 1
                    continue
                at = start
            elif not eight & np.uint64(0x80):
                at += trailing_zeros(solid | (eight & HIGH_BITS)) >> 3
                continue
        at, count = _next_word(text, at, stop, table, out, count)
    return count


@njit(cache=True, nogil=True)
def _next_word(text, at, stop, table, out, count):  # type: ignore[no-untyped-def]
    """The same for one word at most, character by character; (where to go on, the count)."""
    pages, cells, sequence_data, sequence_offsets, sequence_alone, manner = table
    keys, starts, ends, placed = out
    key, piece, filled, size = START, np.uint64(0), np.uint64(0), 0
    start, end, is_alone = np.int64(-1), np.int64(-1), False
    while at < stop:
        code, width = decode(text, at, stop)
        value = np.int64(lookup(pages, cells, code))
        if value == BREAK:
            at += width
            if start >= 0:
                break
            continue
        if value == DELETE:
            if manner == JANITOR:
                start = at if start < 0 else start
                end = at + width
            at += width
            continue
        number = value - FIRST_SEQUENCE
        alone = value == ALONE or (number >= 0 and sequence_alone[number] != 0)
        if alone and size:
            break
        start = at if start < 0 else start
        first, last = np.int64(0), width
        if number >= 0:
            first, last = sequence_offsets[number], sequence_offsets[number + 1]
        for place in range(first, last):
            byte = sequence_data[place] if number >= 0 else text[at + place]
            piece |= np.uint64(byte) << (EIGHT * filled)
            filled += np.uint64(1)
            size += 1
            if filled == EIGHT:
                key, piece, filled = fold(key, piece), np.uint64(0), np.uint64(0)
        at += width
        end = at
        if alone:
            is_alone = True
            break
    if start >= 0:
        keys[count] = fold(key, piece) & ~ALONE_BIT if size else BLANK
        if is_alone:
            keys[count] |= ALONE_BIT
        if placed:
            starts[count], ends[count] = start, end
        count += 1
    return at, count
