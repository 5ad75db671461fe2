"""After the tests of DCLM's modifiers (mlfoundations/dclm at 15af3ce,
tests/baselines/mappers/modifiers/test_modifiers.py), on texts of our own: which lines a step leaves. Lines
are compared without white space at their ends and without empty ones, which the two treat otherwise. What has
no counterpart here is in test_dclm_goldens.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from dataprep.steps import STEPS
from tests.dataprep.steps.goldens import lines_left, params_of, result

COUNTERS = """likes shares comments retweets reposts quotes bookmarks upvotes downvotes downloads views
followers""".split()  # noqa: SIM905
IN_CART = "You have 4 items in cart now, and may take some more of them from the first page."
IN_FEW_WORDS = "This says in few words what is told below at some more length. Read more..."
SIGNED = "sign-in on this page with your name and password, or write to us if you lost one of them."
MODIFIERS: list[tuple[str, dict[str, Any], str, list[str]]] = [
    (  # substring_line_modifier
        "boilerplate_lines",
        {"phrases": ["javascript"]},
        "JavaScript must be on\n\nA text on JavaScript.\njava script on ",
        ["java script on"],
    ),
    (
        "boilerplate_lines",
        {"phrases": ["javascript", "on"]},
        "JavaScript must be on\nA text on JavaScript.\n\njava script on ",
        [],
    ),
    (
        "boilerplate_lines",
        {"phrases": ["items in cart"], "max_phrase_words": 10},
        f"You have 4 items in cart now\n{IN_CART}",
        [IN_CART],
    ),
    (
        "boilerplate_lines",
        {"line_starts": ["sign-in"], "max_phrase_words": 10},
        f"sign-in to read on\nThis tells how to sign-in.\n\n{SIGNED}",
        ["This tells how to sign-in.", SIGNED],
    ),
    (
        "boilerplate_lines",
        {"line_ends": ["read more"], "max_phrase_words": 10},
        f"Please read more...\nRead more...and see!\n\n{IN_FEW_WORDS}",
        ["Read more...and see!", IN_FEW_WORDS],
    ),
    (
        "boilerplate_lines",
        {"min_words": 2},
        "Short line\n\na b c d\n  a line\nHi",
        ["Short line", "a b c d", "a line"],
    ),
    (  # punctuation_line_modifier, with remove_ellipses but for the one character
        "c4",
        {"filter_no_terminal_punct": True},
        'Stop.\nAsk?\nCall!\n\n"Quote"\nNothing\nSpace.  \nDots... \nMore',
        ["Stop.", "Ask?", "Call!", '"Quote"', "Space."],
    ),
    (
        "c4",
        {"max_word_length": 10},
        "A plain line   \n\nExtraordinary words\nAlmost ten.",
        ["A plain line", "Almost ten."],
    ),
    *(
        (
            "boilerplate_lines",
            {"counters": COUNTERS},
            f"4 {counter}\n4,000 {counter}\n45K {counter}!\n 6.1M   {counter}  \nNo counter is in here.",
            ["No counter is in here."],
        )
        for counter in COUNTERS
    ),
    (
        "boilerplate_lines",
        {"counters": COUNTERS},
        "45K quotes\n\nGood day.\n\nGood day with 4 views.\n4 views",
        ["Good day.", "Good day with 4 views."],
    ),
    ("boilerplate_lines", {"counters": COUNTERS}, "54321" * 10 + " likes", []),
    (
        "boilerplate_lines",
        {"max_uppercase_ratio": 0.5},
        "GOOD DAY\n\ngood day\nGood Day",
        ["good day", "Good Day"],
    ),
    ("boilerplate_lines", {"numeric": True}, "54321\n\n5a\nabcd", ["5a", "abcd"]),
    *(
        (
            step,
            given,
            "[edit]So looks what stands behind a fact[215].\nIt helps to take it out[citation needed].",
            ["So looks what stands behind a fact.", "It helps to take it out."],
        )
        for step, given in (
            ("c4", {"remove_citations": True}),
            ("boilerplate_lines", {"citation_numbers": True, "citation_marks": ["edit", "citation needed"]}),
        )
    ),
]


@pytest.mark.parametrize(("step", "given", "text", "left"), MODIFIERS)
def test_modifiers(step: str, given: dict[str, Any], text: str, left: list[str]) -> None:
    assert lines_left(step, text, params_of(step, **given)) == left


@pytest.mark.parametrize(
    ("page", "left", "reasons"),
    [
        ("<html><head><title>404</title></head></html>", "", ["extract_empty"]),
        ("<!DOCTYPE html>\n<head><title>A title</title></head>\n<body>The body</body>", "The body", []),
    ],
)
def test_html_content_extraction_modifier(page: str, left: str, reasons: list[str]) -> None:
    pytest.importorskip("resiliparse")
    params = STEPS["extract_text"].params()
    text, checks = result("extract_text", page, params)
    assert (text.strip(), [name for name, check in checks.items() if check.dropped[0]]) == (left, reasons)
