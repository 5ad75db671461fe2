"""Where e-mail addresses stand in texts, by two grammars; docs/reference/pii.md spells them out.

`headrace` (ours): `local@domain` in ASCII. The local part is runs of letters, digits and `_%+'-` joined by
single dots; it begins with a letter, digit or underscore that has none before it. The domain is two or more
labels, the last of letters alone, or `xn--...`; or an IPv4 address in brackets. `@domain` and `.local@domain`
may follow, so that what stands side by side is one and replacing it makes nothing new. The accounts `git`,
`hg` and `svn` are nobody.
`datatrove`: exactly what the expression of datatrove 0.10.1's PIIFormatter matches, oddities included.

Every `@` is looked at once, and what is read around one lies between its neighbours: the time is linear,
which a backtracking expression is not. Slow twin: `tests/reference/pii.py`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.linebreaks import find_byte
from dataprep.kernels.spans import (
    ALNUM,
    ASCII_CELLS,
    DIGIT,
    LETTER,
    WORD,
    Spans,
    is_a,
    run_end,
    with_room,
)
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.unicode import Table, populated, spread
from dataprep.kernels.utf8 import decode, lookup, pointer, read_only

AT, DOT, HYPHEN, COLON, OPEN, CLOSE = 0x40, 0x2E, 0x2D, 0x3A, 0x5B, 0x5D
OURS, THEIRS = 1, 2
NO_TABLE = (np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.uint8))


def _local_cells() -> npt.NDArray[np.uint8]:
    cells = np.where(ASCII_CELLS & WORD, OURS | THEIRS, 0).astype(np.uint8)
    cells[[*b"%+'-"]] |= OURS
    cells[[*b"!#$%&'*+/=?^_`{|}~-"]] |= THEIRS
    return cells


LOCAL_CELLS = _local_cells()


@lru_cache(maxsize=1)
def word_table() -> Table:
    r"""1 for what `\w` of Python's `re` matches: `str.isalnum` and the underscore."""
    characters = populated()
    values = np.fromiter(
        (character.isalnum() or character == "_" for character in characters),
        dtype=np.uint8,
        count=len(characters),
    )
    return spread(values, default=0)


UNICODE_VERSION = unicodedata.unidata_version
"""What `word_table` depends on."""


def emails(data: Bytes, offsets: Offsets, datatrove: bool) -> Spans:
    """int64[k, 4]: (text, start, end, 0) of each address."""
    pages, cells = word_table() if datatrove else NO_TABLE
    return _emails(read_only(data), read_only(offsets), datatrove, read_only(pages), read_only(cells))


@njit(cache=True, nogil=True)
def _emails(data, offsets, datatrove, page_array, cell_array):  # type: ignore[no-untyped-def]
    text, pages, cells = pointer(data), pointer(page_array), pointer(cell_array)
    spans, count = np.empty((64, 4), dtype=np.int64), 0
    for index in range(offsets.size - 1):
        start, stop = offsets[index], offsets[index + 1]
        done, at = start, start
        while True:
            at = find_byte(text, at, stop, AT)
            if at == stop:
                break
            end = 0
            if datatrove:
                begin = _their_begin(text, start, done, at, pages, cells)
                if begin < at:
                    end = _their_domain_end(text, at + 1, stop)
            else:
                begin = _our_begin(text, start, done, at)
                if begin < at:
                    end = _our_domain_end(text, at + 1, stop)
                    more = end
                    while more and more < stop and text[more] == AT:
                        more = _our_domain_end(text, more + 1, stop)
                        end = max(end, more)
            if end:
                if datatrove or done == start or begin != done + 1 or text[done] != DOT:
                    spans = with_room(spans, count)
                    spans[count, 0], spans[count, 1], spans[count, 3] = index, begin, 0
                    count += 1
                spans[count - 1, 2] = end  # what a dot joins to the address before it is one with it
                at = done = end
            else:
                at += 1
    return spans[:count].copy() if datatrove else _of_people(text, offsets, spans[:count])


@njit(cache=True, nogil=True, forceinline=True)
def _of_people(text, offsets, spans):  # type: ignore[no-untyped-def]
    """The spans but for the accounts of version control that stand alone, as in `git@example.org:a/b.git`.

    No byte before one may be part of an address: it would become a longer one by the replacement of its
    neighbour.
    """
    count = 0
    for row in range(spans.shape[0]):
        start, begin, end = offsets[spans[row, 0]], spans[row, 1], spans[row, 2]
        at = find_byte(text, begin, end, AT)
        is_account = find_byte(text, at + 1, end, AT) == end and (
            begin == start or not (LOCAL_CELLS[text[begin - 1]] & OURS or text[begin - 1] == DOT)
        )
        if is_account and at == begin + 2:
            is_account = text[begin] == 0x68 and text[begin + 1] == 0x67  # hg
        elif is_account and at == begin + 3:
            first, second, third = text[begin], text[begin + 1], text[begin + 2]
            is_git = first == 0x67 and second == 0x69 and third == 0x74
            is_account = is_git or (first == 0x73 and second == 0x76 and third == 0x6E)  # svn
        else:
            is_account = False
        if not is_account:
            spans[count] = spans[row]
            count += 1
    return spans[:count].copy()


