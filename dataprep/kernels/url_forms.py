"""URLs in one form, so that two ways to write the address of one page are equal bytes.

1. White space and control characters of ASCII around it are off.
2. http:// and https:// are off; another scheme stays, in lower case. Without a scheme it begins with the
   host, also behind //. A user before the host stays.
3. The host is in lower case, without a leading `www.` and without dots at its end.
4. The port 80 behind http and 443 behind https is off, and one without digits; other ports stay.
5. Slashes at the end of the path are off. Dots in it are not resolved, and its case counts.
6. Of the query, parameters that only say how a reader came are off (TRACKING, and names that begin with
   TRACKING_START, whatever their case), and empty ones. The others keep their order; without any, the `?` is
   off too.
7. The fragment is off, but one that begins with `#!` or `#/`, by which some sites tell pages apart.
8. In path, query and fragment a percent sign and the hex digits of a letter, digit, `-`, `.`, `_` or `~`
   become that character; other hex digits are capitals; bytes beyond ASCII are percent signs and hex digits.

A URL without a host (a relative one) has an empty form: it says nothing of which page is meant. Hosts beyond
ASCII are the business of `dataprep/steps/site_lists.py`. Slow twin: `tests/reference/urls.py`.

Others: C4 takes off `http(s)://` and `www.`, everything from a first parameter that begins with utm_, ref or
feed, and slashes at the end (tensorflow/datasets at 0560e68, text/c4_utils.py, `normalize_url`); datatrove's
example of URL deduplication makes lower case of all (huggingface/datatrove at 23a6f28); Dolma compares the
field as it is. 8 and the ports are RFC 3986, 6.2.2 and 6.2.3.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from dataprep.kernels.spans import ALNUM, ASCII_CELLS, DIGIT, HEX
from dataprep.kernels.texts import Bytes, Offsets, Texts
from dataprep.kernels.urls import (
    COLON,
    DOT,
    HASH,
    PERCENT,
    QUESTION,
    SLASH,
    SPACE,
    has_www,
    lowered,
    url_parts,
)
from dataprep.kernels.utf8 import pointer, read_only

TRACKING = (
    "_ga", "_gl", "_hsenc", "_hsmi", "dclid", "fbclid", "gbraid", "gclid", "gclsrc", "igshid", "mc_cid",
    "mc_eid", "mkt_tok", "msclkid", "oly_anon_id", "oly_enc_id", "srsltid", "ttclid", "twclid", "vero_id",
    "wbraid", "wickedid", "yclid", "ysclid",
)  # fmt: skip
TRACKING_START = "utm_"

AMPERSAND, EQUALS, EXCLAMATION, ZERO, LETTER_A = 0x26, 0x3D, 0x21, 0x30, 0x41
UNRESERVED = (ASCII_CELLS & ALNUM) != 0
UNRESERVED[[*b"-._~"]] = True


def url_forms(data: Bytes, offsets: Offsets) -> tuple[Bytes, Offsets]:
    """(data, offsets) of each URL in its form. Memory: three times the URLs."""
    names = _names()
    out = np.empty(3 * int(offsets[-1] - offsets[0]), dtype=np.uint8)
    out_offsets = np.zeros(offsets.size, dtype=np.int64)
    _forms(
        read_only(data), read_only(offsets), read_only(names.data), read_only(names.offsets), out, out_offsets
    )
    return out[: out_offsets[-1]], out_offsets


@lru_cache(maxsize=1)
def _names() -> Texts:
    """The start that names may have, and the names."""
    return Texts.from_strings([TRACKING_START, *TRACKING])


@njit(cache=True, nogil=True)
def _is_tracking(text, at, stop, names, name_offsets, num_names):  # type: ignore[no-untyped-def]
    """Whether the parameter text[at:stop] has one of the names."""
    end = at
    while end < stop and text[end] != EQUALS:
        end += 1
    for index in range(num_names):
        first, size = name_offsets[index], name_offsets[index + 1] - name_offsets[index]
        if size > end - at or (index > 0 and size < end - at):
            continue
        same = 0
        while same < size and lowered(text[at + same]) == names[first + same]:
            same += 1
        if same == size:
            return True
    return False


@njit(inline="always")
def _hex_value(byte):  # type: ignore[no-untyped-def]
    return byte - ZERO if byte <= 0x39 else (byte | 0x20) - 0x57


@njit(inline="always")
def _hex_digit(value):  # type: ignore[no-untyped-def]
    return value + ZERO if value < 10 else value - 10 + LETTER_A


@njit(cache=True, nogil=True)
def _put(text, at, stop, out, size):  # type: ignore[no-untyped-def]
    """Write text[at:stop] with its percent signs in one form to out[size]; the size after it."""
    while at < stop:
        value = np.int64(text[at])
        at += 1
        if value == PERCENT and at + 1 < stop and ASCII_CELLS[text[at]] & ASCII_CELLS[text[at + 1]] & HEX:
            value = _hex_value(np.int64(text[at])) << 4 | _hex_value(np.int64(text[at + 1]))
            at += 2
        elif value < 0x80:
            out[size] = value
            size += 1
            continue
        if UNRESERVED[value]:
            out[size] = value
            size += 1
            continue
        out[size], out[size + 1], out[size + 2] = PERCENT, _hex_digit(value >> 4), _hex_digit(value & 15)
        size += 3
    return size


@njit(cache=True, nogil=True)
def _put_lower(text, at, stop, out, size):  # type: ignore[no-untyped-def]
    for place in range(at, stop):
        out[size] = lowered(text[place])
        size += 1
    return size


@njit(cache=True, nogil=True)
def _scheme_end(text, at, stop):  # type: ignore[no-untyped-def]
    """Where the scheme of a URL that begins at `at` ends, before "://"; -1 if there is none."""
    end = at
    while end < stop and (ASCII_CELLS[text[end]] & ALNUM or text[end] in (0x2B, 0x2D, DOT)):
        end += 1
    is_scheme = end + 2 < stop and text[end] == COLON and text[end + 1] == SLASH and text[end + 2] == SLASH
    return end if is_scheme else -1


@njit(cache=True, nogil=True)
def _own_port(text, start, scheme_end):  # type: ignore[no-untyped-def]
    """The port that goes without saying: 80 for http, 443 for https, -1 for no scheme, 0 for others."""
    size = scheme_end - start
    if size <= 0:
        return -1
    if 4 <= size <= 5:
        same = True
        for place, letter in enumerate(b"http"):
            same &= lowered(text[start + place]) == letter
        if same and size == 4:
            return 80
        if same and lowered(text[start + 4]) == 0x73:
            return 443
    return 0


@njit(cache=True, nogil=True)
def _forms(data, offsets, name_data, name_offsets, out_array, out_offsets):  # type: ignore[no-untyped-def]
    text, names, out = pointer(data), pointer(name_data), pointer(out_array)
    size = 0
    for index in range(offsets.size - 1):
        start, stop = offsets[index], offsets[index + 1]
        while start < stop and text[start] <= SPACE:
            start += 1
        while stop > start and text[stop - 1] <= SPACE:
            stop -= 1
        host, host_end, rest, last = url_parts(text, start, stop)
        if host == host_end:
            out_offsets[index + 1] = size
            continue
        scheme_end = _scheme_end(text, start, stop)
        own_port, user = _own_port(text, start, scheme_end), start
        if scheme_end >= 0:
            user = scheme_end + 3
        elif stop - start > 1 and text[start] == SLASH and text[start + 1] == SLASH:
            user = start + 2
        if own_port == 0:
            size = _put_lower(text, start, user, out, size)
        for place in range(user, host):
            out[size] = text[place]
            size += 1
        if has_www(text, host, host_end):
            host += 4
        size = _put_lower(text, host, host_end, out, size)
        port, number = rest, 0
        while port > host_end and ASCII_CELLS[text[port - 1]] & DIGIT:
            port -= 1
        for place in range(port, rest):
            number = min(10 * number + text[place] - ZERO, 1 << 40)
        if port < rest and (own_port <= 0 or number != own_port):
            out[size] = COLON
            size = _put_lower(text, port, rest, out, size + 1)
        query = rest
        while query < last and text[query] != QUESTION:
            query += 1
        path_end = query
        while path_end > rest and text[path_end - 1] == SLASH:
            path_end -= 1
        size = _put(text, rest, path_end, out, size)
        sign, at = QUESTION, query + 1
        while at < last:
            end = at
            while end < last and text[end] != AMPERSAND:
                end += 1
            if end > at and not _is_tracking(text, at, end, names, name_offsets, name_offsets.size - 1):
                out[size] = sign
                size = _put(text, at, end, out, size + 1)
                sign = AMPERSAND
            at = end + 1
        if last + 1 < stop and text[last + 1] in (EXCLAMATION, SLASH):
            out[size] = HASH
            size = _put(text, last + 1, stop, out, size + 1)
        out_offsets[index + 1] = size
