"""The `datatrove` normalisation of texts before shingles: `simplify_text` of datatrove 0.10.1
(`utils/text.py`, with its default configuration), and words.

In order: lower case; a run of decimal digits, and with it one separator and a second run, becomes "0";
punctuation (PUNCTUATION_CODES, not datatrove's larger set of terminal marks) and control characters become
spaces; runs of white space become one; NFD without the characters of category Mn. Here all of this is a
function of one code point (and of the digits around it), which differs from the original in two rare things:
a capital sigma at the end of a word becomes a small one, not a final one; marks outside Mn keep their order.

Words are those of `kernels/words.py` in the result. datatrove's are spaCy's, of which some rules that only
its exception lists can give ("cannot" is two words) are missing here.

Slow twin: `tests/reference/shingles.py`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
from numba import njit

from dataprep.kernels.plain import PADDING, put_utf8
from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.unicode import HANGUL_SYLLABLES, Table, populated, spread
from dataprep.kernels.utf8 import copy_bytes, decode, lookup, pointer, read_only
from dataprep.kernels.words import word_spans

PUNCTUATION_CODES = """
0-8 b-1f 21-2f 3a-40 5b-60 7b-9f ab b4 bb 2013-2014 2019 201c-201e 2026 2236 2501 25ba 3001-3002
3008-300d 3010-3011 ff01 ff05 ff08-ff09 ff0c ff0e ff11 ff1a-ff1b ff1f ff5e"""
"""datatrove's PUNCTUATION (it holds the full-width digit one, but digits are numbers before it is asked)."""

NUMBER_SEPARATORS = (0x2E, 0x2C, 0x60C, 0x66B, 0x2396, 0x2397, 0x2398)

BREAK, DIGIT, SAME, HANGUL, REPLACED = 0, 1, 2, 3, 4
"""Cells of `simplify_table`: a space; a decimal digit; itself; a syllable that NFD takes apart; from REPLACED
on, the numbers of the replacements, which may be empty."""


@lru_cache(maxsize=1)
def simplify_table() -> tuple[Table, Texts]:
    """(cells uint16 by code point, replacements)."""
    breaks: set[str] = set()
    for piece in PUNCTUATION_CODES.split():
        first, _, last = piece.partition("-")
        breaks.update(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    characters = populated()
    values = np.full(len(characters), SAME, dtype=np.uint16)
    numbers: dict[str, int] = {}
    for index, character in enumerate(characters):
        if character.isspace() or character in breaks:
            values[index] = BREAK
        if unicodedata.category(character) == "Nd":
            values[index] = DIGIT
        if values[index] == SAME and 0xD800 <= ord(character) < 0xE000:
            continue
        if values[index] == SAME and ord(character) in HANGUL_SYLLABLES:
            values[index] = HANGUL
        if values[index] == SAME:
            parts = unicodedata.normalize("NFD", character.lower())
            new = "".join(part for part in parts if unicodedata.category(part) != "Mn")
            if new != character:
                values[index] = REPLACED + numbers.setdefault(new, len(numbers))
    return spread(values, default=SAME), Texts.from_strings(numbers)


def simplified_words(data: Bytes, offsets: Offsets, split: bool) -> tuple[Bytes, Offsets, Offsets]:
    """(normalised uint8, starts int64[m + n], unit_offsets int64[n + 1]); see `shingles.Units`.

    split  into the words of `kernels/words.py`; else only what spaces separate
    """
    num_bytes, count = int(offsets[-1] - offsets[0]), offsets.size - 1
    (pages, cells), replacements = simplify_table()
    out = np.empty(4 * num_bytes + PADDING, dtype=np.uint8)  # a syllable of three bytes becomes three of them
    starts = np.empty(num_bytes + 2 * count, dtype=np.int64)
    unit_offsets = np.zeros(count + 1, dtype=np.int64)
    size = _simplify(
        read_only(data),
        read_only(offsets),
        pages,
        cells,
        replacements.data,
        replacements.offsets,
        np.array(NUMBER_SEPARATORS, dtype=np.int64),
        out,
        starts,
        unit_offsets,
    )
    if not split:
        return out[: size + PADDING], starts[: unit_offsets[-1]], unit_offsets
    text_offsets = np.zeros(count + 1, dtype=np.int64)
    text_offsets[1:] = starts[unit_offsets[1:] - 1]
    spans, word_offsets = word_spans(out, text_offsets)
    joined = np.empty(int((spans[:, 1] - spans[:, 0]).sum()) + len(spans) + PADDING, dtype=np.uint8)
    word_starts = np.empty(len(spans) + count, dtype=np.int64)
    _join(out, spans, word_offsets, joined, word_starts)
    return joined, word_starts, word_offsets + np.arange(count + 1)


@njit(cache=True, nogil=True)
def _after_digits(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """Where the run of decimal digits at `at` ends."""
    while at < stop:
        code, width = decode(text, at, stop)
        if lookup(pages, cells, code) != DIGIT:
            break
        at += width
    return at


@njit(cache=True, nogil=True)
def _simplify(  # type: ignore[no-untyped-def]
    data, offsets, page_array, cell_array, new_data, new_offsets, separators, out_array, starts, unit_offsets
):
    text, out, new = pointer(data), pointer(out_array), pointer(new_data)
    pages, cells = pointer(page_array), pointer(cell_array)
    size, count = 0, 0
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        inside = False  # a word
        while at < stop:
            code, width = decode(text, at, stop)
            value = np.int64(lookup(pages, cells, code))
            if value == BREAK:
                if inside:
                    out[size] = 0x20
                    size += 1
                inside = False
                at += width
                continue
            empty = value >= REPLACED and new_offsets[value - REPLACED] == new_offsets[value - REPLACED + 1]
            if not (inside or empty):
                inside = True
                starts[count] = size
                count += 1
            if value == SAME:
                for place in range(width):
                    out[size + place] = text[at + place]
                size += width
            elif value == DIGIT:
                out[size] = 0x30
                size += 1
                at = _after_digits(text, at, stop, pages, cells)
                if at < stop:
                    code, width = decode(text, at, stop)
                    for separator in separators:
                        if code == separator:
                            end = _after_digits(text, at + width, stop, pages, cells)
                            at = end if end > at + width else at
                continue
            elif value == HANGUL:
                code -= 0xAC00
                for part in (0x1100 + code // 588, 0x1161 + code % 588 // 28, 0x11A7 + code % 28):
                    if part != 0x11A7:
                        size += put_utf8(part, out, size)
            else:
                begin, end = new_offsets[value - REPLACED], new_offsets[value - REPLACED + 1]
                for place in range(begin, end):
                    out[size] = new[place]
                    size += 1
            at += width
        if inside:
            out[size] = 0x20
            size += 1
        starts[count] = size
        count += 1
        unit_offsets[index + 1] = count
    return size


@njit(cache=True, nogil=True)
def _join(data, spans, word_offsets, out_array, starts):  # type: ignore[no-untyped-def]
    text, out = pointer(data), pointer(out_array)
    size, count = 0, 0
    for index in range(word_offsets.size - 1):
        for word in range(word_offsets[index], word_offsets[index + 1]):
            begin, end = spans[word, 0], spans[word, 1]
            starts[count] = size
            count += 1
            copy_bytes(out, size, text, begin, end - begin)
            size += end - begin
            out[size] = 0x20
            size += 1
        starts[count] = size
        count += 1
