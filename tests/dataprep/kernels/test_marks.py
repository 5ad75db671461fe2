from __future__ import annotations

import unicodedata

import pytest

from dataprep.kernels.marks import (
    ALPHANUMERIC,
    DECIMAL,
    LETTER,
    PUNCTUATION_CATEGORY,
    SENTENCE_MARK,
    SENTENCE_MARKS,
    TERMINAL_MARKS,
    WHITE,
    code_points,
    mark_table,
    member_table,
    sentence_mark_leads,
)
from dataprep.kernels.unicode import Table


def value(table: Table, code: int) -> int:
    pages, cells = table
    return int(cells[int(pages[code >> 8]) * 256 + (code & 255)])


def test_properties_are_those_of_python() -> None:
    marks = set(code_points(SENTENCE_MARKS))
    for code in range(0x110000):
        character, category = chr(code), unicodedata.category(chr(code))
        wanted = WHITE * character.isspace() | PUNCTUATION_CATEGORY * (category[0] == "P")
        wanted |= LETTER * character.isalpha() | ALPHANUMERIC * character.isalnum()
        wanted |= DECIMAL * (category == "Nd") | SENTENCE_MARK * (code in marks)
        assert value(mark_table(), code) == wanted, hex(code)


def test_sentence_marks_are_punctuation() -> None:
    """`kernels/sentences.py` counts on it: a mark never begins a sentence."""
    assert {unicodedata.category(chr(code))[0] for code in code_points(SENTENCE_MARKS)} == {"P"}


def test_lists_are_those_of_the_originals() -> None:
    sentencizer = pytest.importorskip("spacy.pipeline.sentencizer")
    text = pytest.importorskip("datatrove.utils.text")
    assert set(map(chr, code_points(SENTENCE_MARKS))) == set(sentencizer.Sentencizer.default_punct_chars)
    assert set(map(chr, code_points(TERMINAL_MARKS))) == text.TERMINAL_PUNCTUATION


def test_leads_of_sentence_marks() -> None:
    leads = sentence_mark_leads()
    assert leads[[0x21, 0x2E, 0x3F, 0xE3, 0xF0]].all() and not leads[[0x20, 0x2C, 0xC3, 0x80]].any()


def test_members() -> None:
    table = member_table(frozenset(".\u3002\U0001f600"))
    assert [value(table, ord(c)) for c in ".,\u3002\u3001\U0001f600\U0010ffff"] == [1, 0, 1, 0, 1, 0]
