"""Where IP addresses stand in texts, by two grammars; docs/reference/pii.md spells them out.

`headrace` (ours): IPv4 and IPv6 as `ipaddress` of Python reads them, between boundaries that version numbers,
times, hardware addresses and C++ names do not pass. `datatrove`: the IPv4 addresses that PIIFormatter of
datatrove 0.10.1 replaces, which may stand inside longer numbers.

Which addresses are public is a table of this file, not the interpreter's, whose lists differ from version to
version. Slow twin: `tests/reference/pii.py`.
"""

from __future__ import annotations

import ipaddress

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.spans import (
    ALNUM,
    ASCII_CELLS,
    DIGIT,
    EACH,
    HEX,
    LETTER,
    WORD,
    Spans,
    equal_bytes,
    is_a,
    run_end,
    with_room,
)
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import load64, pointer, read_only, trailing_zeros

IPV4, IPV6 = 0, 1
"""Kinds of spans."""

NOT_PUBLIC_V4 = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "240.0.0.0/4",
)  # fmt: skip
NOT_PUBLIC_V6 = ("2001::/23", "2001:db8::/32", "3fff::/20")
"""Networks that the special-purpose registries of IANA call not globally reachable (as of 2025), those of
IPv6 inside 2000::/3: outside of it nothing is assigned to the public. The few anycast services in
192.0.0.0/24 and 2001::/23 that are reachable name nobody."""

DOT, COLON, HYPHEN, PLUS, TILDE = 0x2E, 0x3A, 0x2D, 0x2B, 0x7E
DOTS, COLONS = EACH * np.uint64(DOT), EACH * np.uint64(COLON)
ZERO, ONE, TOP = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFF)


def _ranges(networks: tuple[str, ...], shift: int) -> npt.NDArray[np.uint64]:
    """uint64[n, 2]: first and last address of each network, `shift` low bits left out."""
    parsed = map(ipaddress.ip_network, networks)
    return np.array([[int(each[0]) >> shift, int(each[-1]) >> shift] for each in parsed], dtype=np.uint64)


RANGES_V4, RANGES_V6 = _ranges(NOT_PUBLIC_V4, 0), _ranges(NOT_PUBLIC_V6, 64)


def addresses(data: Bytes, offsets: Offsets, datatrove: bool, public_only: bool) -> Spans:
    """int64[k, 4]: (text, start, end, IPV4 or IPV6) of each address, those that are not public left out if
    `public_only`. IPv6 is no part of the grammar of datatrove."""
    if datatrove:
        return _their_addresses(read_only(data), read_only(offsets), public_only)
    return _our_addresses(read_only(data), read_only(offsets), public_only)


@njit(cache=True, nogil=True, forceinline=True)
def _in_ranges(value, ranges):  # type: ignore[no-untyped-def]
    for row in range(ranges.shape[0]):  # noqa: SIM110
        if ranges[row, 0] <= value <= ranges[row, 1]:
            return True
    return False


@njit(cache=True, nogil=True, forceinline=True)
def _next_dot_or_colon(text, at, stop):  # type: ignore[no-untyped-def]
    while at + 8 <= stop:
        word = load64(text, at)
        found = equal_bytes(word, DOTS) | equal_bytes(word, COLONS)
        if found:
            return at + (trailing_zeros(found) >> 3)
        at += 8
    while at < stop and text[at] != DOT and text[at] != COLON:
        at += 1
    return at


@njit(cache=True, nogil=True, forceinline=True)
def _octet(text, at, stop):  # type: ignore[no-untyped-def]
    """(end, value) of the longest number up to 255, of one to three digits, at `at`; (`at`, 0) for none."""
    value, end = 0, at
    while end < stop and end < at + 3 and ASCII_CELLS[text[end]] & DIGIT:
        longer = value * 10 + (np.int64(text[end]) - 0x30)
        if longer > 255:
            break
        value = longer
        end += 1
    return end, value


