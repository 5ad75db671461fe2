"""Where two texts differ, in words, for eyes.

White space is not compared, and of each text no more than `COMPARED_WORDS` words from the first difference
on, so that a comparison takes milliseconds whatever the texts. Letters of scripts without spaces are words by
themselves.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

CONTEXT_WORDS = 5
COMPARED_WORDS = 1000

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u31a0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
WORD = re.compile(rf"([{_UNSPACED}]|[^\s{_UNSPACED}]+)(\s*)")


class Segment(NamedTuple):
    """A stretch of words that both texts have, or that stands in one where the other has something else."""

    is_same: bool
    stays: str
    goes: str


class Differences(NamedTuple):
    """hunks  places where the texts differ, each with some words before and after
    more      whether one of the texts goes on after what was compared
    """

    hunks: list[list[Segment]]
    more: bool


def differences(stays: str, goes: str) -> Differences:
    """Where the words of two texts differ; no hunks where they are the same."""
    first, second = WORD.findall(stays), WORD.findall(goes)
    words = [word for word, _ in first], [word for word, _ in second]
    shorter = min(map(len, words))
    start = next((at for at in range(shorter) if words[0][at] != words[1][at]), shorter)
    if start == len(words[0]) == len(words[1]):
        return Differences([], False)
    start = max(0, start - CONTEXT_WORDS)
    one, other = (each[start : start + COMPARED_WORDS] for each in words)
    spaced = [each[start : start + COMPARED_WORDS] for each in (first, second)]
    # Words that make up more than a hundredth of a long text are no anchors, which bounds the work.
    found = SequenceMatcher(None, one, other, autojunk=True)
    hunks = [
        [
            Segment(tag == "equal", _joined(spaced[0][a:b]), _joined(spaced[1][c:d]))
            for tag, a, b, c, d in group
        ]
        for group in found.get_grouped_opcodes(CONTEXT_WORDS)
    ]
    return Differences(hunks, any(len(each) > start + COMPARED_WORDS for each in words))


def _joined(words: list[tuple[str, str]]) -> str:
    return "".join(word + (" " if space else "") for word, space in words).rstrip()
