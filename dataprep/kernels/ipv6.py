"""The IPv6 address around a colon, as `ipaddress` of Python reads it, if it looks like one in text.

Slow twin: `tests/reference/pii.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.ip_parts import (
    COLON,
    DOT,
    RANGES_V4,
    RANGES_V6,
    goes_on,
    goes_on_before,
    in_ranges,
    octet_at,
    three_more,
)
from dataprep.kernels.spans import ASCII_CELLS, DIGIT, HEX

AT = 0x40
ZERO, ONE, TOP = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, forceinline=True)
def ipv6_at(text, start, done, colon, stop, public_only):  # type: ignore[no-untyped-def]
    """(start, end, whether it is wanted, where to look on) of the IPv6 address whose first colon is
    `colon`; end is 0 if there is none."""
    begin = colon
    while begin > max(done, colon - 5) and ASCII_CELLS[text[begin - 1]] & HEX:
        begin -= 1
    end = colon
    while end < stop and (text[end] == COLON or ASCII_CELLS[text[end]] & HEX):
        end += 1
    beyond = end
    if begin == colon and colon + 1 < end and text[colon + 1] != COLON:
        begin += 1  # `ip:2001:...`
    group = end
    while group > begin and text[group - 1] != COLON:
        group -= 1
    quad, tail = 0, ZERO
    if group > begin and end < stop and text[end] == DOT:
        dot, first = octet_at(text, group, end)
        if dot == end and end > group and not (end > group + 1 and text[group] == 0x30):
            quad, rest, _ = three_more(text, end, stop, True)
            tail = np.uint64(first << 24 | rest)
    if quad:
        end = quad
    elif end > begin + 1 and text[end - 1] == COLON and text[end - 2] != COLON:
        end -= 1  # a colon of the sentence
    if end > begin and text[end - 1] == COLON and end < stop and text[end] == AT:
        return 0, 0, False, beyond  # what stands for it would make an e-mail address
    if goes_on_before(text, start, begin, stop) or goes_on(text, start, end, stop, False):
        return 0, 0, False, beyond
    valid, high, low = _parsed_v6(text, begin, group if quad else end, quad > 0, tail)
    if not valid:
        return 0, 0, False, beyond
    return begin, end, _is_wanted(text, begin, end, high, low, public_only), max(beyond, end)


@njit(inline="always")
def _shifted_in(high, low, value, bits):  # type: ignore[no-untyped-def]
    """128 bits with the lowest `bits` of `value` behind them, as (upper, lower) 64."""
    size = np.uint64(bits)
    return high << size | low >> (np.uint64(64) - size), low << size | value


@njit(cache=True, nogil=True, forceinline=True)
def _parsed_v6(text, begin, end, has_tail, tail):  # type: ignore[no-untyped-def]
    """(whether it is an address, upper and lower 64 bits) of text[begin:end], with an IPv4 `tail` behind it.

    Groups are shifted in; those after `::` are shifted into a second pair.
    """
    high, low, num_groups = ZERO, ZERO, 0
    second_high, second_low, num_second = ZERO, ZERO, -1
    at = begin
    if end - begin >= 2 and text[begin] == COLON and text[begin + 1] == COLON:
        num_second = 0
        at += 2
    while at < end:
        value, digits = ZERO, 0
        while at < end and text[at] != COLON:
            byte = np.uint64(text[at])
            digit = byte - np.uint64(0x30) if byte <= 0x39 else (byte | np.uint64(0x20)) - np.uint64(0x57)
            value = value << np.uint64(4) | digit
            digits += 1
            at += 1
            if digits > 4:
                return False, ZERO, ZERO
        if digits == 0 or num_groups + max(num_second, 0) == 8:
            return False, ZERO, ZERO
        if num_second < 0:
            high, low = _shifted_in(high, low, value, 16)
            num_groups += 1
        else:
            second_high, second_low = _shifted_in(second_high, second_low, value, 16)
            num_second += 1
        if at == end:
            if has_tail:
                return False, ZERO, ZERO
            break
        at += 1
        if at < end and text[at] == COLON:
            if num_second >= 0:
                return False, ZERO, ZERO
            num_second = 0
            at += 1
        elif at == end and not has_tail:
            return False, ZERO, ZERO
    if has_tail:
        if num_second < 0:
            high, low = _shifted_in(high, low, tail, 32)
            num_groups += 2
        else:
            second_high, second_low = _shifted_in(second_high, second_low, tail, 32)
            num_second += 2
    if num_second < 0:
        return num_groups == 8, high, low
    if num_groups + num_second > 7:
        return False, ZERO, ZERO
    bits = np.uint64(16 * (8 - num_groups))
    if bits == 128:
        high, low = ZERO, ZERO
    elif bits >= 64:
        high, low = low << (bits - np.uint64(64)), ZERO
    else:
        high, low = high << bits | low >> (np.uint64(64) - bits), low << bits
    return True, high | second_high, low | second_low


@njit(cache=True, nogil=True, forceinline=True)
def _is_wanted(text, begin, end, high, low, public_only):  # type: ignore[no-untyped-def]
    """Whether a valid IPv6 address is public; or else, if those count too, whether it looks like one.

    `a::b` is an address, and C++; `1970::` is one, and reStructuredText. So a public address has a second
    group, and one that is not public begins as such addresses do (fc00::/7, fe80::/10), holds a decimal
    digit, and does not end in `::`.
    """
    mapped = high == ZERO and low >> np.uint64(32) == np.uint64(0xFFFF)  # ::ffff:a.b.c.d
    translated = high == np.uint64(0x0064FF9B00000000) and low >> np.uint64(32) == ZERO  # 64:ff9b::a.b.c.d
    if mapped or translated:
        return not (public_only and in_ranges(low & TOP, RANGES_V4))
    if high >> np.uint64(61) == ONE:
        if text[begin + 5] == COLON:
            return False
        if not public_only:
            return True
        if high >> np.uint64(48) == np.uint64(0x2002):  # 2002:aabb:ccdd:: holds an IPv4 address
            return not in_ranges(high >> np.uint64(16) & TOP, RANGES_V4)
        return not in_ranges(high, RANGES_V6)
    local = high >> np.uint64(57) == np.uint64(0x7E) or high >> np.uint64(54) == np.uint64(0x3FA)
    if public_only or not local or text[end - 1] == COLON:
        return False
    for place in range(begin, end):  # noqa: SIM110
        if ASCII_CELLS[text[place]] & DIGIT:
            return True
    return False
