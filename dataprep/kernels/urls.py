"""Which URLs are on a list of sites: keys of hosts and of what is below them, and their look-up.

A listed domain stands for itself and its sub-domains, a listed page for itself and what is below it, so a URL
has a key for each suffix of its host and each prefix of its path. All keys of one URL come from one walk over
it (a running FNV-1a, mixed at each end), so that long ones cost no more a byte. Keys have 64 bits: among a
billion URLs, a list of five million domains meets about a thousandth of one by mistake.

The lines of a list are read by `url_entries.py`, names beyond ASCII by `dataprep/steps/site_lists.py`, words
in URLs by `url_words.py`. Slow twin: `tests/reference/urls.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.spans import ALNUM, ASCII_CELLS, DIGIT
from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import pointer, read_only

Keys = npt.NDArray[np.uint64]
Index = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
MIX_1, MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
SPACE, HASH, PERCENT, DOT, SLASH, COLON = 0x20, 0x23, 0x25, 0x2E, 0x2F, 0x3A
QUESTION, AT, BACKSLASH = 0x3F, 0x40, 0x5C


def indexed(keys: Keys) -> tuple[Keys, Index]:
    """Keys in order, each once, and where those with the same upper bits begin; about eight share them."""
    table = np.sort(keys)  # np.unique takes twenty times as long for millions
    if len(table):
        table = table[np.concatenate([[True], table[1:] != table[:-1]])]
    bits = max(1, len(table).bit_length() - 3)
    firsts = np.arange((1 << bits) + 1, dtype=np.uint64) << np.uint64(64 - bits)
    index = np.searchsorted(table, firsts).astype(np.int64)
    index[-1] = len(table)  # 1 << 64 is no uint64
    return table, index


@njit(cache=True, nogil=True, forceinline=True)
def is_listed(key, table, index, shift):  # type: ignore[no-untyped-def]
    bucket = np.int64(key >> shift)
    low, high = index[bucket], index[bucket + 1]
    while low < high:
        middle = (low + high) >> 1
        if table[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < index[bucket + 1] and table[low] == key


@njit(inline="always")
def stepped(running, byte):  # type: ignore[no-untyped-def]
    """FNV-1a, one byte on."""
    return (running ^ np.uint64(byte)) * PRIME


@njit(inline="always")
def mixed(running):  # type: ignore[no-untyped-def]
    """The finaliser of MurmurHash3."""
    x = (running ^ (running >> np.uint64(33))) * MIX_1
    x = (x ^ (x >> np.uint64(33))) * MIX_2
    return x ^ (x >> np.uint64(33))


@njit(inline="always")
def lowered(byte):  # type: ignore[no-untyped-def]
    return byte | 0x20 if 0x41 <= byte <= 0x5A else byte


@njit(cache=True, nogil=True, forceinline=True)
def url_parts(text, start, stop):  # type: ignore[no-untyped-def]
    """(start and end of the host, start and end of path and query) of the URL text[start:stop].

    Left out: white space around it, scheme, user, port, the dots behind a host, fragment. Without a scheme it
    begins with the host.
    """
    while start < stop and text[start] <= SPACE:
        start += 1
    while stop > start and text[stop - 1] <= SPACE:
        stop -= 1
    at = start
    while at < stop and (ASCII_CELLS[text[at]] & ALNUM or text[at] in (0x2B, 0x2D, DOT)):
        at += 1
    if at + 2 < stop and text[at] == COLON and text[at + 1] == SLASH and text[at + 2] == SLASH:
        start = at + 3
    elif start + 1 < stop and text[start] == SLASH and text[start + 1] == SLASH:
        start += 2
    end, host, port = start, start, -1
    while end < stop and text[end] not in (SLASH, QUESTION, HASH, BACKSLASH):
        if text[end] == AT:
            host, port = end + 1, -1
        elif text[end] == COLON:
            port = end
        elif not ASCII_CELLS[text[end]] & DIGIT:  # the bracket behind an IPv6 address too
            port = -1
        end += 1
    host_end = port if port >= 0 else end
    while host_end > host and text[host_end - 1] == DOT:
        host_end -= 1
    last = end
    while last < stop and text[last] != HASH:
        last += 1
    return host, host_end, end, last


@njit(inline="always")
def has_www(text, host, host_end):  # type: ignore[no-untyped-def]
    return (
        host_end > host + 4
        and text[host + 3] == DOT
        and text[host] | 0x20 == 0x77
        and text[host + 1] | 0x20 == 0x77
        and text[host + 2] | 0x20 == 0x77
    )


@njit(cache=True, nogil=True, forceinline=True)
def host_running(text, host, host_end):  # type: ignore[no-untyped-def]
    running = BASIS
    for place in range(host_end - 1, host - 1, -1):
        running = stepped(running, lowered(text[place]))
    return running


@njit(inline="always")
def is_odd_byte(byte):  # type: ignore[no-untyped-def]
    return byte >= 0x80 or byte == PERCENT


def is_odd(data: Bytes, offsets: Offsets) -> tuple[Bools, npt.NDArray[np.int64]]:
    """bool[n]: whether the host of each URL has bytes beyond ASCII or percent signs; where it is, [n, 2]."""
    return _odd_hosts(read_only(data), read_only(offsets))


@njit(cache=True, nogil=True)
def _odd_hosts(data, offsets):  # type: ignore[no-untyped-def]
    text = pointer(data)
    odd = np.zeros(offsets.size - 1, dtype=np.bool_)
    hosts = np.empty((offsets.size - 1, 2), dtype=np.int64)
    for index in range(offsets.size - 1):
        host, host_end, _, _ = url_parts(text, offsets[index], offsets[index + 1])
        hosts[index, 0], hosts[index, 1] = host, host_end
        for place in range(host, host_end):
            odd[index] |= is_odd_byte(text[place])
    return odd, hosts


def site_hits(
    data: Bytes, offsets: Offsets, domains: tuple[Keys, Index], pages: tuple[Keys, Index]
) -> tuple[Bools, Bools]:
    """bool[n]: whether the host of a URL, or a domain above it, is listed; whether the page, or one above."""
    return _site_hits(read_only(data), read_only(offsets), *map(read_only, (*domains, *pages)))


@njit(cache=True, nogil=True)
def _site_hits(data, offsets, domains, domain_index, pages, page_index):  # type: ignore[no-untyped-def]
    text = pointer(data)
    domain_shift, page_shift = _shift(domain_index), _shift(page_index)
    on_domain = np.zeros(offsets.size - 1, dtype=np.bool_)
    on_page = np.zeros(offsets.size - 1, dtype=np.bool_)
    for index in range(offsets.size - 1):
        host, host_end, rest, end = url_parts(text, offsets[index], offsets[index + 1])
        if host == host_end:
            continue
        running, found = BASIS, False
        for place in range(host_end - 1, host - 1, -1):
            if text[place] == DOT:
                found |= is_listed(mixed(running), domains, domain_index, domain_shift)
            running = stepped(running, lowered(text[place]))
        found |= is_listed(mixed(running), domains, domain_index, domain_shift)
        with_www = running
        for byte in (DOT, 0x77, 0x77, 0x77):
            with_www = stepped(with_www, byte)
        on_domain[index] = found or is_listed(mixed(with_www), domains, domain_index, domain_shift)
        if pages.size == 0:
            continue
        if has_www(text, host, host_end):
            running = host_running(text, host + 4, host_end)
        running, found = mixed(running), False
        for place in range(rest, end):
            if place > rest and text[place] in (SLASH, QUESTION):
                found |= is_listed(mixed(running), pages, page_index, page_shift)
            running = stepped(running, text[place])
        on_page[index] = found or is_listed(mixed(running), pages, page_index, page_shift)
    return on_domain, on_page


@njit(cache=True, nogil=True)
def _shift(index):  # type: ignore[no-untyped-def]
    bits = 0
    while (1 << bits) < index.size - 1:
        bits += 1
    return np.uint64(64 - bits)
