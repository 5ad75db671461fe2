"""Where the phone number that begins at some place ends, by three shapes; docs/reference/pii.md spells them
out. A phone number is known by its shape alone. Slow twin: `tests/reference/pii.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.number_bounds import (
    DOT,
    HYPHEN,
    PLUS,
    SLASH,
    SPACE,
    TILDE,
    begins_here,
    digits_end,
    ends_here,
    is_ipv6_tail,
)
from dataprep.kernels.spans import ASCII_CELLS, DIGIT, WORD, is_a

OPEN, CLOSE = 0x28, 0x29


@njit(inline="always")
def _is_phone_space(byte):  # type: ignore[no-untyped-def]
    return byte in (SPACE, HYPHEN, DOT)


@njit(cache=True, nogil=True, forceinline=True)
def international_end(text, start, plus, stop):  # type: ignore[no-untyped-def]
    """`+`, a country code and groups of digits: 8 to 15 in all (10, in one group), as many groups as fit."""
    at = plus + 1
    if not begins_here(text, start, plus) or not is_a(text, at, start, stop, DIGIT) or text[at] == 0x30:
        return 0
    end = digits_end(text, at, stop, 15)
    num_digits, best, least = end - at, 0, 10
    if num_digits <= 3:
        # one group in parentheses may come after the country code
        at = end + 1 if end < stop and _is_phone_space(text[end]) else end
        if at < stop and text[at] == OPEN:
            close = digits_end(text, at + 1, stop, 5)
            if at + 1 < close <= at + 6 and close < stop and text[close] == CLOSE:
                num_digits += close - at - 1
                at = close + 1
                if at < stop and _is_phone_space(text[at]):
                    at += 1
                group = digits_end(text, at, stop, 15)
                if group == at:
                    return 0
                num_digits += group - at
                end, least = group, 8
    while num_digits <= 15:
        if num_digits >= least and _group_ends_here(text, start, end, stop):
            best = end
        if end == stop or not _is_phone_space(text[end]) or not is_a(text, end + 1, start, stop, DIGIT):
            break
        group = digits_end(text, end + 1, stop, 15)
        num_digits += group - end - 1
        end, least = group, 8
    return best


@njit(cache=True, nogil=True, forceinline=True)
def _group_ends_here(text, start, end, stop):  # type: ignore[no-untyped-def]
    """Looser than `ends_here`, since a number that has begun with `+` is one whatever follows."""
    if end == stop:
        return True
    byte = text[end]
    if byte in (DOT, HYPHEN, PLUS, TILDE):
        return not is_a(text, end + 1, start, stop, DIGIT)
    return not (ASCII_CELLS[byte] & WORD or is_ipv6_tail(text, start, end, stop))


@njit(cache=True, nogil=True, forceinline=True)
def national_end(text, start, done, at, stop):  # type: ignore[no-untyped-def]
    if not begins_here(text, start, at) and not (at == done and text[at] == OPEN):
        return 0
    end = _north_american_end(text, start, at, stop)
    return end if end else _trunk_end(text, start, done, at, stop)


@njit(cache=True, nogil=True, forceinline=True)
def _north_american_end(text, start, at, stop):  # type: ignore[no-untyped-def]
    """(NXX) NXX-XXXX, NXX-NXX-XXXX, NXX.NXX.XXXX, also after `1` and a separator; N is 2 to 9."""
    if text[at] == 0x31 and at + 1 < stop and _is_phone_space(text[at + 1]):
        at += 2
    in_parentheses = at < stop and text[at] == OPEN
    at += in_parentheses
    if not _is_exchange(text, at, stop):
        return 0
    at += 3
    separator = HYPHEN
    if in_parentheses:
        if at == stop or text[at] != CLOSE:
            return 0
        at += 1
        if at < stop and text[at] == SPACE:
            at += 1
    else:
        if at == stop or not (text[at] == HYPHEN or text[at] == DOT):
            return 0
        separator = np.int64(text[at])
        at += 1
    if not _is_exchange(text, at, stop) or at + 3 == stop or text[at + 3] != separator:
        return 0
    end = digits_end(text, at + 4, stop, 4)
    return end if end == at + 8 and ends_here(text, start, end, stop) else 0


@njit(cache=True, nogil=True, forceinline=True)
def _is_exchange(text, at, stop):  # type: ignore[no-untyped-def]
    return digits_end(text, at, stop, 3) == at + 3 and text[at] >= 0x32


@njit(cache=True, nogil=True, forceinline=True)
def _trunk_end(text, start, done, at, stop):  # type: ignore[no-untyped-def]
    """`0`, a digit that is not 0, and more: 9 to 11 digits in 2 to 5 groups of 2 to 8, with one separator.

    Five digits, a hyphen and four are a postal code of the United States; 1 073 741 824 is one number, if no
    phone number ends at `done`, before it.
    """
    if at - 1 > done and text[at - 1] == SPACE and is_a(text, at - 2, start, stop, DIGIT):
        return 0
    in_parentheses = text[at] == OPEN
    at += in_parentheses
    if not is_a(text, at, start, stop, DIGIT) or text[at] != 0x30:
        return 0
    end = digits_end(text, at, stop, 6)
    num_digits, groups, best, separator = end - at, 1, 0, 0
    if num_digits < 2 or num_digits > 6 or text[at + 1] == 0x30:
        return 0
    if in_parentheses:
        if end == stop or text[end] != CLOSE:
            return 0
        end += 1
    while groups < 5:
        group = end
        if groups == 1 and in_parentheses:
            if group < stop and text[group] == SPACE:
                group += 1
        else:
            if group == stop:
                break
            byte = np.int64(text[group])
            if separator == 0 and (_is_phone_space(byte) or byte == SLASH):
                separator = byte
            if byte != separator:
                break
            group += 1
        end = digits_end(text, group, stop, 8)
        length = end - group
        num_digits += length
        groups += 1
        if length < 2 or length > 8 or num_digits > 11:
            break
        is_postal_code = groups == 2 and length == 4 and num_digits == 9 and separator == HYPHEN
        if num_digits >= 9 and not is_postal_code and ends_here(text, start, end, stop):
            best = end
    return best