@njit(cache=True, nogil=True, forceinline=True)
def _three_more(text, dot, stop, strict):  # type: ignore[no-untyped-def]
    """(end, value, whether a number has a leading zero) of `.n.n.n` at `dot`; end is 0 if there is none.

    `strict` wants no digit after it, and no leading zero.
    """
    value, zeros, at = 0, False, dot
    for number in range(3):
        if at >= stop or text[at] != DOT:
            return 0, 0, False
        end, octet = _octet(text, at + 1, stop)
        if end == at + 1:
            return 0, 0, False
        zeros |= end > at + 2 and text[at + 1] == 0x30
        if (number < 2 or strict) and is_a(text, end, at, stop, DIGIT):
            return 0, 0, False
        value = value << 8 | octet
        at = end
    if strict and zeros:
        return 0, 0, False
    return at, value, zeros


@njit(cache=True, nogil=True)
def _their_addresses(data, offsets, public_only):  # type: ignore[no-untyped-def]
    """The leftmost match counts, and what it covers is not looked at again, even if it is no address."""
    text, ranges = pointer(data), RANGES_V4
    spans, count = np.empty((64, 4), dtype=np.int64), 0
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        done = at
        while True:
            at = _next_dot_or_colon(text, at, stop)
            if at == stop:
                break
            begin = at
            if text[at] == DOT:
                while begin > max(done, at - 3) and ASCII_CELLS[text[begin - 1]] & DIGIT:
                    begin -= 1
                while begin < at:
                    end, first = _octet(text, begin, at)
                    if end == at:
                        break
                    begin += 1
            if begin == at:
                at += 1
                continue
            end, rest, zeros = _three_more(text, at, stop, False)
            if end == 0:
                at += 1
                continue
            zeros |= at > begin + 1 and text[begin] == 0x30
            value = np.uint64(first << 24 | rest)
            if not zeros and not (public_only and _in_ranges(value, ranges)):
                spans = with_room(spans, count)
                spans[count, 0], spans[count, 1], spans[count, 2], spans[count, 3] = index, begin, end, IPV4
                count += 1
            at = done = end
    return spans[:count].copy()


@njit(cache=True, nogil=True)
def _our_addresses(data, offsets, public_only):  # type: ignore[no-untyped-def]
    text = pointer(data)
    spans, count = np.empty((64, 4), dtype=np.int64), 0
    for index in range(offsets.size - 1):
        start, stop = offsets[index], offsets[index + 1]
        at = done = start
        while True:
            at = _next_dot_or_colon(text, at, stop)
            if at == stop:
                break
            if text[at] == DOT:
                if not is_a(text, at + 1, start, stop, DIGIT) or not is_a(text, at - 1, done, stop, DIGIT):
                    at += 1
                    continue
                kind = IPV4
                begin, end, wanted = _our_v4(text, start, done, at, stop, public_only)
                beyond = max(end, at + 1)
            else:
                if (
                    not is_a(text, at + 1, start, stop, HEX)
                    and not (at + 1 < stop and text[at + 1] == COLON)
                    and not is_a(text, at - 1, done, stop, HEX)
                ):
                    at += 1
                    continue
                kind = IPV6
                begin, end, wanted, beyond = _our_v6(text, start, done, at, stop, public_only)
            if wanted:
                spans = with_room(spans, count)
                spans[count, 0], spans[count, 1], spans[count, 2], spans[count, 3] = index, begin, end, kind
                count += 1
            if end:
                done = end
            at = beyond
    return spans[:count].copy()


@njit(cache=True, nogil=True, forceinline=True)
def _our_v4(text, start, done, dot, stop, public_only):  # type: ignore[no-untyped-def]
    """(start, end, whether it is wanted) of the IPv4 address whose first dot is `dot`; end is 0 for none."""
    begin = dot
    while begin > max(done, dot - 4) and ASCII_CELLS[text[begin - 1]] & DIGIT:
        begin -= 1
    end, first = _octet(text, begin, dot)
    if end < dot or (dot > begin + 1 and text[begin] == 0x30):
        return 0, 0, False
    if _goes_on_before(text, start, begin, stop) or (
        is_a(text, begin - 2, start, stop, LETTER) and text[begin - 1] == HYPHEN
    ):
        return 0, 0, False
    end, rest, _ = _three_more(text, dot, stop, True)
    if end == 0 or _goes_on(text, start, end, stop, True):
        return 0, 0, False
    value = np.uint64(first << 24 | rest)
    return begin, end, not (public_only and _in_ranges(value, RANGES_V4))


