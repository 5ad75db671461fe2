"""Texts without the lines of a web page that are no prose, and without citation marks.

Which phrases and limits is said by `dataprep/steps/boilerplate_lines.py`; docs/reference/statistics.md has
the rules. A long line is settled without looking at every word: it has more words than any rule asks of, and
its capitals are counted by the vector unit. What is in a line is seen by `line_facts.py`. Slow twin:
`tests/reference/boilerplate.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.characters import character_table
from dataprep.kernels.line_facts import (
    ANYWHERE,
    KEEP,
    NUMERIC,
    UPPERCASE,
    has_phrase,
    is_blank,
    is_counter,
    is_one_of,
    judged_long,
    looked_at,
)
from dataprep.kernels.linebreaks import find_byte
from dataprep.kernels.spans import ASCII_CELLS
from dataprep.kernels.spans import DIGIT as ASCII_DIGIT
from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.urls import lowered
from dataprep.kernels.utf8 import copy_bytes, longest, pointer, read_only

COUNTS = (
    "citations",  # marks that were taken out
    "numeric_lines",
    "counter_lines",
    "few_word_lines",
    "uppercase_lines",
    "phrase_lines",
    "emptied_lines",  # that held nothing but citations
)
CITATIONS, COUNTER, FEW_WORDS, PHRASE, EMPTIED = 0, 2, 3, 5, 6
"""Columns; NUMERIC is 1 and UPPERCASE 4."""

LINE_FEED, OPEN, CLOSE = 0x0A, 0x5B, 0x5D
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
            line_end = find_byte(source, at, stop, LINE_FEED)
            text, start, end, taken = source, at, line_end, 0
            at = line_end + 1
            if looks_for_marks and find_byte(source, start, end, OPEN) < end:
                length, taken = _without_marks(source, start, end, cleaned, numbers, longest_mark, marks)
                if taken:
                    text, start, end = cleaned, 0, length
                    counts[index, CITATIONS] += taken
            words, letters, capitals, digits, first, last, second, first_end, reached = looked_at(
                text, start, end, max(min_words, 2, max_phrase_words), pages, cells
            )
            verdict = KEEP
            if first < 0 and reached == end and is_blank(text, start, end, pages, cells):
                verdict = EMPTIED if taken else KEEP
            elif reached < end:
                verdict = judged_long(text, reached, end, letters, capitals, numeric, uppercase, pages, cells)
            elif numeric and digits and letters == 0:
                verdict = NUMERIC
            elif words == 2 and second >= 0 and is_counter(text, first, first_end, second, last, counters):
                verdict = COUNTER
            elif 0 < words < min_words:
                verdict = FEW_WORDS
            elif capitals > uppercase * letters:
                verdict = UPPERCASE
            if (
                verdict == KEEP
                and reached == end
                and words <= max_phrase_words
                and has_phrase(text, start, end, first, last, phrases, places)
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
        if is_mark or is_one_of(cleaned, begin, last, marks):
            size = bracket
            taken += 1
    return size, taken
