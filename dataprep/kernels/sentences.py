"""Where sentences begin, as the Sentencizer of spaCy 3.8 finds them in the words of its English tokenizer.

A word that is one of SENTENCE_MARKS ends a sentence; the next one begins with the first word after it that
is not made of punctuation (general category P) alone, so closing quotes and brackets stay with the sentence
before, and so do opening ones. Words are those of `kernels/words.py`, but for two rules of spaCy:

- the full stop after an abbreviation (`kernels/abbreviations.py`) is part of the word;
- white space other than one space after a word is a word that is no punctuation.

So a text has one sentence and one more for each mark that anything but punctuation and single spaces
follows, before the next mark does. Slow twin: `tests/reference/sentences.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.abbreviations import abbreviation_slots, is_abbreviation
from dataprep.kernels.characters import character_table
from dataprep.kernels.chunks import chunk_bounds, word_end
from dataprep.kernels.cuts import start_before
from dataprep.kernels.linebreaks import HIGH, LOW, zero_bytes
from dataprep.kernels.marks import (
    PUNCTUATION_CATEGORY,
    SENTENCE_MARK,
    WHITE,
    is_ascii_white,
    mark_table,
    properties_at,
    sentence_mark_leads,
    skip_black,
    skip_white,
)
from dataprep.kernels.masks import byte_set
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import (
    ascii_letters,
    ascii_letters_before,
    load64,
    pointer,
    read_only,
    trailing_zeros,
)

may_mark = byte_set((0x21, 0x21), (0x2E, 0x2E), (0x3F, 0x3F), (0x80, 0xFF))
STOPS, CALLS, QUERIES = LOW * np.uint64(0x2E), LOW * np.uint64(0x21), LOW * np.uint64(0x3F)


def sentence_counts(data: Bytes, offsets: Offsets) -> npt.NDArray[np.int64]:
    """int64[n]: sentences of each text; 1 for an empty one."""
    return _sentence_counts(
        read_only(data),
        read_only(offsets),
        *character_table(),
        *mark_table(),
        sentence_mark_leads(),
        abbreviation_slots(),
    )


@njit(cache=True, nogil=True)
def _next_of_substance(text, at, stop, mark_pages, mark_cells):  # type: ignore[no-untyped-def]
    """The first place from `at`, the end of a word, that is neither punctuation nor a single space."""
    while at < stop:
        if text[at] == 0x20:
            if skip_white(text, at + 1, stop, mark_pages, mark_cells) > at + 1:
                return at + 1
            at += 1
            continue
        properties, size = properties_at(text, at, stop, mark_pages, mark_cells)
        if not properties & PUNCTUATION_CATEGORY:
            break
        at += size
    return at


@njit(inline="always")
def _is_ascii_letter(byte):  # type: ignore[no-untyped-def]
    return 0x61 <= byte | 0x20 <= 0x7A


@njit(cache=True, nogil=True, forceinline=True)
def _plain_chunk_start(text, at, start):  # type: ignore[no-untyped-def]
    """Where the chunk begins that is ASCII letters and the mark at `at`, or -1 if it is anything else."""
    first = at - ascii_letters_before(text, at, start)
    if first == at or not (first == start or is_ascii_white(text[first - 1])):
        return -1
    return first


@njit(cache=True, nogil=True, forceinline=True)
def _word_begins(text, at, stop):  # type: ignore[no-untyped-def]
    """Whether a space and an ASCII letter or digit stand at `at`."""
    if at + 1 >= stop or text[at] != 0x20:
        return False
    return _is_ascii_letter(text[at + 1]) or 0x30 <= text[at + 1] <= 0x39


@njit(cache=True, nogil=True)
def count_sentences(  # type: ignore[no-untyped-def]
    text, start, stop, pages, cells, mark_pages, mark_cells, leads, slots
):
    """Sentences of text[start:stop]. Looks at marks alone; most stand between ASCII letters and a space."""
    count = 1
    at = done = start  # marks before `done` change nothing
    while at < stop:
        if at + 64 <= stop:
            places = may_mark(text, at)
            if not places:
                at += 64
                continue
            at += trailing_zeros(places)
        elif at + 8 <= stop:
            word = load64(text, at)
            found = zero_bytes(word ^ STOPS) | zero_bytes(word ^ CALLS) | zero_bytes(word ^ QUERIES)
            found |= word & HIGH
            if not found:
                at += 8
                continue
            at += trailing_zeros(found) >> 3
        if not leads[text[at]]:
            at += 1
            while at < stop and text[at] >= 0x80 and not leads[text[at]]:
                at += 1
            continue
        end = at + 1
        if text[at] >= 0x80:
            properties, size = properties_at(text, at, stop, mark_pages, mark_cells)
            end = at + size
            if not properties & SENTENCE_MARK:
                at = end
                continue
        elif end == stop or is_ascii_white(text[end]):
            first = _plain_chunk_start(text, at, start)
            if first >= 0:
                whole = False  # whether the full stop is part of the word
                if text[at] == 0x2E:
                    whole = not text[at - 1] & 0x20 and (at - 2 < first or text[at - 2] & 0x20 != 0)
                    whole = whole or is_abbreviation(text, first, at, slots)
                at = end
                if not whole:
                    if _word_begins(text, end, stop):
                        at = done = end + 1
                    else:
                        at = done = _next_of_substance(text, end, stop, mark_pages, mark_cells)
                    if at == stop:
                        break
                    count += 1
                continue
        first = at
        while first > start:
            before = start_before(text, first, start)
            if properties_at(text, before, first, mark_pages, mark_cells)[0] & WHITE:
                break
            first = before
        last = skip_black(text, end, stop, mark_pages, mark_cells)
        bounds = chunk_bounds(text, first, last, pages, cells)
        place = first
        while place < last:
            end = word_end(text, place, last, bounds, pages, cells)
            if place >= done and is_mark(text, place, end, bounds, mark_pages, mark_cells, slots):
                done = _next_of_substance(text, end, stop, mark_pages, mark_cells)
                if done == stop:
                    return count
                count += 1
            place = end
        at = done = max(last, done)
    return count


@njit(cache=True, nogil=True)
def is_mark(text, place, end, bounds, mark_pages, mark_cells, slots):  # type: ignore[no-untyped-def]
    """Whether the word text[place:end] of a chunk with those bounds ends a sentence."""
    properties, size = properties_at(text, place, end, mark_pages, mark_cells)
    if not properties & SENTENCE_MARK or place + size != end:
        return False
    if text[place] != 0x2E:
        return True
    first, last = bounds[0], bounds[1]
    if place == last:  # the first word of the back
        return not is_abbreviation(text, first, last, slots)
    inside = first <= place < last and text[last - 1] == 0x2E  # "Ph.D." ends with a full stop that is no word
    return not (inside and is_abbreviation(text, first, last - 1, slots))


@njit(cache=True, nogil=True)
def sentence_starts(  # type: ignore[no-untyped-def]
    text, start, stop, pages, cells, mark_pages, mark_cells, slots
):
    """int64[m]: where each sentence of text[start:stop] but the first begins. Looks at every word."""
    starts = np.empty(64, dtype=np.int64)
    count, seen, at, after_word = 0, False, start, False
    while at < stop:
        white = skip_white(text, at, stop, mark_pages, mark_cells)
        begins = -1
        if white > at:
            own = at + 1 if after_word and text[at] == 0x20 else at
            if white > own and seen:
                begins, seen = own, False
            at = place = last = white
        else:
            if not seen:  # most chunks are letters alone
                last = at + ascii_letters(text, at, stop)
                if last == stop or is_ascii_white(text[last]):
                    at, after_word = last, True
                    continue
            place, last = at, skip_black(text, at, stop, mark_pages, mark_cells)
        bounds = chunk_bounds(text, place, last, pages, cells)
        while begins >= 0 or place < last:
            if begins < 0:
                end = word_end(text, place, last, bounds, pages, cells)
                if is_mark(text, place, end, bounds, mark_pages, mark_cells, slots):
                    seen = True
                elif seen and _next_of_substance(text, place, end, mark_pages, mark_cells) < end:
                    begins, seen = place, False
                place = end
            if begins >= 0:
                if count == starts.size:
                    larger = np.empty(2 * count, dtype=np.int64)
                    larger[:count] = starts
                    starts = larger
                starts[count] = begins
                count += 1
                begins = -1
        after_word = place > at
        at = last
    return starts[:count]


@njit(cache=True, nogil=True)
def _sentence_counts(  # type: ignore[no-untyped-def]
    data, offsets, page_array, cell_array, mark_page_array, mark_cell_array, lead_array, slot_array
):
    text = pointer(data)
    pages, cells = pointer(page_array), pointer(cell_array)
    mark_pages, mark_cells = pointer(mark_page_array), pointer(mark_cell_array)
    leads, slots = pointer(lead_array), pointer(slot_array)
    out = np.empty(offsets.size - 1, dtype=np.int64)
    for index in range(offsets.size - 1):
        out[index] = count_sentences(
            text,
            offsets[index],
            offsets[index + 1],
            pages,
            cells,
            mark_pages,
            mark_cells,
            leads,
            slots,
        )
    return out
