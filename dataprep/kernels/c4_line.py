"""What `kernels/c4.py` asks of one line: its words, its end, and a copy without citations. Over pointers."""

from __future__ import annotations

from numba import njit

from dataprep.kernels.linebreaks import find_byte
from dataprep.kernels.marks import DECIMAL, is_ascii_white, properties_at, skip_black, skip_white
from dataprep.kernels.utf8 import copy_bytes


@njit(cache=True, nogil=True)
def _citation(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """Bytes of the citation that begins with the "[" at `at`, or 0."""
    start = at
    at += 1
    for word in (b"edit]", b"citation needed]"):
        if at + len(word) <= stop and text[at] == word[0]:
            same = True
            for place in range(len(word)):
                same = same and text[at + place] == word[place]
            if same:
                return 1 + len(word)
    while at < stop:
        if text[at] == 0x5D:
            return at + 1 - start
        properties, size = properties_at(text, at, stop, pages, cells)
        if not properties & DECIMAL:
            return 0
        at += size
    return 0


@njit(cache=True, nogil=True)
def copied(text, start, stop, out, place, pages, cells):  # type: ignore[no-untyped-def]
    """Copies text[start:stop] without citations to out[place]; the end of what it wrote."""
    at = start
    while at < stop:
        at = find_byte(text, at, stop, 0x5B)
        size = _citation(text, at, stop, pages, cells) if at < stop else 0
        if size:
            copy_bytes(out, place, text, start, at - start)
            place += at - start
            start = at = at + size
        else:
            at += 1
    copy_bytes(out, place, text, start, stop - start)
    return place + stop - start


@njit(cache=True, nogil=True)
def _space_before(text, at, start):  # type: ignore[no-untyped-def]
    """The last ASCII white space before `at`, or -1 if there is none from `start` on."""
    at -= 1
    while at >= start and not is_ascii_white(text[at]):
        at -= 1
    return at if at >= start else -1


@njit(cache=True, nogil=True)
def words_fit(text, start, stop, min_words, max_length, pages, cells):  # type: ignore[no-untyped-def]
    """Whether text[start:stop], stripped, has enough words and no overlong one; looks no further than that
    takes."""
    words, at = 0, start
    lengths_matter = 0 <= max_length < stop - start
    while at < stop and (lengths_matter or words < min_words):
        if words >= min_words:
            if stop - at <= max_length:
                break
            space = _space_before(text, at + max_length + 1, at)
            if space >= 0:  # no word before it is overlong
                at = skip_white(text, space, stop, pages, cells)
                continue
        end = skip_black(text, at, stop, pages, cells)
        if 0 <= max_length < end - at:
            length = 0
            for place in range(at, end):
                length += text[place] & 0xC0 != 0x80
            if length > max_length:
                return False
        words += 1
        at = skip_white(text, end, stop, pages, cells)
    return words >= min_words


@njit(inline="always")
def ends_sentence(text, start, stop):  # type: ignore[no-untyped-def]
    """Whether text[start:stop] ends with . ? ! " ' and not with "..."."""
    if stop == start:
        return False
    last = text[stop - 1]
    if last == 0x2E:
        return stop - start < 3 or text[stop - 2] != 0x2E or text[stop - 3] != 0x2E
    return last == 0x3F or last == 0x21 or last == 0x22 or last == 0x27