@njit(cache=True, nogil=True, forceinline=True)
def _goes_on_before(text, start, begin, stop):  # type: ignore[no-untyped-def]
    """Whether what stands before an address makes it part of something else, of a version most often."""
    if begin == start:
        return False
    before = text[begin - 1]
    if ASCII_CELLS[before] & WORD:
        return True
    joins = before in (DOT, PLUS, TILDE)
    return joins and is_a(text, begin - 2, start, stop, ALNUM)


@njit(cache=True, nogil=True, forceinline=True)
def _goes_on(text, start, end, stop, is_v4):  # type: ignore[no-untyped-def]
    """Whether what stands behind an address makes it part of something else.

    Each rule has its counterpart in `_goes_on_before`, or holds whatever is done to the address that follows:
    an address must not become free by the replacement of its neighbour.
    """
    if end == stop:
        return False
    after = text[end]
    if ASCII_CELLS[after] & WORD:
        return True
    if after == DOT:  # host names may begin with an address, and sentences end
        return is_a(text, end + 1, start, stop, DIGIT)
    if not is_a(text, end + 1, start, stop, ALNUM):
        return False
    if after == HYPHEN:  # 1.2.3.4-1 is a version, 1.2.3.4-1.2.3.9 a range
        at = end + 1
        if is_v4:
            dot, _ = _octet(text, at, stop)
            has_zero = dot > at + 1 and text[at] == 0x30
            if dot > at and not has_zero and _three_more(text, dot, stop, True)[0]:
                return False
        at = run_end(text, at, min(stop, at + 5), HEX)
        return at == stop or text[at] != COLON
    return after in (PLUS, TILDE)


@njit(cache=True, nogil=True, forceinline=True)
def _our_v6(text, start, done, colon, stop, public_only):  # type: ignore[no-untyped-def]
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
        dot, first = _octet(text, group, end)
        if dot == end and end > group and not (end > group + 1 and text[group] == 0x30):
            quad, rest, _ = _three_more(text, end, stop, True)
            tail = np.uint64(first << 24 | rest)
    if quad:
        end = quad
    elif end > begin + 1 and text[end - 1] == COLON and text[end - 2] != COLON:
        end -= 1  # a colon of the sentence
    if _goes_on_before(text, start, begin, stop) or _goes_on(text, start, end, stop, False):
        return 0, 0, False, beyond
    valid, high, low = _parsed_v6(text, begin, group if quad else end, quad > 0, tail)
    if not valid:
        return 0, 0, False, beyond
    return begin, end, _is_wanted(text, begin, end, high, low, public_only), max(beyond, end)


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
            high = high << np.uint64(16) | low >> np.uint64(48)
            low = low << np.uint64(16) | value
            num_groups += 1
        else:
            second_high = second_high << np.uint64(16) | second_low >> np.uint64(48)
            second_low = second_low << np.uint64(16) | value
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
            high = high << np.uint64(32) | low >> np.uint64(32)
            low = low << np.uint64(32) | tail
            num_groups += 2
        else:
            second_high = second_high << np.uint64(32) | second_low >> np.uint64(32)
            second_low = second_low << np.uint64(32) | tail
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
        return not (public_only and _in_ranges(low & TOP, RANGES_V4))
    if high >> np.uint64(61) == ONE:
        if text[begin + 5] == COLON:
            return False
        if not public_only:
            return True
        if high >> np.uint64(48) == np.uint64(0x2002):  # 2002:aabb:ccdd:: holds an IPv4 address
            return not _in_ranges(high >> np.uint64(16) & TOP, RANGES_V4)
        return not _in_ranges(high, RANGES_V6)
    local = high >> np.uint64(57) == np.uint64(0x7E) or high >> np.uint64(54) == np.uint64(0x3FA)
    if public_only or not local or text[end - 1] == COLON:
        return False
    for place in range(begin, end):  # noqa: SIM110
        if ASCII_CELLS[text[place]] & DIGIT:
            return True
    return False
