"""The rules of `kernels/words.py`, one function each, over pointers (see `utf8.pointer`).

`before` and `after` are classes of the characters next to one; OTHER where nothing stands.
"""

from __future__ import annotations

from numba import njit

from dataprep.kernels.characters import (
    ANGLE,
    APOSTROPHE,
    CARET,
    CLASS,
    COLON,
    COMMA,
    CURRENCY,
    DASH,
    DIGIT,
    ELLIPSIS,
    EQUALS,
    FULL_STOP,
    HYPHEN,
    ICON,
    LOWER,
    MARK,
    OTHER,
    OUTER,
    PERCENT,
    PLUS,
    QUOTE,
    SLASH,
    SPACELESS,
    STAR,
    UPPER,
)
from dataprep.kernels.utf8 import decode, lookup


@njit(inline="always")
def _is_letter(kind):  # type: ignore[no-untyped-def]
    return UPPER <= kind <= SPACELESS


@njit(inline="always")
def _is_letter_or_digit(kind):  # type: ignore[no-untyped-def]
    return UPPER <= kind <= DIGIT


@njit(inline="always")
def _is_quote(kind):  # type: ignore[no-untyped-def]
    return kind in (QUOTE, APOSTROPHE)


@njit(cache=True, nogil=True, forceinline=True)
def class_at(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """(class, bytes) of the character at `at`; (OTHER, 0) at `stop`, where nothing stands."""
    if at >= stop:
        return OTHER, 0
    code, size = decode(text, at, stop)
    return lookup(pages, cells, code) & CLASS, size


@njit(cache=True, nogil=True, forceinline=True)
def start_before(text, at, first):  # type: ignore[no-untyped-def]
    """First byte of the character that ends before `at`, not before `first`."""
    at -= 1
    while at > first and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


@njit(cache=True, nogil=True, forceinline=True)
def full_stops(text, at, stop):  # type: ignore[no-untyped-def]
    """How many full stops stand from `at` on."""
    end = at
    while end < stop and text[end] == 0x2E:
        end += 1
    return end - at


@njit(cache=True, nogil=True)
def front_word(text, at, stop, pages, cells):  # type: ignore[no-untyped-def]
    """Bytes of the word that rule 1 cuts off at `at`, or 0."""
    kind, size = class_at(text, at, stop, pages, cells)
    if kind >= OUTER or kind in (CURRENCY, EQUALS, PERCENT):
        return size
    if kind == PLUS:
        return 0 if class_at(text, at + 1, stop, pages, cells)[0] == DIGIT else size
    if kind == FULL_STOP:
        run = full_stops(text, at, stop)
        return run if run >= 2 else 0
    return 0


@njit(cache=True, nogil=True)
def contraction(text, first, stop, pages, cells):  # type: ignore[no-untyped-def]
    """Bytes of the contraction that ends at `stop` and does not begin at `first`, or 0."""
    if stop - first < 3:
        return 0
    last, before = text[stop - 1] | 0x20, text[stop - 2] | 0x20
    letters = 0
    if last == 0x73 or last == 0x64 or last == 0x6D or last == 0x74:  # s d m t
        letters = 1
    if (last == 0x6C and before == 0x6C) or (last == 0x65 and (before == 0x72 or before == 0x76)):  # ll re ve
        letters = 2
    if letters == 0:
        return 0
    start = start_before(text, stop - letters, first)
    if start <= first or class_at(text, start, stop, pages, cells)[0] != APOSTROPHE:
        return 0
    if last == 0x74:
        start -= 1
        if text[start] | 0x20 != 0x6E or start <= first:  # n
            return 0
    return stop - start


@njit(cache=True, nogil=True)
def back_word(text, first, stop, pages, cells):  # type: ignore[no-untyped-def]
    """Bytes of the word that rule 2 cuts off at the end of text[first:stop], not empty, or 0."""
    at = start_before(text, stop, first)
    kind, size = class_at(text, at, stop, pages, cells)
    if kind >= OUTER:
        return size
    if kind <= DIGIT:
        return contraction(text, first, stop, pages, cells)
    before_at = start_before(text, at, first)
    before = class_at(text, before_at, at, pages, cells)[0] if at > first else OTHER
    if kind in (PLUS, CURRENCY, PERCENT):
        return size if before == DIGIT else 0
    if kind != FULL_STOP:
        return 0
    if before == FULL_STOP:
        while at > first and text[at - 1] == 0x2E:
            at -= 1
        return stop - at
    if before == UPPER:
        if before_at == first:
            return 0  # an initial; what stands before the chunk is none of its business
        two_before = start_before(text, before_at, first)
        return 1 if class_at(text, two_before, before_at, pages, cells)[0] == UPPER else 0
    return 0 if before in (OTHER, CURRENCY) or EQUALS <= before <= CARET else 1


@njit(cache=True, nogil=True)
def is_address(text, first, stop, pages, cells):  # type: ignore[no-untyped-def]
    """[scheme "://"] [anything "@"] labels joined by "." [":" 2 to 5 digits] [one of "/?#" and anything].

    scheme  two or more of letter, digit, "+", "-", "."
    labels  at least two, none empty, of letters, digits, "-", "_"; the last has two or more letters, no
            capital
    """
    at = first
    while at < stop and text[at] != 0x2E:
        at += 1
    if at == stop:
        return False  # most chunks: no full stop, no address
    at = first
    while at < stop:  # the scheme
        kind, size = class_at(text, at, stop, pages, cells)
        if not (_is_letter_or_digit(kind) or kind in (PLUS, FULL_STOP) or text[at] == 45):
            break
        at += size
    if (
        at - first >= 2
        and at + 2 < stop
        and text[at] == 0x3A
        and text[at + 1] == 0x2F
        and text[at + 2] == 0x2F
    ):
        first = at + 3
    at = first
    while at < stop and text[at] != 0x2F and text[at] != 0x3F and text[at] != 0x23:  # up to the path
        if text[at] == 0x40:
            first = at + 1
        at += 1
    path = at
    at, label, dots, top = first, 0, 0, True
    while at < path and text[at] != 0x3A:
        kind, size = class_at(text, at, path, pages, cells)
        if kind == FULL_STOP:
            if label == 0:
                return False
            label, dots, top = 0, dots + 1, True
        elif _is_letter_or_digit(kind) or text[at] == 0x2D or text[at] == 0x5F:
            label += 1
            top = top and LOWER <= kind <= SPACELESS
        else:
            return False
        at += size
    if dots == 0 or label < 2 or not top:
        return False
    if at == path:
        return True
    digits = at + 1
    while digits < path and 0x30 <= text[digits] <= 0x39:
        digits += 1
    return digits == path and 2 <= digits - at - 1 <= 5


@njit(cache=True, nogil=True)
def cut(text, at, stop, before, pages, cells):  # type: ignore[no-untyped-def]
    """Bytes of the word that rule 3 makes of the mark at `at`, or 0. `before`: class of the character
    before."""
    kind, size = class_at(text, at, stop, pages, cells)
    if kind <= OTHER or kind in (OUTER, QUOTE, APOSTROPHE):
        return 0
    if kind in (ICON, ELLIPSIS):
        return size
    after = class_at(text, at + size, stop, pages, cells)[0]
    if kind == FULL_STOP:
        run = full_stops(text, at, stop)
        if run >= 2:
            return run
        small = LOWER <= before <= SPACELESS or _is_quote(before)
        great = (_is_letter(after) and after != LOWER and after != MARK) or _is_quote(after)
        return 1 if small and great else 0
    if kind in (HYPHEN, DASH):
        if _is_letter_or_digit(before):
            end = at + size
            for _ in range(2):  # the same character up to twice more
                same = end + size <= stop
                for place in range(size):
                    same = same and text[end + place] == text[at + place]
                if same:
                    end += size
            if _is_letter(class_at(text, end, stop, pages, cells)[0]):
                return end - at
    elif kind == COMMA:
        return size if _is_letter(before) and _is_letter(after) else 0
    elif kind in (COLON, ANGLE, EQUALS, SLASH):
        return size if _is_letter_or_digit(before) and _is_letter(after) else 0
    if kind in (HYPHEN, PLUS, STAR, CARET):
        return size if before == DIGIT and (after in (DIGIT, HYPHEN)) else 0
    return 0
