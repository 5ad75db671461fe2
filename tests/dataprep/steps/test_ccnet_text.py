from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.steps.ccnet_text import PUNCTUATION, normalized
from tests.reference.ccnet import normalize

ODD = "\uff0c\u3002\u201c\xab\uff11\u2014\uff0e\u2026\u0660\xe9E\u0301\u0345\u0130\u1e9e\0\n\x85 \u3000a0"


@given(st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"])))
def test_every_text_as_in_ccnet(text: str) -> None:
    assert normalized(text) == normalize(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        (" \n\x00 ", ""),
        ("  The Mill, 1984 \u2013 \u201cold\u201d  ", 'the mill, 0000 - "old"'),
        ("H\xe9l\xe8ne n'a que \u0661\u0662 \uff15 ans\u2026", "helene n'a que 00 0 ans..."),
        ("one\ntwo\tthree", "onetwothree"),  # as there: line ends and tabs are control characters
        ("a\u2014b\uff0ec", "a - b. c"),
        ("\uff11", "0"),
    ],
)
def test_by_hand(text: str, wanted: str) -> None:
    assert normalized(text) == wanted


def test_no_digit_stands_among_the_punctuation() -> None:
    assert all(unicodedata.category(mark) != "Nd" for mark in PUNCTUATION)
