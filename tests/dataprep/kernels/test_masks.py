from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from dataprep.kernels.masks import byte_set, bytes_of, equal_bytes, first_bits, lowest, window
from dataprep.kernels.utf8 import leading_zeros, pointer, read_only

digits_or_high, vowels = byte_set((0x30, 0x39), (0x80, 0xFF)), bytes_of("aeiou")


@njit
def sets(data: Any, at: int) -> Any:
    text = pointer(data)
    return digits_or_high(text, at), vowels(text, at), equal_bytes(text, at, np.uint8(0x61))


@njit
def bits(mask: Any) -> Any:
    return lowest(mask), leading_zeros(mask)


@njit
def windowed(data: Any, tail: Any, at: int, stop: int) -> Any:
    block, place = window(pointer(data), at, stop, data.size, pointer(tail))
    out = np.empty(64, dtype=np.uint8)
    for index in range(64):
        out[index] = block[place + index]
    return out


def mask_of(flags: list[bool]) -> int:
    return sum(1 << index for index, flag in enumerate(flags) if flag)


@given(st.binary(min_size=70, max_size=90), st.integers(0, 6))
def test_masks_are_those_of_the_bytes(value: bytes, at: int) -> None:
    block = value[at : at + 64]
    found = sets(read_only(np.frombuffer(value, dtype=np.uint8)), at)
    assert [int(mask) for mask in found] == [
        mask_of([0x30 <= byte <= 0x39 or byte >= 0x80 for byte in block]),
        mask_of([byte in b"aeiou" for byte in block]),
        mask_of([byte == 0x61 for byte in block]),
    ]


@given(st.integers(0, 2**64 - 1))
def test_bits_of_a_mask(mask: int) -> None:
    low, zeros = bits(np.uint64(mask))
    assert int(low) == mask & -mask
    assert zeros == 64 - mask.bit_length()


def test_first_bits() -> None:
    assert [int(first_bits.py_func(count)) for count in (0, 1, 63, 64, 99)] == [
        0,
        1,
        2**63 - 1,
        2**64 - 1,
        2**64 - 1,
    ]


@given(st.binary(max_size=150), st.data())
def test_a_window_is_the_text_and_then_spaces(value: bytes, data: Any) -> None:
    at = data.draw(st.integers(0, len(value)))
    stop = data.draw(st.integers(at, len(value)))
    tail = np.zeros(64, dtype=np.uint8)
    found = windowed(np.frombuffer(value + b"", dtype=np.uint8), tail, at, stop).tobytes()
    if at + 64 <= len(value):
        assert found == value[at : at + 64]
    else:
        assert found == value[at:stop][:64].ljust(64)
