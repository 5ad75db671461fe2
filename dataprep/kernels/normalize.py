"""Which texts must be rewritten to reach one Unicode form, one line ending and no control characters, and
the rewriting: byte work here, the part that needs Unicode's algorithms by `unicodedata`, on the few texts
that need it. See `dataprep/steps/normalize.py`. Slow twin: `tests/reference/normalize.py`.
"""

from __future__ import annotations

import unicodedata

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.unicode import NOT_YES, Form, quick_check
from dataprep.kernels.utf8 import HIGH_BITS, copy_bytes, decode, load64, lookup, pointer, read_only

EDIT, REFORM = 1, 2
"""Bits of `scan`: there is a line ending or control character to edit; the form must be checked in full."""

NO_TABLE = (np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.uint8))
TAB, LINE_FEED, RETURN, DELETE = 0x09, 0x0A, 0x0D, 0x7F
NO_BREAK_SPACE, BYTE_ORDER_MARK = 0xA0, 0xFEFF
EACH = np.uint64(0x0101010101010101)
LOW_BITS, SPACES = EACH * np.uint64(0x7F), EACH * np.uint64(0x20)
TABS, LINE_FEEDS = EACH * np.uint64(TAB), EACH * np.uint64(LINE_FEED)


def scan(
    data: Bytes, offsets: Offsets, form: Form | None, newlines: bool, strip_control: bool
) -> npt.NDArray[np.uint8]:
    """uint8[n]: EDIT and REFORM of each text; 0 is a text that `normalize` leaves as it is.

    REFORM is not set where the quick check of UAX #15 proves the form: every character is allowed and marks
    are in canonical order, judged without the characters that will be stripped.
    """
    pages, cells = quick_check(form) if form else NO_TABLE
    return _scan(read_only(data), read_only(offsets), pages, cells, form is not None, newlines, strip_control)


def edited(
    data: Bytes, offsets: Offsets, chosen: npt.NDArray[np.int64], newlines: bool, strip_control: bool
) -> tuple[Bytes, Offsets]:
    """(data, offsets) of the chosen texts with line endings and control characters edited."""
    sizes = (offsets[1:] - offsets[:-1])[chosen]
    out = np.empty(int(sizes.sum()), dtype=np.uint8)
    new_offsets = np.zeros(chosen.size + 1, dtype=np.int64)
    _edit(read_only(data), read_only(offsets), chosen, newlines, strip_control, out, new_offsets)
    return out[: new_offsets[-1]], new_offsets


def replaced(
    data: Bytes, offsets: Offsets, chosen: npt.NDArray[np.int64], new_data: Bytes, new_offsets: Offsets
) -> tuple[Bytes, Offsets]:
    """(data, offsets) of all texts, the chosen ones (ascending) with their new bytes in place."""
    sizes = offsets[1:] - offsets[:-1]
    sizes[chosen] = new_offsets[1:] - new_offsets[:-1]
    out_offsets = np.zeros(offsets.size, dtype=np.int64)
    np.cumsum(sizes, out=out_offsets[1:])
    out = np.empty(int(out_offsets[-1]), dtype=np.uint8)
    _replace(read_only(data), read_only(offsets), chosen, new_data, new_offsets, out, out_offsets)
    return out, out_offsets


def reformed(
    data: Bytes, offsets: Offsets, chosen: npt.NDArray[np.int64], form: Form
) -> tuple[Bytes, Offsets]:
    """(data, offsets) of all texts, the chosen ones (ascending) in a Unicode form; those are decoded."""
    forms = [
        unicodedata.normalize(form, data[offsets[row] : offsets[row + 1]].tobytes().decode()).encode()
        for row in chosen.tolist()
    ]
    rewritten = Texts.from_bytes(forms)
    return replaced(data, offsets, chosen, rewritten.data, rewritten.offsets)


