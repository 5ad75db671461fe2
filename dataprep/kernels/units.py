"""The lines, paragraphs or three-sentence spans of texts: where each is, and a hash of what it says.

lines       pieces between line feeds
paragraphs  lines up to the next blank one (of white space alone, or nothing)
sentences3  every window of three consecutive sentences of `sentences.py`; a text of fewer has none

White space around a line, paragraph or sentence is never compared; how the rest is, is a form of
`unit_forms.py`. What has no letter (`str.isalpha`), or fewer than `min_chars` characters from the first that
is no white space to the last, takes no part: rules, numbers and braces are alike in everything.

The bytes that go with a unit: a line with its indentation and its line feed; a paragraph with the blank lines
behind it; sentences with the white space behind them. Which units go is decided in `decide/lines.py`, and
`removal.py` takes them out. Slow twin: `tests/reference/units.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.abbreviations import abbreviation_slots
from dataprep.kernels.characters import character_table
from dataprep.kernels.hashing import Hashes, murmur
from dataprep.kernels.linebreaks import find_byte
from dataprep.kernels.marks import LETTER, mark_table, properties_at, strip_white
from dataprep.kernels.sentences import sentence_starts
from dataprep.kernels.spans import with_room
from dataprep.kernels.texts import Bytes, Offsets, offsets_of
from dataprep.kernels.unit_forms import MOST_GROWTH, Form, form_tables, put_form
from dataprep.kernels.utf8 import longest, pointer, read_only

Kind = Literal["lines", "paragraphs", "sentences3"]
LINES, PARAGRAPHS, SENTENCES = 0, 1, 2
KINDS: dict[Kind, tuple[int, int]] = {
    "lines": (LINES, 1),
    "paragraphs": (PARAGRAPHS, 1),
    "sentences3": (SENTENCES, 3),
}
"""Number, and how many pieces in a row are a unit."""
LINE_FEED = 0x0A


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """m units of n texts, in order.

    hashes        uint64[m, 2]: MurmurHash3_x64_128 of the form of what is compared
    starts, ends  int64[m]: the bytes that go with the unit, counted from the beginning of its text. They do
                  not descend inside a text; only windows of sentences overlap
    chars         int32[m]: characters of what is compared, before any form
    unit_offsets  int64[n + 1]: text i has the units unit_offsets[i] to unit_offsets[i + 1]
    """

    hashes: Hashes
    starts: Offsets
    ends: Offsets
    chars: npt.NDArray[np.int32]
    unit_offsets: Offsets

    def __len__(self) -> int:
        return len(self.hashes)

    @staticmethod
    def join(parts: Sequence[Units]) -> dict[str, npt.NDArray[Any]]:
        """Those of texts that follow one another, by name: `hashes`, `starts`, `ends`, `unit_offsets`."""
        counts = np.concatenate([np.diff(part.unit_offsets) for part in parts])
        return {
            "hashes": np.concatenate([part.hashes for part in parts]),
            "starts": np.concatenate([part.starts for part in parts]),
            "ends": np.concatenate([part.ends for part in parts]),
            "unit_offsets": offsets_of(counts),
        }

    @property
    def rows(self) -> Offsets:
        """int64[m]: the text of each unit."""
        return np.repeat(np.arange(self.unit_offsets.size - 1), np.diff(self.unit_offsets))

    @property
    def numbers(self) -> Offsets:
        """int64[m]: the place of each unit among those of its text."""
        return np.arange(len(self)) - np.repeat(self.unit_offsets[:-1], np.diff(self.unit_offsets))


def units(data: Bytes, offsets: Offsets, kind: Kind, form: Form, min_chars: int) -> Units:
    """The units of each text. Memory: about 40 bytes a unit, twice that while it grows, and three times the
    longest text."""
    number, width = KINDS[kind]
    hashes, spans, unit_offsets = _units(
        read_only(data),
        read_only(offsets),
        number,
        width,
        form == "exact",
        min_chars,
        form_tables(form),
        *character_table(),
        *mark_table(),
        abbreviation_slots(),
        np.empty((MOST_GROWTH + 1) * longest(offsets) + 64, dtype=np.uint8),
    )
    starts, ends, chars = spans[:, 0].copy(), spans[:, 1].copy(), spans[:, 2].astype(np.int32)
    return Units(hashes.copy(), starts, ends, chars, unit_offsets)


@njit(cache=True, nogil=True)
def _line_pieces(text, start, stop, pieces, mark_pages, mark_cells):  # type: ignore[no-untyped-def]
    """(pieces, how many): rows (bytes that go from, to; what is compared from, to) of lines that are not
    blank."""
    count, at = 0, start
    while at < stop:
        end = find_byte(text, at, stop, LINE_FEED)
        first, last = strip_white(text, at, end, mark_pages, mark_cells)
        after = min(end + 1, stop)
        if first < last:
            pieces = with_room(pieces, count)
            pieces[count, 0], pieces[count, 1], pieces[count, 2], pieces[count, 3] = at, after, first, last
            count += 1
        at = after
    return pieces, count


@njit(cache=True, nogil=True)
def _joined(pieces, count, stop):  # type: ignore[no-untyped-def]
    """How many paragraphs the pieces are, which are lines and become them; blank lines go with the one
    before."""
    paragraphs = 0
    for line in range(count):
        if line and pieces[line, 0] == pieces[paragraphs - 1, 1]:  # no blank line between
            pieces[paragraphs - 1, 1], pieces[paragraphs - 1, 3] = pieces[line, 1], pieces[line, 3]
        else:
            if paragraphs:
                pieces[paragraphs - 1, 1] = pieces[line, 0]
            pieces[paragraphs] = pieces[line]
            paragraphs += 1
    if paragraphs:
        pieces[paragraphs - 1, 1] = stop
    return paragraphs


@njit(cache=True, nogil=True)
def _sentence_pieces(  # type: ignore[no-untyped-def]
    text, start, stop, pieces, pages, cells, mark_pages, mark_cells, slots
):
    """Like `_line_pieces`. A sentence ends where the next one begins, with its first black character."""
    starts = sentence_starts(text, start, stop, pages, cells, mark_pages, mark_cells, slots)
    count = 0
    for place in range(starts.size + 1):
        at = start if place == 0 else starts[place - 1]
        end = starts[place] if place < starts.size else stop
        first, last = strip_white(text, at, end, mark_pages, mark_cells)
        if first < last:
            pieces = with_room(pieces, count)
            pieces[count, 0], pieces[count, 1], pieces[count, 2], pieces[count, 3] = first, stop, first, last
            if count:
                pieces[count - 1, 1] = first
            count += 1
    return pieces, count


@njit(cache=True, nogil=True, forceinline=True)
def _characters(text, at, stop):  # type: ignore[no-untyped-def]
    count = 0
    for place in range(at, stop):
        count += (text[place] & 0xC0) != 0x80
    return count


@njit(cache=True, nogil=True)
def _has_letter(text, at, stop, mark_pages, mark_cells):  # type: ignore[no-untyped-def]
    while at < stop:
        properties, size = properties_at(text, at, stop, mark_pages, mark_cells)
        if properties & LETTER:
            return True
        at += size
    return False


@njit(cache=True, nogil=True)
def _units(  # type: ignore[no-untyped-def]
    data, offsets, kind, width, is_exact, min_chars, form, page_array, cell_array, mark_page_array,
    mark_cell_array, slot_array, scratch,
):  # fmt: skip
    text, out, slots = pointer(data), pointer(scratch), pointer(slot_array)
    pages, cells = pointer(page_array), pointer(cell_array)
    mark_pages, mark_cells = pointer(mark_page_array), pointer(mark_cell_array)
    ascii_new_array, ascii_kept_array, form_page_array, form_cell_array, new_data_array, new_offsets = form
    ascii_new, ascii_kept = pointer(ascii_new_array), pointer(ascii_kept_array)
    form_pages, form_cells = pointer(form_page_array), pointer(form_cell_array)
    new_data = pointer(new_data_array)
    hashes, spans = np.empty((1024, 2), dtype=np.uint64), np.empty((1024, 3), dtype=np.int64)
    unit_offsets = np.zeros(offsets.size, dtype=np.int64)
    pieces, count = np.empty((64, 4), dtype=np.int64), 0
    for index in range(offsets.size - 1):
        start, stop = offsets[index], offsets[index + 1]
        if kind == SENTENCES:
            pieces, found = _sentence_pieces(
                text, start, stop, pieces, pages, cells, mark_pages, mark_cells, slots
            )
        else:
            pieces, found = _line_pieces(text, start, stop, pieces, mark_pages, mark_cells)
            if kind == PARAGRAPHS:
                found = _joined(pieces, found, stop)
        places = np.zeros(found + 1, dtype=np.int64)  # of each piece in `out`, where a unit has several
        if width > 1 and found >= width:
            for piece in range(found):
                places[piece + 1] = put_form(
                    text, pieces[piece, 2], pieces[piece, 3], is_exact, True, ascii_new, ascii_kept,
                    form_pages, form_cells, new_data, new_offsets, out, places[piece],
                )  # fmt: skip
                out[places[piece + 1]] = LINE_FEED
                places[piece + 1] += 1
        for piece in range(found - width + 1):
            last = piece + width - 1
            begin, end = pieces[piece, 2], pieces[last, 3]
            chars = _characters(text, begin, end)
            if chars < min_chars or not _has_letter(text, begin, end, mark_pages, mark_cells):
                continue
            if count == spans.shape[0]:
                more_hashes = np.empty((2 * count, 2), dtype=np.uint64)
                more_spans = np.empty((2 * count, 3), dtype=np.int64)
                more_hashes[:count], more_spans[:count] = hashes, spans
                hashes, spans = more_hashes, more_spans
            first_place, last_place = places[piece], places[piece + width] - 1
            if width == 1:
                first_place, last_place = 0, put_form(
                    text, begin, end, is_exact, kind == PARAGRAPHS, ascii_new, ascii_kept, form_pages,
                    form_cells, new_data, new_offsets, out, 0,
                )  # fmt: skip
            hashes[count, 0], hashes[count, 1] = murmur(out, first_place, last_place, np.uint64(0))
            spans[count, 0], spans[count, 1] = pieces[piece, 0] - start, pieces[last, 1] - start
            spans[count, 2] = chars
            count += 1
        unit_offsets[index + 1] = count
    return hashes[:count], spans[:count], unit_offsets
