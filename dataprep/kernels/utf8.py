"""What every kernel that reads characters shares: decoding one, tables over all of Unicode, and a check.

Kernels may count on valid UTF-8, which readers and `valid_utf8` see to; on other bytes `decode` still stays
inside its text. Slow twin: `bytes.decode`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from dataprep.kernels.texts import Bytes, Offsets

NUM_CODE_POINTS = 0x110000
PAGE = 256
HIGH_BITS = np.uint64(0x8080808080808080)
SPACES = np.uint64(0x2020202020202020)
FROM_A, BEYOND_Z = np.uint64(0x1F1F1F1F1F1F1F1F), np.uint64(0x0505050505050505)
"""Added to a byte under 0x80 these set its high bit from "a" on, and from "{" on."""


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only view. Numba compiles a kernel once for writable and once for read-only arrays (those from
    Arrow are read-only); passing every input through here halves that."""
    view = array.view()
    view.flags.writeable = False
    return view


def _pointer(typingctx, array):  # type: ignore[no-untyped-def]
    """The address of an array's first item, to be indexed like the array, without bounds or negative indices.

    Inner kernel functions take pointers: an array argument costs two atomic reference counts a call, which
    was two thirds of the time of the word kernel. Only for arrays that the compiled caller was given as
    arguments, since a pointer keeps nothing alive.
    """

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), codegen


pointer: Any = intrinsic(_pointer)


def _load64(typingctx, pointer, index):  # type: ignore[no-untyped-def]
    """Eight bytes at pointer[index] as a little-endian uint64, aligned or not."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address = builder.gep(arguments[0], [arguments[1]])
        return builder.load(
            builder.bitcast(address, context.get_value_type(types.uint64).as_pointer()), align=1
        )

    return types.uint64(pointer, types.int64), codegen


load64: Any = intrinsic(_load64)


def _store64(typingctx, pointer, index, word):  # type: ignore[no-untyped-def]
    """Write a uint64 to pointer[index : index + 8], little-endian, aligned or not."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        to, at, value = arguments
        address = builder.bitcast(builder.gep(to, [at]), context.get_value_type(types.uint64).as_pointer())
        builder.store(value, address, align=1)
        return context.get_dummy_value()

    return types.void(pointer, types.int64, types.uint64), codegen


store64: Any = intrinsic(_store64)


def _trailing_zeros(typingctx, word):  # type: ignore[no-untyped-def]
    """Zero bits below the lowest set bit of a uint64; 64 for zero."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), codegen


trailing_zeros: Any = intrinsic(_trailing_zeros)


def _leading_zeros(typingctx, mask):  # type: ignore[no-untyped-def]
    """Zero bits above the highest set bit of a uint64; 64 for zero."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), codegen


leading_zeros: Any = intrinsic(_leading_zeros)


def _ones(typingctx, word):  # type: ignore[no-untyped-def]
    """Set bits of a uint64."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), codegen


ones: Any = intrinsic(_ones)


def _copy_bytes(typingctx, target, target_at, source, source_at, count):  # type: ignore[no-untyped-def]
    """memcpy of `count` bytes from source[source_at] to target[target_at], between pointers to uint8."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        to, to_at, origin, origin_at, size = arguments
        cgutils.raw_memcpy(builder, builder.gep(to, [to_at]), builder.gep(origin, [origin_at]), size, 1)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, types.int64), codegen


copy_bytes: Any = intrinsic(_copy_bytes)


@njit(cache=True, nogil=True, forceinline=True)
def ascii_letters(text, at, stop):  # type: ignore[no-untyped-def]
    """How many ASCII letters stand from `at` on; eight bytes at a time, since words end unpredictably."""
    start = at
    while at + 8 <= stop:
        word = load64(text, at)
        lower = (word | SPACES) & ~HIGH_BITS
        letters = (lower + FROM_A) & ~(lower + BEYOND_Z) & ~word & HIGH_BITS
        run = trailing_zeros(letters ^ HIGH_BITS) >> 3
        at += run
        if run < 8:
            return at - start
    while at < stop and 0x61 <= text[at] | 0x20 <= 0x7A:
        at += 1
    return at - start


