"""Texts that hypothesis draws for kernels: all of Unicode, and pieces that rules of this package look for."""

from __future__ import annotations

from hypothesis import strategies as st

from dataprep.kernels.texts import Texts

PIECES = [
    *"aAzZ019.,:;!?'\"-~/\\<>=+*^%$#@&_()[]{}|`",
    "\u2019", "\u2018", "\u201c", "\u2013", "\u2014", "\u2026", "\u2022", "\u20ac", "\u00b2", "\u00e9",
    "e\u0301", "\u0301", "\u0305", "\u0332",
    "\u0323", "\u00ad", "\u4e2d", "\u3042", "\u0e01", "\u0e33", "\u0e49", "\uac00",
    "\u1100\u1161\u11a8", "\u0645", "\u0939\u093f", "\u0662", "\u2167", "\u2160", "\u2160a", "\u01c5",
    "\U0001f600", "\ufe0f", "\ufb01", "\uff11", "\U00010400", "\U0010ffff",
    "...", "..", "--", "---", "----", "'s", "n't", "'ll", "\u2019ve", "http://", "a.bc/x", "U.S.",
    "the", "be", "to", "and", "that", "word",
    " ", "  ", "\n", "\r\n", "\r", "\t", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0", "\u2003", "\u2028",
    "\u3000", "\x00", "\x7f", "\x80", "\ufeff", "\u200b",
]  # fmt: skip

texts = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.characters(exclude_categories=["Cs"])), max_size=20).map(
        "".join
    ),
)
text_lists = st.lists(texts, max_size=6)

long_texts = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.sampled_from(
            [" ", " ", " ", "word", "Capital", "AB", "12", ", ", ". ", "'s ", "n't ", "-", "(", ")"]
        ),
    ),
    min_size=30,
    max_size=150,
).map("".join)
long_text_lists = st.lists(long_texts, max_size=3)
"""Texts of several blocks of 64 bytes, mostly ASCII."""


def sliced(strings: list[str]) -> Texts:
    """The strings as Texts with bytes before, after and around them, so that offsets[0] > 0."""
    return Texts.from_strings(["\u4e2d..", *strings, "\u0301and"]).slice(1, 1 + len(strings))
