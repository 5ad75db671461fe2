"""What is in a line, as far as `boilerplate.py` asks: words, capitals, counters, phrases.

Slow twin: `tests/reference/boilerplate.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.characters import ALPHABETIC, CLASS, DIGIT, SPACE, SPACELESS, UPPER
from dataprep.kernels.spans import ALNUM, ASCII_CELLS
from dataprep.kernels.spans import DIGIT as ASCII_DIGIT
from dataprep.kernels.urls import lowered
from dataprep.kernels.utf8 import decode, lookup

KEEP, NUMERIC, UPPERCASE = -1, 1, 4
"""Verdicts on a line; the other ones are in `boilerplate.py`."""

AT_START, AT_END, ANYWHERE = 1, 2, 4
BLANK = 0x20


@njit(cache=True, nogil=True, forceinline=True)
def looked_at(text, at, end, most_words, pages, cells):  # type: ignore[no-untyped-def]
    """What is in a line, up to the word after `most_words`: how many words, letters, capitals and digits,
    where the first word begins, the last ends, the second begins, the first ends; and how far that is.

    A word is a run of characters without white space that holds a letter or digit, from the first of these to
    the last; each character of a script without spaces is one.
    """
    words, letters, capitals, digits = 0, 0, 0, 0
    first, last, second, first_end = -1, -1, -1, -1
    while at < end and words <= most_words:
        spaceless, begin, word_end, in_run = 0, -1, -1, False
        while at < end:
            code, size = np.int64(text[at]), 1
            if code >= 0x80:
                code, size = decode(text, at, end)
            cell = lookup(pages, cells, code)
            kind = cell & CLASS
            if kind == SPACE:
                if in_run:
                    break
                at += size
                continue
            in_run = True
            if cell & ALPHABETIC or kind == DIGIT:
                if begin < 0:
                    begin = at
                word_end = at + size
                letters += (cell & ALPHABETIC) != 0
                capitals += kind == UPPER
                digits += kind == DIGIT
                spaceless += kind == SPACELESS
            at += size
        if begin >= 0:
            words += max(1, spaceless)
            if first < 0:
                first, first_end = begin, word_end
            elif second < 0:
                second = begin
            last = word_end
    return words, letters, capitals, digits, first, last, second, first_end, at


@njit(cache=True, nogil=True, forceinline=True)
def is_blank(text, at, end, pages, cells):  # type: ignore[no-untyped-def]
    while at < end:
        code, size = decode(text, at, end)
        if lookup(pages, cells, code) & CLASS != SPACE:
            return False
        at += size
    return True


@njit(cache=True, nogil=True, forceinline=True)
def judged_long(text, at, end, letters, capitals, numeric, uppercase, pages, cells):  # type: ignore[no-untyped-def]
    """The verdict on a line of many words of which all before `at` is counted: NUMERIC, UPPERCASE or KEEP."""
    small, large, beyond = 0, 0, 0
    for place in range(at, end):
        byte = text[place]
        small += 0x61 <= byte <= 0x7A
        large += 0x41 <= byte <= 0x5A
        beyond += byte >= 0xC0  # each begins one character
    letters += small + large
    capitals += large
    if beyond and (letters == 0 or capitals + beyond > uppercase * (letters + beyond)):
        while at < end:
            if text[at] < 0x80:
                at += 1
                continue
            code, size = decode(text, at, end)
            cell = lookup(pages, cells, code)
            letters += (cell & ALPHABETIC) != 0
            capitals += cell & CLASS == UPPER
            at += size
    if numeric and letters == 0:
        return NUMERIC
    return UPPERCASE if capitals > uppercase * letters else KEEP


@njit(cache=True, nogil=True, forceinline=True)
def is_counter(text, first, first_end, second, second_end, counters):  # type: ignore[no-untyped-def]
    """`3 likes` or `Likes: 1.2k`."""
    if _is_number(text, first, first_end):
        return is_one_of(text, second, second_end, counters)
    return _is_number(text, second, second_end) and is_one_of(text, first, first_end, counters)


@njit(cache=True, nogil=True, forceinline=True)
def _is_number(text, at, end):  # type: ignore[no-untyped-def]
    """ASCII digits, behind the first dots and commas too, maybe a k, m or b at the end."""
    if not ASCII_CELLS[text[at]] & ASCII_DIGIT:
        return False
    if lowered(text[end - 1]) in (0x6B, 0x6D, 0x62):
        end -= 1
    for place in range(at, end):  # noqa: SIM110
        if not (ASCII_CELLS[text[place]] & ASCII_DIGIT or text[place] in (0x2C, 0x2E)):
            return False
    return True


@njit(cache=True, nogil=True, forceinline=True)
def is_one_of(text, start, end, listed):  # type: ignore[no-untyped-def]
    """Whether text[start:end] is one of the words, whatever the case of its ASCII letters."""
    words, word_at, first = listed
    byte = np.int64(lowered(text[start]))
    for index in range(first[byte], first[byte + 1]):
        if word_at[index + 1] - word_at[index] == end - start:
            same = 1
            while same < end - start and lowered(text[start + same]) == words[word_at[index] + same]:
                same += 1
            if same == end - start:
                return True
    return False


@njit(cache=True, nogil=True, forceinline=True)
def has_phrase(text, start, end, first, last, phrases, places):  # type: ignore[no-untyped-def]
    """Whether a phrase stands in the line between boundaries of words, at a place where it counts: at the
    start and end of a line only marks may stand before or behind it."""
    words, word_at, ranges = phrases
    first, last = (end, start) if first < 0 else (first, last)
    for at in range(start, end):
        inside = at > start and ASCII_CELLS[text[at - 1]] & ALNUM
        if inside and ASCII_CELLS[text[at]] & ALNUM:
            continue
        byte = np.int64(lowered(text[at]))
        for index in range(ranges[byte], ranges[byte + 1]):
            place, wanted, wanted_end = at, word_at[index], word_at[index + 1]
            if inside and ASCII_CELLS[words[wanted]] & ALNUM:
                continue
            while place < end and wanted < wanted_end and lowered(text[place]) == words[wanted]:
                place += 1
                if words[wanted] == BLANK:
                    while place < end and text[place] == BLANK:
                        place += 1
                wanted += 1
            if wanted < wanted_end or (
                place < end and ASCII_CELLS[text[place]] & ALNUM and ASCII_CELLS[words[wanted - 1]] & ALNUM
            ):
                continue
            if (
                places[index] & ANYWHERE
                or (places[index] & AT_START and at <= first)
                or (places[index] & AT_END and place >= last)
            ):
                return True
    return False
