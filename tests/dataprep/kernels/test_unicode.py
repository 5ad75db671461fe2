from __future__ import annotations

import unicodedata

import pytest

from dataprep.kernels.unicode import NOT_YES, POPULATED, Form, quick_check

FORMS: list[Form] = ["NFC", "NFKC", "NFD", "NFKD"]


def test_nothing_is_assigned_where_tables_have_the_default() -> None:
    inside = {code for codes in POPULATED for code in codes}
    outside = [chr(code) for code in range(0x110000) if code not in inside]
    assert {unicodedata.category(character) for character in outside} == {"Cn", "Co"}
    assert not any(map(unicodedata.combining, outside))
    assert not any(map(unicodedata.decomposition, outside))


@pytest.mark.parametrize("form", FORMS)
def test_quick_check_of_every_character(form: Form) -> None:
    """A character is Yes only if it is in the form by itself, and then with its combining class."""
    pages, cells = quick_check(form)
    for code in range(0x30000):
        character = chr(code)
        value = int(cells[int(pages[code >> 8]) * 256 + (code & 255)])
        if value == NOT_YES:
            continue
        assert value == unicodedata.combining(character)
        assert unicodedata.is_normalized(form, character), hex(code)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_what_composes_with_a_letter_before_it_is_not_yes(form: Form) -> None:
    """All canonical pairs of the database, found by composing them, and not by reading decompositions."""
    pages, cells = quick_check(form)
    seconds = {0x1161, 0x1175, 0x11A8, 0x11C2}
    for code in range(0x30000):
        parts = unicodedata.normalize("NFD", chr(code))
        whole = unicodedata.normalize("NFC", parts)
        if len(parts) >= 2 and len(whole) == 1 and not 0xAC00 <= code <= 0xD7A3:
            seconds.add(ord(parts[-1]))
    assert len(seconds) > 50
    for code in seconds:
        assert cells[int(pages[code >> 8]) * 256 + (code & 255)] == NOT_YES, hex(code)
