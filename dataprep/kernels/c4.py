"""The line rules of C4 as datatrove's C4QualityFilter has them: which lines stay, what drops a document.

A line (`str.splitlines`, or a sentence) is stripped, then in this order:

1. a word of more than `max_word_length` characters, or fewer than `min_line_words` words (`str.split`): out
2. citations are removed: "[", decimal digits if any, "]"; "[edit]"; "[citation needed]". Not stripped again
3. no . ? ! " ' at its end, or "..." there: out
4. "lorem ipsum" in it, in any case: the document is out, and nothing after is looked at
5. "javascript" in it: out
6. "{" in it: the document is out, and nothing after is looked at
7. a phrase about cookies or terms in it: out

Each can be switched off. What stays is joined by a line feed (a space between sentences) and stripped.
"In any case" is `str.lower`, which also makes a k of the Kelvin sign. Sentences of the lines that stay are
counted by `kernels/sentences.py`. Slow twin: `tests/reference/c4.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.abbreviations import abbreviation_slots
from dataprep.kernels.c4_line import copied, ends_sentence, words_fit
from dataprep.kernels.characters import character_table
from dataprep.kernels.linebreaks import break_size, find_byte, line_end, same_bytes
from dataprep.kernels.marks import mark_table, sentence_mark_leads, strip_white
from dataprep.kernels.phrases import phrase_tables, phrases_in
from dataprep.kernels.sentences import count_sentences, sentence_starts
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import copy_bytes, pointer, read_only

COUNTS = (
    "lines",  # looked at
    "kept_lines",
    "sentences",  # of the lines that stay; the lines themselves where they are sentences
    "lorem_ipsum",  # 1 if that ended the document
    "curly_bracket",  # 1 if that ended the document
)
LOREM, JAVASCRIPT, CURLY, POLICY = 1, 2, 4, 8
PHRASES = {
    "lorem ipsum": LOREM,
    "javascript": JAVASCRIPT,
    "terms of use": POLICY,
    "privacy policy": POLICY,
    "cookie policy": POLICY,
    "uses cookies": POLICY,
    "use of cookies": POLICY,
    "use cookies": POLICY,
}
KELVIN = "\u212a"
"""`str.lower` makes a k of it; no other character becomes a letter of a phrase."""


@dataclass(frozen=True, slots=True)
class LineRules:
    """Which rules hold; a number below 0 is no limit."""

    by_sentence: bool
    remove_citations: bool
    terminal_punctuation: bool
    lorem_ipsum: bool
    javascript: bool
    curly_bracket: bool
    policy: bool
    min_line_words: int
    max_word_length: int


def c4_lines(
    data: Bytes, offsets: Offsets, rules: LineRules
) -> tuple[Bytes, Offsets, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """(data and offsets of the new texts, int64[n, 5] as in COUNTS, bool[n]: whether a text changed).

    A document that lorem ipsum or a curly bracket ended keeps its text.
    """
    wanted = LOREM * rules.lorem_ipsum | JAVASCRIPT * rules.javascript | POLICY * rules.policy
    chosen = {phrase: bit for phrase, bit in PHRASES.items() if bit & wanted}
    chosen |= {phrase.replace("k", KELVIN): bit for phrase, bit in chosen.items()}
    flags = np.array(
        [rules.by_sentence, rules.remove_citations, rules.terminal_punctuation, rules.curly_bracket],
        dtype=np.bool_,
    )
    limits = np.array([rules.min_line_words, rules.max_word_length], dtype=np.int64)
    new, new_offsets, counts, changed = _edit(
        read_only(data),
        read_only(offsets),
        read_only(flags),
        read_only(limits),
        *phrase_tables(tuple(chosen)),
        read_only(np.array([*chosen.values()], dtype=np.int64)),
        *character_table(),
        *mark_table(),
        sentence_mark_leads(),
        abbreviation_slots(),
    )
    return new[: new_offsets[-1]], new_offsets, counts, changed


@njit(cache=True, nogil=True)
def _edit(  # type: ignore[no-untyped-def]
    data,
    offsets,
    flags,
    limits,
    kind_array,
    after_array,
    place_array,
    phrase_data,
    phrase_offsets,
    bit_array,
    page_array,
    cell_array,
    mark_page_array,
    mark_cell_array,
    lead_array,
    slot_array,
):
    by_sentence, remove_citations, terminal, curly = flags
    min_words, max_length = limits
    text = pointer(data)
    kinds, after, places = pointer(kind_array), pointer(after_array), pointer(place_array)
    phrases, ends, bits = pointer(phrase_data), pointer(phrase_offsets), pointer(bit_array)
    pages, cells = pointer(page_array), pointer(cell_array)
    mark_pages, mark_cells = pointer(mark_page_array), pointer(mark_cell_array)
    leads, slots = pointer(lead_array), pointer(slot_array)
    size = offsets[-1] - offsets[0]
    # Between sentences there may be no white space to put a space in place of.
    out_array = np.empty(2 * size + 1 if by_sentence else size, dtype=np.uint8)
    out = pointer(out_array)
    new_offsets = np.zeros(offsets.size, dtype=np.int64)
    counts = np.zeros((offsets.size - 1, 5), dtype=np.int64)
    changed = np.zeros(offsets.size - 1, dtype=np.bool_)
    starts = np.empty(0, dtype=np.int64)
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        begin = written = new_offsets[index]
        lines, kept, sentences, state = 0, 0, 0, 0
        if by_sentence:
            starts = sentence_starts(text, at, stop, pages, cells, mark_pages, mark_cells, slots)
        while at < stop or (by_sentence and lines <= starts.size):
            if by_sentence:
                end = starts[lines] if lines < starts.size else stop
                next_line = end
            else:
                end = line_end(text, at, stop)
                next_line = end + break_size(text, end, stop) if end < stop else stop
            lines += 1
            start, end = strip_white(text, at, end, mark_pages, mark_cells)
            at = next_line
            cited = remove_citations and end > start and text[end - 1] == 0x5D  # "]": look again without it
            if terminal and not cited and not ends_sentence(text, start, end):
                continue
            if not words_fit(text, start, end, min_words, max_length, mark_pages, mark_cells):
                continue
            line = written + (kept > 0)
            if remove_citations:
                line_stop = copied(text, start, end, out, line, mark_pages, mark_cells)
                if terminal and not ends_sentence(out, line, line_stop):
                    continue
            else:
                line_stop = line + end - start
                copy_bytes(out, line, text, start, end - start)
            seen = phrases_in(out, line, line_stop, kinds, after, places, phrases, ends, bits)
            if seen & LOREM:
                state = LOREM
                break
            if seen & JAVASCRIPT:
                continue
            if curly and find_byte(out, line, line_stop, 0x7B) < line_stop:
                state = CURLY
                break
            if seen & POLICY:
                continue
            if by_sentence:
                sentences += 1
            else:
                sentences += count_sentences(
                    out, line, line_stop, pages, cells, mark_pages, mark_cells, leads, slots
                )
            if kept:
                out[written] = 0x20 if by_sentence else 0x0A
            kept += 1
            written = line_stop
        start, stop = offsets[index], offsets[index + 1]
        if state:
            copy_bytes(out, begin, text, start, stop - start)
            written = begin + stop - start
        else:
            first, last = strip_white(out, begin, written, mark_pages, mark_cells)
            if first > begin:
                for place in range(last - first):
                    out[begin + place] = out[first + place]
            written = begin + last - first
            changed[index] = written - begin != stop - start or not same_bytes(
                out, begin, text, start, stop - start
            )
        new_offsets[index + 1] = written
        counts[index, 0] = lines
        counts[index, 1] = kept
        counts[index, 2] = sentences
        counts[index, 3] = state == LOREM
        counts[index, 4] = state == CURLY
    return out_array, new_offsets, counts, changed