def composed(data: Bytes, offsets: Offsets) -> tuple[Bytes, Offsets]:
    """(data, offsets) of the texts in form NFC; the arguments themselves where they are."""
    chosen = np.flatnonzero(scan(data, offsets, "NFC", False, False) & REFORM)
    return reformed(data, offsets, chosen, "NFC") if chosen.size else (data, offsets)


@njit(inline="always")
def _is_control(code):  # type: ignore[no-untyped-def]
    """What strip_control removes. A carriage return is a line ending and never removed."""
    if code < 0x20:
        return code != TAB and code != LINE_FEED and code != RETURN
    return DELETE <= code < NO_BREAK_SPACE or code == BYTE_ORDER_MARK


@njit(inline="always")
def _is_remarkable(word):  # type: ignore[no-untyped-def]
    """Whether one of eight bytes is beyond ASCII or a control character other than tab and line feed."""
    low = word & LOW_BITS
    from_space = low + (HIGH_BITS - SPACES)  # sets the high bit of a byte from 0x20 on; nothing carries over
    not_tab, not_feed = (low ^ TABS) + LOW_BITS, (low ^ LINE_FEEDS) + LOW_BITS
    not_delete = (low ^ LOW_BITS) + LOW_BITS
    return (word | ~not_delete | (~from_space & not_tab & not_feed)) & HIGH_BITS != 0


@njit(cache=True, nogil=True)
def _scan(data, offsets, page_array, cell_array, check_form, newlines, strip_control):  # type: ignore[no-untyped-def]
    text, pages, cells = pointer(data), pointer(page_array), pointer(cell_array)
    out = np.zeros(offsets.size - 1, dtype=np.uint8)
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        flags, last_class = np.uint8(0), 0
        while at < stop:
            start = at
            while at + 8 <= stop and not _is_remarkable(load64(text, at)):
                at += 8
            if at > start:
                last_class = 0
            limit = min(at + 8, stop)
            while at < limit:
                byte = text[at]
                if 0x20 <= byte < DELETE:
                    at += 1
                    last_class = 0
                    continue
                code, size = decode(text, at, stop)
                at += size
                if _is_control(code):
                    if strip_control:
                        flags |= EDIT
                        continue  # it will be gone when the form is judged
                elif code == RETURN and newlines:
                    flags |= EDIT
                if check_form and code >= DELETE:
                    value = lookup(pages, cells, code)
                    if value == NOT_YES or (value and value < last_class):
                        flags |= REFORM
                    last_class = value
                else:
                    last_class = 0
        out[index] = flags
    return out


@njit(cache=True, nogil=True)
def _edit(data, offsets, chosen, newlines, strip_control, out, new_offsets):  # type: ignore[no-untyped-def]
    text = pointer(data)
    size = 0
    for row in range(chosen.size):
        at, stop = offsets[chosen[row]], offsets[chosen[row] + 1]
        while at < stop:
            byte = text[at]
            if byte == RETURN and newlines:
                out[size] = LINE_FEED
                size += 1
                at += 1
                if at < stop and text[at] == LINE_FEED:
                    at += 1
                continue
            step = 1
            if strip_control and (byte < 0x20 or byte == DELETE or byte == 0xC2 or byte == 0xEF):
                code, step = decode(text, at, stop)
                if _is_control(code):
                    at += step
                    continue
            for place in range(step):
                out[size + place] = text[at + place]
            size += step
            at += step
        new_offsets[row + 1] = size


@njit(cache=True, nogil=True)
def _replace(data, offsets, chosen, new_data, new_offsets, out, out_offsets):  # type: ignore[no-untyped-def]
    text, new_text, target = pointer(data), pointer(new_data), pointer(out)
    done = 0
    for row in range(chosen.size):
        index = chosen[row]
        copy_bytes(target, out_offsets[done], text, offsets[done], offsets[index] - offsets[done])
        size = new_offsets[row + 1] - new_offsets[row]
        copy_bytes(target, out_offsets[index], new_text, new_offsets[row], size)
        done = index + 1
    copy_bytes(target, out_offsets[done], text, offsets[done], offsets[offsets.size - 1] - offsets[done])
