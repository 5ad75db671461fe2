"""How much HTML there is in texts, in one walk and without a parser: enough to decide whether one may try.

Tags and the deepest nesting bound what a parser's tree costs. Names of elements are compared as up to eight
lower-case bytes in an integer. Slow twin: `tests/reference/markup.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets
from dataprep.kernels.utf8 import read_only

COUNTS = (
    "tags",  # start and end tags, but inside comments and elements whose content is text
    "depth",  # of the deepest open element, as far as end tags tell
    "is_html",  # 1 if the text begins like a page, or says that it is one in its first HEAD_BYTES
)
TAGS, DEPTH, IS_HTML = range(3)
HEAD_BYTES = 4096


def _names(line: str) -> tuple[str, ...]:
    return tuple(line.split())


VOID = _names("area base basefont br col embed frame hr img input keygen link meta param source track wbr")
IMPLIED = _names(  # elements that the next one of their kind, or their parent, ends
    "a body button caption colgroup dd dt form head html li nobr optgroup option p rb rp rt rtc tbody td "
    "tfoot th thead tr"
)
RAW = _names("iframe noembed noframes script style textarea title xmp")
FIRST = _names(  # what a page, or a part of one, begins with
    "a abbr address article aside b base big blockquote body br button caption center cite code dd details "
    "dir div dl dt em fieldset figure font footer form frameset h1 h2 h3 h4 h5 h6 head header hr html i "
    "iframe img input label li link main menu meta nav noscript object ol p pre q s samp script section "
    "select small span strong style sub summary sup svg table tbody td textarea tfoot th thead title tr tt u "
    "ul var video"
)


def _numbers(names: Iterable[str]) -> npt.NDArray[np.uint64]:
    numbers = [int.from_bytes(name.encode()[:8].ljust(8, b"\0"), "big") for name in names]
    return np.array(sorted(numbers), np.uint64)


def _number(name: str) -> np.uint64:
    return _numbers([name])[0]


DOCTYPE, HTML, BODY, XML = _number("!doctype"), _number("html"), _number("body"), _number("?xml")
COMMENT = _number("!--") >> np.uint64(40)


def markup_counts(data: Bytes, offsets: Offsets) -> npt.NDArray[np.int64]:
    """int64[n, 3], columns as in COUNTS."""
    leaves = _numbers([*VOID, *IMPLIED])
    return _counts(read_only(data), read_only(offsets), leaves, _numbers(RAW), _numbers(FIRST))


@njit(cache=True, nogil=True)
def _is_in(number, numbers):  # type: ignore[no-untyped-def]
    at = np.searchsorted(numbers, number)
    return at < numbers.size and numbers[at] == number


@njit(cache=True, nogil=True)
def _lower(byte):  # type: ignore[no-untyped-def]
    return byte | 0x20 if 0x41 <= byte <= 0x5A else byte


@njit(cache=True, nogil=True)
def _is_letter(byte):  # type: ignore[no-untyped-def]
    return 0x61 <= (byte | 0x20) <= 0x7A


@njit(cache=True, nogil=True)
def _ends_name(byte):  # type: ignore[no-untyped-def]
    """White space, "/" and ">"."""
    return byte == 0x20 or 0x09 <= byte <= 0x0D or byte == 0x2F or byte == 0x3E


@njit(cache=True, nogil=True)
def _name(text, at, stop):  # type: ignore[no-untyped-def]
    """The first eight bytes of the name that starts here as a number, and where it ends."""
    number, start = np.uint64(0), at
    while at < stop and not _ends_name(text[at]):
        if at - start < 8:
            number = number | np.uint64(_lower(text[at])) << np.uint64(8 * (7 - (at - start)))
        at += 1
    return number, at


@njit(cache=True, nogil=True)
def _after_tag(text, at, stop):  # type: ignore[no-untyped-def]
    """Where the tag ends, from inside it on, and whether it closes itself ("/>"). A quote opens a value only
    behind "="."""
    before = 0  # the last byte that is no white space
    while at < stop:
        byte = text[at]
        if byte == 0x3E:
            return at + 1, before == 0x2F
        if (byte == 0x22 or byte == 0x27) and before == 0x3D:
            at += 1
            while at < stop and text[at] != byte:
                at += 1
        if byte > 0x20:
            before = byte
        at += 1
    return stop, False


@njit(cache=True, nogil=True)
def _after_raw(text, at, stop, number):  # type: ignore[no-untyped-def]
    """Where the end tag of an element whose content is text begins."""
    while at < stop:
        if text[at] == 0x3C and at + 2 < stop and text[at + 1] == 0x2F:
            found, _ = _name(text, at + 2, min(stop, at + 12))
            if found == number:
                return at
        at += 1
    return stop


@njit(cache=True, nogil=True)
def _after_comment(text, at, stop):  # type: ignore[no-untyped-def]
    while at + 2 < stop:
        if text[at] == 0x2D and text[at + 1] == 0x2D and text[at + 2] == 0x3E:
            return at + 3
        at += 1
    return stop


@njit(cache=True, nogil=True)
def _begins_html(text, at, stop, first):  # type: ignore[no-untyped-def]
    """Whether a text begins with an element, a comment or a declaration of HTML, or names the element html or
    body, or its document type, near its start."""
    if at + 3 <= stop and text[at] == 0xEF and text[at + 1] == 0xBB and text[at + 2] == 0xBF:
        at += 3
    while at < stop and (text[at] == 0x20 or 0x09 <= text[at] <= 0x0D):
        at += 1
    end = min(stop, at + HEAD_BYTES)
    is_first = True
    while at < end:
        if text[at] == 0x3C and at + 1 < stop:
            number, _ = _name(text, at + 1, min(stop, at + 10))
            if number in (DOCTYPE, HTML, BODY):
                return True
            if is_first and (_is_in(number, first) or number == XML or number >> np.uint64(40) == COMMENT):
                return True
        is_first = False
        at += 1
    return False


@njit(cache=True, nogil=True)
def _counts(data, offsets, leaves, raw, first):  # type: ignore[no-untyped-def]
    out = np.zeros((offsets.size - 1, 3), dtype=np.int64)
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        out[index, IS_HTML] = _begins_html(data, at, stop, first)
        tags, depth, deepest = 0, 0, 0
        while at < stop:
            if data[at] != 0x3C or at + 1 >= stop:
                at += 1
                continue
            byte = data[at + 1]
            if byte == 0x21 and at + 3 < stop and data[at + 2] == 0x2D and data[at + 3] == 0x2D:
                at = _after_comment(data, at + 2, stop)
            elif _is_letter(byte):
                number, at = _name(data, at + 1, stop)
                at, closes = _after_tag(data, at, stop)
                tags += 1
                if _is_in(number, raw):
                    at = _after_raw(data, at, stop, number)
                if not closes and not _is_in(number, leaves):
                    depth += 1
                    deepest = max(deepest, depth)
            elif byte == 0x2F and at + 2 < stop and _is_letter(data[at + 2]):
                number, at = _name(data, at + 2, stop)
                at, _ = _after_tag(data, at, stop)
                tags += 1
                if depth > 0 and not _is_in(number, leaves):
                    depth -= 1
            else:
                at += 1
        out[index, TAGS], out[index, DEPTH] = tags, deepest
    return out
