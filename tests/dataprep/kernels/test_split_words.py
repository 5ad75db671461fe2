from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from hypothesis import example, given

from dataprep.kernels.split_words import find_chunks
from dataprep.kernels.texts import Texts
from dataprep.kernels.words import WIDE
from tests.dataprep.kernels.strategies import long_text_lists, sliced, text_lists


def chunks_of(texts: Texts) -> list[list[tuple[str, bool]]]:
    found = find_chunks(texts.data, texts.offsets)
    out = []
    for text, (first, last) in zip(texts, pairwise(found.offsets.tolist()), strict=True):
        starts, sizes = found.starts[first:last].tolist(), found.sizes[first:last].tolist()
        wide = (found.traits[first:last] == WIDE).tolist()
        out.append(
            [
                (text[start : start + size].decode(), mark)
                for start, size, mark in zip(starts, sizes, wide, strict=True)
            ]
        )
    return out


def expected(string: str) -> list[tuple[str, bool]]:
    return [(chunk, not chunk.isascii()) for chunk in string.split()]


@given(text_lists)
@example(["a" * 63 + "\u3000b", "a" * 62 + "\u2003", " " * 64 + "\xe9" + "a" * 100 + " b", "\x85" * 40])
def test_chunks_are_those_of_split(strings: list[str]) -> None:
    assert chunks_of(sliced(strings)) == [expected(string) for string in strings]


@given(long_text_lists)
def test_chunks_of_long_texts(strings: list[str]) -> None:
    assert chunks_of(sliced(strings)) == [expected(string) for string in strings]


def test_every_white_space_splits() -> None:
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert chunks_of(Texts.from_strings([f"a{space}b" for space in spaces])) == [
        [("a", False), ("b", False)] for _ in spaces
    ]


@pytest.mark.parametrize("text", ["", " ", "a", "a" * 200, "a " * 3000])
def test_chunks_of_one_text(text: str) -> None:
    assert chunks_of(Texts.from_strings([text])) == [expected(text)]
