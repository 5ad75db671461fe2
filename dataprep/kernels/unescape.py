"""JSON values as they stand in a file to text: strings without quotes and escapes.

For values that a JSON parser has accepted, in text that is UTF-8: nothing is checked here. Going through
Python strings instead costs three times as much for text that is not ASCII, since those hold other encodings
inside.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dataprep.kernels.texts import Bytes, Offsets, Texts

STRING, NULL, NUMBER, OTHER = 0, 1, 2, 3
Kinds = npt.NDArray[np.uint8]


def unescape(values: Texts, keep_other: bool = False) -> tuple[Texts, Kinds]:
    """Texts [n] of n JSON values and the kind of each: STRING, NULL, NUMBER or OTHER (true, false, array,
    object).

    A string becomes its characters, a number stays as it is written, all else becomes empty. With
    `keep_other`, OTHER becomes JSON without white space between its parts, else as it is written.
    """
    out = np.empty(
        values.num_bytes, dtype=np.uint8
    )  # no escape is shorter than the character that it stands for
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    kinds = np.empty(len(values), dtype=np.uint8)
    _unescape(values.data, values.offsets, keep_other, out, offsets, kinds)
    return Texts(out, offsets), kinds


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _unescape(
    data: Bytes, offsets: Offsets, keep_other: bool, out: Bytes, out_offsets: Offsets, kinds: Kinds
) -> None:
    one = np.uint64(1)  # unsigned: no test for negative indices in the loop
    at = np.uint64(0)
    for value in range(offsets.size - 1):
        index, end = np.uint64(offsets[value]), np.uint64(offsets[value + 1])
        first = data[index]
        if first == 0x22:
            kinds[value] = STRING
            index, end = index + one, end - one
            while index < end:
                byte = data[index]
                index += one
                if byte != 0x5C:
                    out[at] = byte
                    at += one
                    continue
                escape = data[index]
                index += one
                if escape != 0x75:
                    out[at] = _short_escape(escape)
                    at += one
                    continue
                code = _hex4(data, index)
                index += np.uint64(4)
                if 0xD800 <= code < 0xDC00:  # half of a pair; the parser saw that the other follows
                    code = 0x10000 + ((code - 0xD800) << 10) + (_hex4(data, index + np.uint64(2)) - 0xDC00)
                    index += np.uint64(6)
                at = _put_utf8(code, out, at)
        elif first == 0x6E:
            kinds[value] = NULL
        elif first == 0x2D or 0x30 <= first <= 0x39:
            kinds[value] = NUMBER
            while index < end:
                out[at] = data[index]
                index += one
                at += one
        else:
            kinds[value] = OTHER
            if keep_other:
                at = _compact(data, index, end, out, at)
        out_offsets[value + 1] = at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _compact(data: Bytes, index: int, end: int, out: Bytes, at: int) -> int:
    """Write JSON without the white space outside its strings, from `at` on; where the next byte goes."""
    one = np.uint64(1)
    in_string = False
    while index < end:
        byte = data[index]
        index += one
        if byte == 0x22:
            in_string = not in_string
        elif byte == 0x5C:  # only in strings: the next byte is no quote that ends one
            out[at] = byte
            at += one
            byte = data[index]
            index += one
        elif byte <= 0x20 and not in_string:
            continue
        out[at] = byte
        at += one
    return at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _short_escape(letter: int) -> np.uint8:
    """The character of a two-letter escape: control characters have letters, all else stands for itself."""
    if letter == 0x6E:
        return np.uint8(0x0A)
    if letter == 0x74:
        return np.uint8(0x09)
    if letter == 0x72:
        return np.uint8(0x0D)
    if letter == 0x62:
        return np.uint8(0x08)
    if letter == 0x66:
        return np.uint8(0x0C)
    return np.uint8(letter)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _hex4(data: Bytes, index: int) -> int:
    code = 0
    for place in range(4):
        digit = data[index + np.uint64(place)]
        code = code * 16 + (digit - 0x30 if digit <= 0x39 else (digit | 0x20) - 0x57)
    return code


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _put_utf8(code: int, out: Bytes, at: int) -> int:
    """Write a character from `at` on; where the next one goes."""
    if code < 0x80:
        out[at] = code
        return at + np.uint64(1)
    num_more = 1 if code < 0x800 else 2 if code < 0x10000 else 3
    out[at] = (0xC0, 0xE0, 0xF0)[num_more - 1] | (code >> (6 * num_more))
    for place in range(1, num_more + 1):
        out[at + np.uint64(place)] = 0x80 | ((code >> (6 * (num_more - place))) & 0x3F)
    return at + np.uint64(num_more + 1)
