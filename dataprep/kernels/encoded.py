"""Data written out in source code: what three regular expressions of StarCoder 2 match, in linear time.

Each function returns (characters in all matches, characters of the longest), over pointers. The expressions
are in `kernels/code.py`. They never backtrack: the next character says how a match goes on.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.cuts import start_before
from dataprep.kernels.linebreaks import find_byte
from dataprep.kernels.marks import ALPHANUMERIC, properties_at, skip_white

BASE64_RUN, UNITS = 64, 8

OPEN, X, HEX = 1, 2, 4
"""What a byte may be in a run of hexadecimal bytes: no letter, digit or underscore (or beyond ASCII); x; a
hexadecimal digit."""


def _byte_kinds():  # type: ignore[no-untyped-def]
    kinds = np.full(256, OPEN, dtype=np.uint8)
    for byte in b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_":
        kinds[byte] = 0
    kinds[list(b"0123456789abcdefABCDEF")] = HEX
    kinds[ord("x")] = X
    return kinds


KINDS = _byte_kinds()
BASE64 = np.zeros(256, dtype=np.uint8)
BASE64[list(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/\n=")] = 1
ZERO, A, BIT, SMALL_X = np.uint8(0x30), np.uint8(0x61), np.uint8(0x20), np.uint8(0x78)
TEN, SIX, LETTERS = np.uint8(10), np.uint8(6), np.uint8(26)


@njit(cache=True, nogil=True)
def base64_runs(text, start, stop):  # type: ignore[no-untyped-def]
    """Looks at every 32nd byte: a run of 64 holds at least two of these."""
    total, longest, at = 0, 0, start + 31
    done = start  # nothing before belongs to a later run
    while at < stop:
        if not BASE64[text[at]]:
            done = at + 1
            at += 32
            continue
        first = at
        while first > done and BASE64[text[first - 1]]:
            first -= 1
        end = at + 1
        while end < stop and BASE64[text[end]]:
            end += 1
        if end - first >= BASE64_RUN:
            total += end - first
            longest = max(longest, end - first)
        done = end
        at = end + 31
    return total, longest


@njit(cache=True, nogil=True)
def unicode_runs(text, start, stop):  # type: ignore[no-untyped-def]
    total, longest, at = 0, 0, start
    while at < stop:
        at = find_byte(text, at, stop, 0x5C)
        end = at
        while end + 6 <= stop and text[end] == 0x5C and text[end + 1] == 0x75:
            same = True
            for place in range(end + 2, end + 6):
                same = same and KINDS[text[place]] == HEX
            if not same:
                break
            end += 6
        if end - at >= 6 * UNITS:
            total += end - at
            longest = max(longest, end - at)
        at = max(end, at + 1)
    return total, longest


@njit(cache=True, nogil=True)
def _is_word(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """Whether the character at `at` is one of \\w; at `stop` none is."""
    if at >= stop:
        return False
    if text[at] < 0x80:
        return KINDS[text[at]] != OPEN
    return properties_at(text, at, stop, pages, cells)[0] & ALPHANUMERIC != 0


@njit(cache=True, nogil=True)
def _word_before(text, at, start, pages, cells):  # type: ignore[no-untyped-def]
    """Whether the character before `at` is one of \\w; before `start` none is."""
    if at <= start:
        return False
    return _is_word(text, start_before(text, at, start), at, pages, cells)


@njit(cache=True, nogil=True)
def _hex_unit(text, at, start, stop, pages, cells):  # type: ignore[no-untyped-def]
    """End of one hexadecimal byte at `at` with what parts it from the next, or `at`."""
    if _word_before(text, at, start, pages, cells) == _is_word(text, at, stop, pages, cells):
        return at
    end = at
    if end + 2 <= stop and text[end + 1] == 0x78 and (text[end] == 0x30 or text[end] == 0x5C):
        end += 2
    if end + 2 > stop or KINDS[text[end]] != HEX or KINDS[text[end + 1]] != HEX:
        return at
    end += 2
    if end < stop and text[end] == 0x2C:
        return end + 1
    if _is_word(text, end, stop, pages, cells):
        return at
    return skip_white(text, end, stop, pages, cells)


@njit(cache=True, nogil=True)
def _block_may_hold(text, at):  # type: ignore[no-untyped-def]
    """Whether `_next_pair` may find something in the 64 places from `at` on; all at once."""
    found = False
    for place in range(at, at + 64):
        before, after = text[place - 1], text[place + 2]
        one, two = text[place], text[place + 1]
        hexes = (np.uint8(one - ZERO) < TEN) | (np.uint8((one | BIT) - A) < SIX)
        hexes &= (np.uint8(two - ZERO) < TEN) | (np.uint8((two | BIT) - A) < SIX)
        closed = (np.uint8(after - ZERO) < TEN) | (np.uint8((after | BIT) - A) < LETTERS)
        opened = (np.uint8(before - ZERO) >= TEN) & (np.uint8((before | BIT) - A) >= LETTERS)
        found |= hexes & (not closed) & (opened | (before == SMALL_X))
    return found


@njit(cache=True, nogil=True)
def _next_pair(text, at, start, stop):  # type: ignore[no-untyped-def]
    """The first place from `at` on of two hexadecimal digits that a character after them, and x or one before
    them, part from other letters and digits; `stop` if there is none. Underscores and what is beyond ASCII
    are not looked at closely."""
    while at + 1 < stop:
        if at > start and at + 66 <= stop and not _block_may_hold(text, at):
            at += 64
            continue
        for place in range(at, min(at + 64, stop - 1)):
            if KINDS[text[place]] != HEX or KINDS[text[place + 1]] != HEX:
                continue
            if place + 2 < stop and KINDS[text[place + 2]] != OPEN:
                continue
            if place == start or KINDS[text[place - 1]] & (OPEN | X):
                return place
        at += 64
    return stop


@njit(cache=True, nogil=True)
def hex_runs(text, start, stop, pages, cells):  # type: ignore[no-untyped-def]
    """Looks for two digits that may be the first byte of a run, then closely."""
    total, longest, at = 0, 0, start
    while True:
        at = _next_pair(text, at, start, stop)
        if at == stop:
            break
        first = at
        if at - start >= 2 and text[at - 1] == 0x78:
            first -= 2
        end, units = first, 0
        while end < stop:
            after = _hex_unit(text, end, start, stop, pages, cells)
            if after == end:
                break
            units += 1
            end = after
        if units >= UNITS:
            length = 0
            for place in range(first, end):
                length += text[place] & 0xC0 != 0x80
            total += length
            longest = max(longest, length)
        at = max(end, at + 1)
    return total, longest
