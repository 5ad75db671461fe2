"""What IP addresses are made of: numbers of one byte, what may stand around them, and which are public.

Slow twin: `tests/reference/pii.py`.
"""

from __future__ import annotations

import ipaddress

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.spans import ALNUM, ASCII_CELLS, DIGIT, HEX, WORD, is_a, run_end

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

VERSION_WORDS = np.frombuffer(b"versionrelease", dtype=np.uint8).reshape(2, 7)
"""What says that the four numbers behind it are no address."""


def _ranges(networks: tuple[str, ...], shift: int) -> npt.NDArray[np.uint64]:
    """uint64[n, 2]: first and last address of each network, `shift` low bits left out."""
    parsed = map(ipaddress.ip_network, networks)
    return np.array([[int(each[0]) >> shift, int(each[-1]) >> shift] for each in parsed], dtype=np.uint64)


RANGES_V4, RANGES_V6 = _ranges(NOT_PUBLIC_V4, 0), _ranges(NOT_PUBLIC_V6, 64)


@njit(cache=True, nogil=True, forceinline=True)
def in_ranges(value, ranges):  # type: ignore[no-untyped-def]
    for row in range(ranges.shape[0]):  # noqa: SIM110
        if ranges[row, 0] <= value <= ranges[row, 1]:
            return True
    return False


@njit(cache=True, nogil=True, forceinline=True)
def octet_at(text, at, stop):  # type: ignore[no-untyped-def]
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
def three_more(text, dot, stop, strict):  # type: ignore[no-untyped-def]
    """(end, value, whether a number has a leading zero) of `.n.n.n` at `dot`; end is 0 if there is none.

    `strict` wants no digit after it, and no leading zero.
    """
    value, zeros, at = 0, False, dot
    for number in range(3):
        if at >= stop or text[at] != DOT:
            return 0, 0, False
        end, octet = octet_at(text, at + 1, stop)
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


@njit(cache=True, nogil=True, forceinline=True)
def goes_on_before(text, start, begin, stop):  # type: ignore[no-untyped-def]
    """Whether what stands before an address makes it part of something else, of a version most often."""
    if begin == start:
        return False
    before = text[begin - 1]
    if ASCII_CELLS[before] & WORD:
        return True
    joins = before in (DOT, PLUS, TILDE)
    return joins and is_a(text, begin - 2, start, stop, ALNUM)


@njit(cache=True, nogil=True, forceinline=True)
def is_version(text, start, begin):  # type: ignore[no-untyped-def]
    """Whether "version" or "release" and one or two separators stand before `begin`: `version="1.2.3.4"`."""
    for end in (begin - 1, begin - 2):
        if end - 7 < start or text[end] not in (0x20, 0x09, 0x0A, 0x0D, COLON, 0x3D, 0x22, 0x27, 0x28):
            return False
        for word in range(2):
            same = 0
            while same < 7 and text[end - 7 + same] | 0x20 == VERSION_WORDS[word, same]:
                same += 1
            if same == 7:
                return True
    return False


@njit(cache=True, nogil=True, forceinline=True)
def goes_on(text, start, end, stop, is_v4):  # type: ignore[no-untyped-def]
    """Whether what stands behind an address makes it part of something else.

    Each rule has its counterpart in `goes_on_before`, or holds whatever is done to the address that follows:
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
            dot, _ = octet_at(text, at, stop)
            has_zero = dot > at + 1 and text[at] == 0x30
            if dot > at and not has_zero and three_more(text, dot, stop, True)[0]:
                return False
        at = run_end(text, at, min(stop, at + 5), HEX)
        return at == stop or text[at] != COLON
    return after in (PLUS, TILDE)
