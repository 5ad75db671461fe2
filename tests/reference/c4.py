"""Slow twin of `dataprep/kernels/c4.py`: the rules of its docstring, one line after another."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dataprep.kernels.c4 import LineRules
from tests.reference.sentences import sentences

CITATION = re.compile(r"\[(?:\d*|edit|citation needed)\]")
POLICY = re.compile(r"terms of use|privacy policy|cookie policy|use(?:s| of)? cookies")


def c4(
    text: str, rules: LineRules, split: Callable[[str], Sequence[str]] = sentences
) -> tuple[str, dict[str, int]]:
    """(the text that stays, counts as in `COUNTS`); sentences are wherever `split` cuts."""
    counts = dict.fromkeys(("lines", "kept_lines", "sentences", "lorem_ipsum", "curly_bracket"), 0)
    kept: list[str] = []
    for line in split(text) if rules.by_sentence else text.splitlines():
        counts["lines"] += 1
        line = line.strip()
        words = line.split()
        if 0 <= rules.max_word_length < max(map(len, words), default=0):
            continue
        if len(words) < rules.min_line_words:
            continue
        if rules.remove_citations:
            line = CITATION.sub("", line)
        if rules.terminal_punctuation and (not line or line[-1] not in ".?!\"'" or line[-3:] == "..."):
            continue
        lower = line.lower()
        if rules.lorem_ipsum and "lorem ipsum" in lower:
            return text, counts | {"lorem_ipsum": 1}
        if rules.javascript and "javascript" in lower:
            continue
        if rules.curly_bracket and "{" in line:
            return text, counts | {"curly_bracket": 1}
        if rules.policy and POLICY.search(lower):
            continue
        counts["kept_lines"] += 1
        counts["sentences"] += 1 if rules.by_sentence else len(split(line))
        kept.append(line)
    return (" " if rules.by_sentence else "\n").join(kept).strip(), counts