@njit(cache=True, nogil=True, forceinline=True)
def _local_start(text, done, at, whose):  # type: ignore[no-untyped-def]
    """The first byte of the longest dot-joined local part that ends before `at`; `at` if there is none."""
    begin = at
    while begin > done:
        byte = text[begin - 1]
        if LOCAL_CELLS[byte] & whose:
            begin -= 1
        elif byte == DOT and begin < at and begin - 1 > done and LOCAL_CELLS[text[begin - 2]] & whose:
            begin -= 1  # the next turn takes what is before the dot
        else:
            break
    return begin


@njit(cache=True, nogil=True, forceinline=True)
def _our_begin(text, start, done, at):  # type: ignore[no-untyped-def]
    begin = _local_start(text, done, at, OURS)
    while begin < at and (not ASCII_CELLS[text[begin]] & WORD or is_a(text, begin - 1, start, at, WORD)):
        begin += 1
    return begin


@njit(cache=True, nogil=True, forceinline=True)
def _their_begin(text, start, done, at, pages, cells):  # type: ignore[no-untyped-def]
    r"""The first `\b` in the local part."""
    begin = _local_start(text, done, at, THEIRS)
    before = False
    if begin > start:
        place = begin - 1
        while place > start and text[place] & 0xC0 == 0x80:
            place -= 1
        code, _ = decode(text, place, at)
        before = lookup(pages, cells, code) != 0
    while begin < at:
        here = ASCII_CELLS[text[begin]] & WORD != 0
        if here != before and text[begin] != DOT:
            break
        before = here
        begin += 1
    return begin


@njit(cache=True, nogil=True, forceinline=True)
def _label(text, at, stop):  # type: ignore[no-untyped-def]
    """(end of the label at `at`, end of the run of letters, digits and hyphens that holds it)."""
    end = at
    while at < stop:
        if ASCII_CELLS[text[at]] & ALNUM:
            at += 1
            end = at
        elif text[at] == HYPHEN:
            at += 1
        else:
            break
    return end, at


@njit(cache=True, nogil=True, forceinline=True)
def _our_domain_end(text, at, stop):  # type: ignore[no-untyped-def]
    """Where the domain that begins at `at` ends, 0 if there is none."""
    if at < stop and text[at] == OPEN:
        end = _quad_end(text, at + 1, stop, 4)
        if end == 0 or end == stop or text[end] != CLOSE:
            return 0
        end = after = end + 1
        while after < stop and (LOCAL_CELLS[text[after]] & OURS or text[after] == DOT):
            after += 1  # what would be one with an address in its place
            end = after if ASCII_CELLS[text[after - 1]] & WORD else end
        return end
    best, labels = 0, 0
    while is_a(text, at, at, stop, ALNUM):
        end, run = _label(text, at, stop)
        labels += 1
        if labels > 1 and _is_top_level(text, at, end):
            best = end
        if end < run or run == stop or text[run] != DOT:
            break
        at = run + 1
    return best


@njit(cache=True, nogil=True, forceinline=True)
def _is_top_level(text, start, end):  # type: ignore[no-untyped-def]
    if run_end(text, start, end, LETTER) == end:
        return end - start >= 2
    return (
        end - start > 4
        and text[start] | 0x20 == 0x78
        and text[start + 1] | 0x20 == 0x6E
        and text[start + 2] == HYPHEN
        and text[start + 3] == HYPHEN
    )


@njit(cache=True, nogil=True, forceinline=True)
def _their_domain_end(text, at, stop):  # type: ignore[no-untyped-def]
    if at < stop and text[at] == OPEN:
        end = _quad_end(text, at + 1, stop, 4)
        if end == 0 or end == stop or text[end] != CLOSE:
            end = _quad_end(text, at + 1, stop, 3)
            if end == 0:
                return 0
            last, end = _label(text, end, stop)
            if last < end or end == stop or text[end] != COLON or not is_a(text, last - 1, at, stop, ALNUM):
                return 0
            end += 1
        return end + 1 if end < stop and text[end] == CLOSE else 0
    best, labels = 0, 0
    while is_a(text, at, at, stop, ALNUM):
        end, run = _label(text, at, stop)
        labels += 1
        if labels > 1:
            best = end
        if end < run or run == stop or text[run] != DOT:
            break
        at = run + 1
    return best


@njit(cache=True, nogil=True, forceinline=True)
def _quad_end(text, at, stop, num_octets):  # type: ignore[no-untyped-def]
    """Where `num_octets` numbers up to 255 of one to three digits end; a dot follows each, but the fourth."""
    for octet in range(num_octets):
        end = run_end(text, at, min(stop, at + 4), DIGIT)
        if end == at or end > at + 3:
            return 0
        value = 0
        for place in range(at, end):
            value = value * 10 + text[place] - 0x30
        if value > 255:
            return 0
        at = end
        if octet < 3:
            if at == stop or text[at] != DOT:
                return 0
            at += 1
    return at
