"""Slow twin of `dataprep/kernels/word_list.py`: one regular expression over a lower-case text."""

from __future__ import annotations

import re
from collections.abc import Collection


def has_word(text: str, words: Collection[str], apart: bool) -> bool:
    def folded(string: str) -> str:
        return string.lower().replace("\u03c2", "\u03c3")

    every = "|".join(re.escape(folded(word)) for word in words)
    if not every:
        return False
    return re.search(rf"(?:\W|^)(?:{every})(?:\W|$)" if apart else every, folded(text)) is not None
