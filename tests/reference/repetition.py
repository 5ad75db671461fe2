"""Slow twin of `dataprep/kernels/repetition.py`: counts of a text and its words, wherever cut."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Sequence


def duplicates(pieces: Sequence[str], all_of_them: bool = False) -> tuple[int, int, int]:
    """(pieces, those that equal an earlier one or, if `all_of_them`, any other, their characters)."""
    times = Counter(pieces)
    extra = {piece: count if all_of_them else count - 1 for piece, count in times.items() if count > 1}
    return len(pieces), sum(extra.values()), sum(len(piece) * count for piece, count in extra.items())


def scanned(words: Sequence[str], n: int, same: Callable[[Sequence[str]], Hashable]) -> int:
    """Characters of the n-grams that equal an earlier one of a scan which jumps over each such n-gram."""
    seen, total, at = set(), 0, 0
    while at + n <= len(words):
        gram = words[at : at + n]
        if same(gram) in seen:
            total += sum(map(len, gram))
            at += n
        else:
            seen.add(same(gram))
            at += 1
    return total


def n_grams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[at:] for at in range(n)), strict=False))


def top(words: Sequence[str], n: int, joint: str) -> int:
    """Characters of the most common n-gram, the first of equals, joined, times how often it comes."""
    grams = Counter(n_grams(words, n)).most_common(1)
    return len(joint.join(grams[0][0])) * grams[0][1] if grams else 0


def counts(
    text: str, words: Sequence[str], same: Callable[[Sequence[str]], Hashable] = tuple
) -> dict[str, int]:
    """The signals of one text by name, in the order of COUNTS. `same`: what makes two n-grams equal;
    `"".join` is what datatrove takes."""
    lines, paragraphs = duplicates(re.split("\n+", text)), duplicates(re.split("\n{2,}", text.strip()))
    return {
        "characters": len(text),
        **dict(zip(("lines", "duplicate_lines", "duplicate_line_characters"), lines, strict=True)),
        **dict(
            zip(
                ("paragraphs", "duplicate_paragraphs", "duplicate_paragraph_characters"),
                paragraphs,
                strict=True,
            )
        ),
        **{f"top_{n}_gram_characters": top(words, n, " ") for n in (2, 3, 4)},
        **{f"duplicate_{n}_gram_characters": scanned(words, n, same) for n in range(5, 11)},
    }


def dolma_counts(text: str) -> dict[str, int]:
    """The signals of one text by name, in the order of DOLMA_COUNTS."""
    words = list(map(sys.intern, text.split()))
    lines = duplicates(text.split("\n"), all_of_them=True)
    sizes = {n: repeated_and_all(words, n) for n in range(5, 11)}
    return {
        "characters": sum(map(len, words)),
        **dict(zip(("lines", "duplicate_lines", "duplicate_line_characters"), lines, strict=True)),
        **{f"top_{n}_gram_characters": top(words, n, "") for n in (2, 3, 4)},
        **{f"duplicate_{n}_gram_characters": repeated for n, (repeated, _) in sizes.items()},
        **{f"all_{n}_gram_characters": every for n, (_, every) in sizes.items()},
    }


def repeated_and_all(words: Sequence[str], n: int) -> tuple[int, int]:
    """Characters of all n-grams that come more than once, and of all n-grams; they overlap."""
    repeated = every = 0
    for gram, times in Counter(n_grams(words, n)).items():
        size = times * sum(map(len, gram))
        every += size
        repeated += size if times > 1 else 0
    return repeated, every
