"""The keys of words against their slow twin, and what the normalisation forgives."""

from __future__ import annotations

import unicodedata

import numpy as np
from hypothesis import given

from dataprep.kernels.texts import Texts
from dataprep.kernels.word_keys import JANITOR, PLAIN, word_keys, word_places
from tests.dataprep.kernels.strategies import long_text_lists, sliced, text_lists
from tests.reference import word_keys as twin


def keys_of(text: str, manner: int = PLAIN) -> list[int]:
    texts = Texts.from_strings([text])
    return [int(key) for key in word_keys(texts.data, texts.offsets, manner)[0]]


def check(strings: list[str]) -> None:
    texts = sliced(strings)
    for manner, slow in ((PLAIN, twin.plain_keys), (JANITOR, twin.janitor_keys)):
        keys, starts, ends, offsets = word_places(texts.data, texts.offsets, manner)
        assert len(offsets) == len(strings) + 1
        for index, string in enumerate(strings):
            part = slice(int(offsets[index]), int(offsets[index + 1]))
            assert [int(key) for key in keys[part]] == slow(string)
            assert (starts[part] >= texts.offsets[index]).all()
            assert (ends[part] <= texts.offsets[index + 1]).all()
            assert (starts[part] < ends[part]).all()
            assert (starts[part][1:] >= ends[part][:-1]).all()
        again = word_keys(texts.data, texts.offsets, manner)
        assert np.array_equal(again[0], keys)
        assert np.array_equal(again[1], offsets)


@given(text_lists)
def test_like_the_twin(strings: list[str]) -> None:
    check(strings)


@given(long_text_lists)
def test_like_the_twin_on_longer_texts(strings: list[str]) -> None:
    check(strings)


def test_every_character_like_the_twin() -> None:
    step = 997
    for first in range(0, 0x40000, step):
        codes = [code for code in range(first, first + step) if not 0xD800 <= code < 0xE000]
        text = " x".join(map(chr, codes))
        assert keys_of(text) == twin.plain_keys(text)


def test_what_it_forgives() -> None:
    same = [
        ("The cat's  hat, isn't it?", "the CATS\nhat \u2014 isn\u2019t; it"),
        ("Caf\u00e9 \u1e9b\u0323 \ud55c", unicodedata.normalize("NFD", "CAFE\u0301 \u1e9b\u0323 \ud55c")),
        ("\uff21\uff22\uff11 \ufb01sh", "ab1 fish"),
        ("def f(x):\n    return x", "def  f( x ) :\n\treturn x"),
        ("\u4e2d\u6587\uff0c\u5b57", "\u4e2d \u6587\u5b57"),
        ("stra\u00dfe \u03bb\u03cc\u03b3\u03bf\u03c2", "STRASSE \u039b\u039f\u0393\u039f\u03a3"),
        ("soft\u00adhyphen", "softhyphen"),
    ]  # fmt: skip
    for one, other in same:
        assert keys_of(one) == keys_of(other), (one, other)


def test_what_it_tells_apart() -> None:
    assert len(keys_of("\u4e2d\u6587\u5b57")) == 3
    assert keys_of("10") != keys_of("1 0")
    assert keys_of("abcdefgh") != keys_of("abcdefghi")
    assert len({keys_of("a" * size)[0] for size in range(1, 40)}) == 39
