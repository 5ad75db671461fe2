"""64 bytes at a time: which of them are in a set, as the bits of a uint64 (bit i is byte i).

Most text is ASCII, and questions about its bytes ("letters after a digit") become a few operations on such
masks, without a branch. What the masks mean is for the kernels that use them; start with `blocks.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

WIDTH = 64
ONE, EVERY = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
BYTES = ir.VectorType(ir.IntType(8), WIDTH)


def byte_set(*ranges: tuple[int, int]) -> Any:
    """A kernel function (pointer, at) -> uint64: which of the 64 bytes from `at` on lie in one of the ranges
    (first, last). All 64 must be readable: see `window`."""

    def members(typingctx, pointer, at):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            address = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), BYTES.as_pointer())
            block = builder.load(address, align=1)
            found = None
            for first, last in ranges:
                above = builder.sub(block, ir.Constant(BYTES, [first] * WIDTH))
                inside = builder.icmp_unsigned("<=", above, ir.Constant(BYTES, [last - first] * WIDTH))
                found = inside if found is None else builder.or_(found, inside)
            return builder.bitcast(found, ir.IntType(64))

        return types.uint64(pointer, types.int64), codegen

    return intrinsic(members)


def bytes_of(characters: str) -> Any:
    """`byte_set` of single ASCII characters."""
    return byte_set(*((ord(character), ord(character)) for character in characters))


def _equal_bytes(typingctx, pointer, at, byte):  # type: ignore[no-untyped-def]
    """Which of the 64 bytes from `at` on are `byte`."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), BYTES.as_pointer())
        one = builder.insert_element(
            ir.Constant(BYTES, ir.Undefined), arguments[2], ir.Constant(ir.IntType(32), 0)
        )
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        every = builder.shuffle_vector(one, ir.Constant(BYTES, ir.Undefined), lanes)
        same = builder.icmp_unsigned("==", builder.load(address, align=1), every)
        return builder.bitcast(same, ir.IntType(64))

    return types.uint64(pointer, types.int64, types.uint8), codegen


equal_bytes: Any = intrinsic(_equal_bytes)


@njit(inline="always")
def preceded_by(mask):  # type: ignore[no-untyped-def]
    """The bytes with one of these right before them."""
    return mask << np.uint64(1)


@njit(inline="always")
def followed_by(mask):  # type: ignore[no-untyped-def]
    """The bytes with one of these right after them."""
    return mask >> np.uint64(1)


@njit(inline="always")
def lowest(mask):  # type: ignore[no-untyped-def]
    """The lowest set bit alone."""
    return mask & (~mask + ONE)


@njit(inline="always")
def first_bits(count):  # type: ignore[no-untyped-def]
    """The lowest `count` bits, 0 to 64."""
    return EVERY if count >= 64 else (ONE << np.uint64(count)) - ONE


@njit(cache=True, nogil=True, forceinline=True)
def window(text, at, stop, size, tail):  # type: ignore[no-untyped-def]
    """(pointer, index) from where 64 bytes can be read that begin with text[at:stop]: the text itself, of
    `size` bytes, or near its end `tail`, a pointer to 64 bytes, filled up with spaces."""
    if at + WIDTH <= size:
        return text, at
    for place in range(WIDTH):
        tail[place] = text[at + place] if at + place < stop else 0x20
    return tail, np.int64(0)
