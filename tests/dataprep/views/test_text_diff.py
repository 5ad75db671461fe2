"""Where two texts differ: both can be put together again from the hunks' segments, and work is bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.views.text_diff import COMPARED_WORDS, WORD, Segment, differences

WORDS = st.lists(st.sampled_from(["a", "b", "the", "\u6c34", "\u706b", "x-y"]), max_size=30)


def test_a_word_more_and_a_word_changed() -> None:
    first = "one two three four five six seven eight nine ten"
    found = differences(first, "one two three 4 five six seven eight nine ten eleven")
    (hunk,) = found.hunks
    assert hunk == [
        Segment(True, "one two three", "one two three"),
        Segment(False, "four", "4"),
        Segment(True, "five six seven eight nine ten", "five six seven eight nine ten"),
        Segment(False, "", "eleven"),
    ]
    assert not found.more


def test_places_far_apart_are_hunks_of_their_own() -> None:
    many = " ".join(str(number) for number in range(60))
    found = differences(many, many.replace(" 10 ", " ten ").replace(" 50 ", " fifty "))
    assert [[each for each in hunk if not each.is_same] for hunk in found.hunks] == [
        [Segment(False, "10", "ten")],
        [Segment(False, "50", "fifty")],
    ]
    assert found.hunks[0][0].stays == "5 6 7 8 9"


def test_white_space_is_not_compared() -> None:
    assert differences("a b\nc", "a  b c ").hunks == []


def test_letters_of_scripts_without_spaces_are_words() -> None:
    (hunk,) = differences("\u6c34\u706b\u6728", "\u6c34\u91d1\u6728").hunks
    assert hunk[1] == Segment(False, "\u706b", "\u91d1")
    assert hunk[0].stays == "\u6c34"


@pytest.mark.parametrize("tail", ["", " end"])
def test_only_so_many_words_are_compared(tail: str) -> None:
    same = " ".join(f"word{number}" for number in range(3000))
    found = differences(f"first {same}", f"other {same}{tail}")
    assert found.more
    assert found.hunks[0][0] == Segment(False, "first", "other")
    (hunk,) = differences(same, f"{same} more").hunks
    assert hunk[0].stays.split() == same.split()[-5:]
    assert hunk[1] == Segment(False, "", "more")


def test_a_text_that_is_hard_to_align_takes_little_work() -> None:
    first, second = " ".join(["x"] * COMPARED_WORDS), " ".join(["x", "y"] * COMPARED_WORDS)
    assert differences(first, second).hunks


@given(WORDS, WORDS)
def test_hunks_hold_all_that_differs(first: list[str], second: list[str]) -> None:
    found = differences(" ".join(first), " ".join(second)).hunks
    assert bool(found) == (first != second)
    for hunk in found:
        assert any(not each.is_same for each in hunk)
        for each in hunk:
            assert each.stays == each.goes if each.is_same else each.stays != each.goes
    kept = [word for hunk in found for each in hunk for word, _ in WORD.findall(each.stays)]
    left = iter(first)
    assert all(any(word == other for other in left) for word in kept)  # a subsequence of the text
