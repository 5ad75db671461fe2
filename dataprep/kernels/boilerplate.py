"""Texts without the lines of a web page that are no prose, and without citation marks.

Which phrases and limits is said by `dataprep/steps/boilerplate_lines.py`; docs/reference/boilerplate.md has
the rules. A long line is settled without looking at every word: it has more words than any rule asks of, and
its capitals are counted by the vector unit. Slow twin: `tests/reference/boilerplate.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.characters import ALPHABETIC, CLASS, DIGIT, SPACE, SPACELESS, UPPER, character_table
from dataprep.kernels.spans import ALNUM, ASCII_CELLS, next_byte
from dataprep.kernels.spans import DIGIT as ASCII_DIGIT
from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.urls import lowered
from dataprep.kernels.utf8 import copy_bytes, decode, longest, lookup, pointer, read_only

COUNTS = (
    "citations",  # marks that were taken out
    "numeric_lines",
    "counter_lines",
    "few_word_lines",
    "uppercase_lines",
    "phrase_lines",
    "emptied_lines",  # that held nothing but citations
)
CITATIONS, NUMERIC, COUNTER, FEW_WORDS, UPPERCASE, PHRASE, EMPTIED = range(7)
KEEP = -1
AT_START, AT_END, ANYWHERE = 1, 2, 4
LINE_FEED, OPEN, CLOSE, BLANK = 0x0A, 0x5B, 0x5D, 0x20
NO_LIMIT = 1 << 62
MOST_DIGITS = 3
"""Of a citation: four are a year."""

Ranges = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Strings in lower case, sorted; `ranges[b]` to `ranges[b + 1]` begin with byte b. `places` says of each
    where in a line it counts."""

    texts: Texts
    ranges: Ranges
    places: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """What `kept_lines` drops; see the step for what each means. None of `max_phrase_words` is no limit."""

    citation_numbers: bool
    numeric: bool
    min_words: int
    max_uppercase_ratio: float
    max_phrase_words: int | None


def words_of(strings: Sequence[str], places: Sequence[int] | None = None) -> Words:
    """Of non-empty strings; case is folded in ASCII only. Equal ones add up their places."""
    found: dict[bytes, int] = {}
    for string, place in zip(strings, places or [ANYWHERE] * len(strings), strict=True):
        folded = bytes(lowered(byte) for byte in string.encode())
        found[folded] = found.get(folded, 0) | place
    ordered = sorted(found)
    firsts = np.array([each[0] for each in ordered], dtype=np.int64)
    values = np.array([found[each] for each in ordered], dtype=np.uint8)
    return Words(Texts.from_bytes(ordered), np.searchsorted(firsts, np.arange(257)), values)


def kept_lines(
    data: Bytes, offsets: Offsets, limits: Limits, marks: Words, counters: Words, phrases: Words
) -> tuple[Bytes, Offsets, npt.NDArray[np.int64]]:
    """(data, offsets, int64[n, 7] with columns as in COUNTS) of the texts with the lines that stay."""
    pages, cells = character_table()
    out = np.empty(int(offsets[-1] - offsets[0]), dtype=np.uint8)
    out_offsets = np.zeros(offsets.size, dtype=np.int64)
    counts = np.zeros((offsets.size - 1, len(COUNTS)), dtype=np.int64)
    max_phrase_words = NO_LIMIT if limits.max_phrase_words is None else limits.max_phrase_words
    arrays = [
        *(marks.texts.data, marks.texts.offsets, marks.ranges),
        *(counters.texts.data, counters.texts.offsets, counters.ranges),
        *(phrases.texts.data, phrases.texts.offsets, phrases.ranges, phrases.places),
    ]
    _kept_lines(
        read_only(data),
        read_only(offsets),
        limits.citation_numbers,
        limits.numeric,
        limits.min_words,
        max_phrase_words if len(phrases.texts) else 0,
        limits.max_uppercase_ratio,
        tuple(map(read_only, arrays)),
        pages,
        cells,
        np.empty(longest(offsets), dtype=np.uint8),
        out,
        out_offsets,
        counts,
    )
    return out[: out_offsets[-1]], out_offsets, counts


