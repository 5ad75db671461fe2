from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts
from dataprep.kernels.utf8 import NUM_CODE_POINTS, lookup, two_level, valid_utf8

FRAGMENTS = [
    b"plain ascii text of more than thirty-two bytes", b"\xc3\xa9", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x9f\xbf",
    b"\xe0\xa0\x80", b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xef\xbf\xbf", b"\xf0\x8f\xbf\xbf",
    b"\xf0\x90\x80\x80",
    b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\x80", b"\xff", b"\xe2\x82",
    b"\xf0\x9f\x98", b"a",
]  # fmt: skip
byte_strings = st.one_of(
    st.binary(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=6).map(b"".join)
)


def decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(byte_strings, max_size=8))
@example([b"\xe2\x82", b"\xac"])  # valid together, not alone
@example([b"x" * 40 + b"\xc3"])
def test_validity_is_that_of_decode(values: list[bytes]) -> None:
    texts = Texts.from_bytes([b"\xc3", *values, b"\xa9"]).slice(1, 1 + len(values))
    assert valid_utf8(texts.data, texts.offsets).tolist() == [decodes(value) for value in values]


def test_every_single_code_point_is_valid() -> None:
    texts = Texts.from_strings(
        [chr(code) for code in range(0, NUM_CODE_POINTS, 7) if not 0xD800 <= code < 0xE000]
    )
    assert valid_utf8(texts.data, texts.offsets).all()


def test_table_returns_what_went_in() -> None:
    values = np.zeros(NUM_CODE_POINTS, dtype=np.uint8)
    values[[0, 255, 256, 0x1234, 0x10FFFF]] = [1, 2, 3, 4, 5]
    pages, cells = two_level(values)
    assert cells.size == 5 * 256
    for code in (0, 1, 255, 256, 0x1234, 0x1235, 0x20000, 0x10FFFF):
        assert lookup.py_func(pages, cells, code) == values[code]
