"""Where IP addresses stand in texts, by two grammars; docs/reference/pii.md spells them out.

`headrace` (ours): IPv4 and IPv6 as `ipaddress` of Python reads them, between boundaries that version numbers,
times, hardware addresses and C++ names do not pass. `datatrove`: the IPv4 addresses that PIIFormatter of
datatrove 0.10.1 replaces, which may stand inside longer numbers.

Which addresses are public is a table of `ip_parts.py`, not the interpreter's, whose lists differ from version
to version. IPv6 itself is in `ipv6.py`. Slow twin: `tests/reference/pii.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dataprep.kernels.ip_parts import (
    COLON,
    DOT,
    HYPHEN,
    RANGES_V4,
    goes_on,
    goes_on_before,
    in_ranges,
    is_version,
    octet_at,
    three_more,
)
from dataprep.kernels.ipv6 import ipv6_at
from dataprep.kernels.linebreaks import LOW, zero_bytes
from dataprep.kernels.number_bounds import is_ipv6_tail
from dataprep.kernels.spans import ASCII_CELLS, DIGIT, HEX, LETTER, Spans, is_a, with_room
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import load64, pointer, read_only, trailing_zeros

IPV4, IPV6 = 0, 1
"""Kinds of spans."""

DOTS, COLONS = LOW * np.uint64(DOT), LOW * np.uint64(COLON)


def addresses(data: Bytes, offsets: Offsets, datatrove: bool, public_only: bool) -> Spans:
    """int64[k, 4]: (text, start, end, IPV4 or IPV6) of each address, those that are not public left out if
    `public_only`. IPv6 is no part of the grammar of datatrove."""
    if datatrove:
        return _their_addresses(read_only(data), read_only(offsets), public_only)
    return _our_addresses(read_only(data), read_only(offsets), public_only)


@njit(cache=True, nogil=True, forceinline=True)
def _next_dot_or_colon(text, at, stop):  # type: ignore[no-untyped-def]
    while at + 8 <= stop:
        word = load64(text, at)
        found = zero_bytes(word ^ DOTS) | zero_bytes(word ^ COLONS)
        if found:
            return at + (trailing_zeros(found) >> 3)
        at += 8
    while at < stop and text[at] != DOT and text[at] != COLON:
        at += 1
    return at


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
                    end, first = octet_at(text, begin, at)
                    if end == at:
                        break
                    begin += 1
            if begin == at:
                at += 1
                continue
            end, rest, zeros = three_more(text, at, stop, False)
            if end == 0:
                at += 1
                continue
            zeros |= at > begin + 1 and text[begin] == 0x30
            value = np.uint64(first << 24 | rest)
            if not zeros and not (public_only and in_ranges(value, ranges)):
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
                begin, end, wanted, beyond = ipv6_at(text, start, done, at, stop, public_only)
                if end and end < stop and is_ipv6_tail(text, start, end, stop):
                    kind = IPV4  # `::ffff:8.8.8.8:53`: an IPv6 address in its place would take in the port
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
    end, first = octet_at(text, begin, dot)
    if end < dot or (dot > begin + 1 and text[begin] == 0x30):
        return 0, 0, False
    if (
        goes_on_before(text, start, begin, stop)
        or (is_a(text, begin - 2, start, stop, LETTER) and text[begin - 1] == HYPHEN)
        or is_version(text, start, begin)
    ):
        return 0, 0, False
    end, rest, _ = three_more(text, dot, stop, True)
    if end == 0 or goes_on(text, start, end, stop, True):
        return 0, 0, False
    value = np.uint64(first << 24 | rest)
    return begin, end, not (public_only and in_ranges(value, RANGES_V4))