@njit(cache=True, nogil=True, forceinline=True)
def ascii_letters_before(text, at, start):  # type: ignore[no-untyped-def]
    """How many ASCII letters stand right before `at`, not before `start`."""
    stop = at
    while at - 8 >= start:
        word = load64(text, at - 8)
        lower = (word | SPACES) & ~HIGH_BITS
        letters = (lower + FROM_A) & ~(lower + BEYOND_Z) & ~word & HIGH_BITS
        run = leading_zeros(letters ^ HIGH_BITS) >> 3
        at -= run
        if run < 8:
            return stop - at
    while at > start and 0x61 <= text[at - 1] | 0x20 <= 0x7A:
        at -= 1
    return stop - at


def longest(offsets: Offsets) -> int:
    """Bytes of the longest text."""
    return int(np.diff(offsets).max(initial=0))


def two_level(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[Any]]:
    """A table of one number a code point, mostly uint8[0x110000], with equal pages of 256 stored once.

    Returns (pages uint16[0x1100], cells [k * 256] of the same type); see `lookup`.
    """
    numbers: dict[bytes, int] = {}
    rows = values.reshape(-1, PAGE)
    pages = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.uint16)
    return pages, np.frombuffer(b"".join(numbers), dtype=values.dtype)


@njit(inline="always")
def lookup(pages, cells, code):  # type: ignore[no-untyped-def]
    """The value of one code point in a two-level table."""
    return cells[np.int64(pages[code >> 8]) * 256 + (code & 255)]


@njit(cache=True, nogil=True, forceinline=True)
def decode(data, at, stop):  # type: ignore[no-untyped-def]
    """(code point, its bytes) at `at` < `stop`. What is not UTF-8 is U+FFFD of one byte."""
    lead = np.int64(data[at])
    if lead < 0x80:
        return lead, 1
    if 0xC2 <= lead <= 0xDF and at + 1 < stop:
        return ((lead & 0x1F) << 6) | (np.int64(data[at + 1]) & 0x3F), 2
    if 0xE0 <= lead <= 0xEF and at + 2 < stop:
        return ((lead & 0x0F) << 12) | ((np.int64(data[at + 1]) & 0x3F) << 6) | (
            np.int64(data[at + 2]) & 0x3F
        ), 3
    if 0xF0 <= lead <= 0xF4 and at + 3 < stop:
        code = ((lead & 0x07) << 18) | ((np.int64(data[at + 1]) & 0x3F) << 12)
        code |= ((np.int64(data[at + 2]) & 0x3F) << 6) | (np.int64(data[at + 3]) & 0x3F)
        if code < 0x110000:
            return code, 4
    return np.int64(0xFFFD), 1


def valid_utf8(data: Bytes, offsets: Offsets) -> npt.NDArray[np.bool_]:
    """bool[n]: whether each text is UTF-8 by itself, as `bytes.decode` judges (no surrogates, no overlong
    forms)."""
    return _valid_utf8(read_only(data), read_only(offsets))


@njit(cache=True, nogil=True)
def _valid_utf8(data, offsets):  # type: ignore[no-untyped-def]
    """Well-formed byte sequences: Unicode Standard, table 3-7."""
    out = np.ones(offsets.size - 1, dtype=np.bool_)
    for index in range(offsets.size - 1):
        at, stop = offsets[index], offsets[index + 1]
        while at < stop:
            block = at
            while block + 32 <= stop:
                seen = np.uint8(0)
                for place in range(32):
                    seen |= data[block + place]
                if seen >= 0x80:
                    break
                block += 32
            at = block
            limit = min(stop, at + 32)
            bad = False
            while at < limit:
                lead = data[at]
                if lead < 0x80:
                    at += 1
                    continue
                more, low, high = 0, 0x80, 0xBF
                if 0xC2 <= lead <= 0xDF:
                    more = 1
                elif 0xE0 <= lead <= 0xEF:
                    more = 2
                    low = 0xA0 if lead == 0xE0 else 0x80
                    high = 0x9F if lead == 0xED else 0xBF
                elif 0xF0 <= lead <= 0xF4:
                    more = 3
                    low = 0x90 if lead == 0xF0 else 0x80
                    high = 0x8F if lead == 0xF4 else 0xBF
                bad = more == 0 or at + more >= stop or data[at + 1] < low or data[at + 1] > high
                if not bad:
                    for place in range(2, more + 1):
                        bad |= (data[at + place] & 0xC0) != 0x80
                if bad:
                    break
                at += more + 1
            if bad:
                out[index] = False
                break
    return out
