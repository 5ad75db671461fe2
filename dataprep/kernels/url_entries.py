"""The lines of a list of sites, to the keys of `urls.py`. Slow twin: `tests/reference/urls.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.spans import ALNUM, ASCII_CELLS, HEX, LETTER
from dataprep.kernels.texts import Bytes
from dataprep.kernels.urls import (
    COLON,
    DOT,
    HASH,
    PERCENT,
    SLASH,
    SPACE,
    Keys,
    has_www,
    host_running,
    is_odd_byte,
    mixed,
    stepped,
    url_parts,
)
from dataprep.kernels.utf8 import pointer, read_only

STAR, LINE_FEED = 0x2A, 0x0A

HOST_CELLS = ((ASCII_CELLS & ALNUM) != 0) | (np.arange(256) >= 0x80)
HOST_CELLS[[*b"-._[]:%~"]] = True
"""Bytes that a host on a list may have; others are some syntax that we do not read."""


def entry_keys(data: Bytes) -> tuple[Keys, Keys, npt.NDArray[np.int64], int]:
    """What the lines of a list say: (keys of domains, keys of pages, odd entries int64[k, 2], the place of
    the first entry that is neither or -1).

    A line holds one domain or URL, or as in a hosts file an address and names. `#` begins a comment, at the
    start of a line or behind white space. An odd entry has a host beyond ASCII and no key yet.
    """
    num_lines = 1 + int(np.count_nonzero(data == LINE_FEED))
    num_entries = num_lines + int(np.count_nonzero((data == SPACE) | (data == 9)))
    domains = np.empty(num_entries, dtype=np.uint64)
    pages = np.empty(num_entries, dtype=np.uint64)
    odd = np.empty((num_entries, 2), dtype=np.int64)
    counts = _entry_keys(read_only(data), domains, pages, odd)
    return domains[: counts[0]].copy(), pages[: counts[1]].copy(), odd[: counts[2]].copy(), int(counts[3])


@njit(cache=True, nogil=True)
def _entry_keys(data, domains, pages, odd):  # type: ignore[no-untyped-def]
    text = pointer(data)
    counts = np.array([0, 0, 0, -1], dtype=np.int64)
    at, stop = 0, data.size
    while at < stop:
        end = at
        while end < stop and text[end] != LINE_FEED:
            end += 1
        token, names = at, 0
        at = end + 1
        in_hosts_file = False
        while True:
            while token < end and text[token] <= SPACE:
                token += 1
            if token == end or text[token] == HASH:
                break
            token_end = token
            while token_end < end and text[token_end] > SPACE:
                token_end += 1
            follows = token_end
            while follows < end and text[follows] <= SPACE:
                follows += 1
            if names == 0 and follows < end and text[follows] != HASH:
                if not _is_address(text, token, token_end):
                    counts[3] = token
                    return counts
                in_hosts_file = True
            elif not _add_entry(text, token, token_end, in_hosts_file, domains, pages, odd, counts):
                counts[3] = token
                return counts
            names += 1
            token = token_end
    return counts


@njit(cache=True, nogil=True, forceinline=True)
def _is_address(text, start, end):  # type: ignore[no-untyped-def]
    """Whether it may be the IP address that begins a line of a hosts file."""
    dots = colons = 0
    for place in range(start, end):
        byte = text[place]
        dots += byte == DOT
        colons += byte == COLON
        if byte == PERCENT and colons > 1:
            return True  # fe80::1%lo0
        if not (ASCII_CELLS[byte] & HEX or byte in (DOT, COLON)):
            return False
        if ASCII_CELLS[byte] & LETTER and colons == 0 and dots > 0:
            return False
    return dots == 3 or colons > 1


@njit(cache=True, nogil=True)
def _add_entry(text, start, end, in_hosts_file, domains, pages, odd, counts):  # type: ignore[no-untyped-def]
    """Adds a domain or a page; False if it is neither. In a hosts file, names without a dot are local."""
    begin = start
    if end - start > 2 and text[start] == STAR and text[start + 1] == DOT:
        start += 2
    elif end - start > 1 and text[start] == DOT:
        start += 1
    host, host_end, rest, last = url_parts(text, start, end)
    if host == host_end or (rest < end and text[rest] == HASH):
        return False
    has_dot, is_odd_host = False, False
    for place in range(host, host_end):
        if not HOST_CELLS[text[place]]:
            return False
        has_dot |= text[place] == DOT
        is_odd_host |= is_odd_byte(text[place])
    if in_hosts_file and not has_dot:
        return True
    while last > rest and text[last - 1] == SLASH:
        last -= 1
    if is_odd_host:
        odd[counts[2], 0], odd[counts[2], 1] = begin, end
        counts[2] += 1
    elif last == rest:
        domains[counts[0]] = mixed(host_running(text, host, host_end))
        counts[0] += 1
    else:
        if has_www(text, host, host_end):
            host += 4
        running = mixed(host_running(text, host, host_end))
        for place in range(rest, last):
            running = stepped(running, text[place])
        pages[counts[1]] = mixed(running)
        counts[1] += 1
    return True