@njit(cache=True, nogil=True)
def _kept_lines(  # type: ignore[no-untyped-def]
    data, offsets, numbers, numeric, min_words, max_phrase_words, uppercase, lists, page_array, cell_array,
    scratch, out, out_offsets, counts,
):  # fmt: skip
    source, target, cleaned = pointer(data), pointer(out), pointer(scratch)
    pages, cells = pointer(page_array), pointer(cell_array)
    mark_data, mark_ends, mark_ranges, counter_data, counter_ends, counter_ranges = lists[:6]
    phrase_data, phrase_ends, phrase_ranges, place_array = lists[6:]
    marks = (pointer(mark_data), pointer(mark_ends), pointer(mark_ranges))
    counters = (pointer(counter_data), pointer(counter_ends), pointer(counter_ranges))
    phrases = (pointer(phrase_data), pointer(phrase_ends), pointer(phrase_ranges))
    places = pointer(place_array)
    looks_for_marks, longest_mark = numbers or mark_ends.size > 1, MOST_DIGITS
    for index in range(mark_ends.size - 1):
        longest_mark = max(longest_mark, mark_ends[index + 1] - mark_ends[index])
    size = 0
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        is_first = True
        while at <= stop:
            line_end = next_byte(source, at, stop, LINE_FEED)
            text, start, end, taken = source, at, line_end, 0
            at = line_end + 1
            if looks_for_marks and next_byte(source, start, end, OPEN) < end:
                length, taken = _without_marks(source, start, end, cleaned, numbers, longest_mark, marks)
                if taken:
                    text, start, end = cleaned, 0, length
                    counts[index, CITATIONS] += taken
            words, letters, capitals, digits, first, last, second, first_end, reached = _looked_at(
                text, start, end, max(min_words, 2, max_phrase_words), pages, cells
            )
            verdict = KEEP
            if first < 0 and reached == end and _is_blank(text, start, end, pages, cells):
                verdict = EMPTIED if taken else KEEP
            elif reached < end:
                verdict = _judged_long(
                    text, reached, end, letters, capitals, numeric, uppercase, pages, cells
                )
            elif numeric and digits and letters == 0:
                verdict = NUMERIC
            elif words == 2 and second >= 0 and _is_counter(text, first, first_end, second, last, counters):
                verdict = COUNTER
            elif 0 < words < min_words:
                verdict = FEW_WORDS
            elif capitals > uppercase * letters:
                verdict = UPPERCASE
            if (
                verdict == KEEP
                and reached == end
                and words <= max_phrase_words
                and _has_phrase(text, start, end, first, last, phrases, places)
            ):
                verdict = PHRASE
            if verdict != KEEP:
                counts[index, verdict] += 1
                continue
            if not is_first:
                target[size] = LINE_FEED
                size += 1
            is_first = False
            copy_bytes(target, size, text, start, end - start)
            size += end - start
        out_offsets[index + 1] = size


@njit(cache=True, nogil=True, forceinline=True)
def _without_marks(source, at, end, cleaned, numbers, longest_mark, marks):  # type: ignore[no-untyped-def]
    """(bytes written to `cleaned`, marks left out) of a line. What is around a mark may be one in turn."""
    size, taken = 0, 0
    while at < end:
        byte = source[at]
        cleaned[size] = byte
        size += 1
        at += 1
        if byte != CLOSE:
            continue
        bracket = size - 2
        while bracket >= 0 and bracket > size - 3 - longest_mark and cleaned[bracket] != OPEN:
            bracket -= 1
        if bracket < 0 or cleaned[bracket] != OPEN or bracket == size - 2:
            continue
        begin, last = bracket + 1, size - 1
        is_mark = numbers and last - begin <= MOST_DIGITS
        for place in range(begin, last):
            is_mark &= (ASCII_CELLS[cleaned[place]] & ASCII_DIGIT) != 0
        if is_mark or _is_one_of(cleaned, begin, last, marks):
            size = bracket
            taken += 1
    return size, taken


@njit(cache=True, nogil=True, forceinline=True)
def _is_one_of(text, start, end, listed):  # type: ignore[no-untyped-def]
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
def _looked_at(text, at, end, most_words, pages, cells):  # type: ignore[no-untyped-def]
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
def _is_blank(text, at, end, pages, cells):  # type: ignore[no-untyped-def]
    while at < end:
        code, size = decode(text, at, end)
        if lookup(pages, cells, code) & CLASS != SPACE:
            return False
        at += size
    return True


@njit(cache=True, nogil=True, forceinline=True)
def _judged_long(text, at, end, letters, capitals, numeric, uppercase, pages, cells):  # type: ignore[no-untyped-def]
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
def _is_counter(text, first, first_end, second, second_end, counters):  # type: ignore[no-untyped-def]
    """`3 likes` or `Likes: 1.2k`."""
    if _is_number(text, first, first_end):
        return _is_one_of(text, second, second_end, counters)
    return _is_number(text, second, second_end) and _is_one_of(text, first, first_end, counters)


@njit(cache=True, nogil=True, forceinline=True)
def _is_number(text, at, end):  # type: ignore[no-untyped-def]
    """ASCII digits, between them dots and commas, maybe a k or m behind them."""
    if not ASCII_CELLS[text[at]] & ASCII_DIGIT:
        return False
    if lowered(text[end - 1]) in (0x6B, 0x6D):
        end -= 1
    for place in range(at, end):  # noqa: SIM110
        if not (ASCII_CELLS[text[place]] & ASCII_DIGIT or text[place] in (0x2C, 0x2E)):
            return False
    return True


@njit(cache=True, nogil=True, forceinline=True)
def _has_phrase(text, start, end, first, last, phrases, places):  # type: ignore[no-untyped-def]
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
