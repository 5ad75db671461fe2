"""Slow twin of `dataprep/kernels/quality.py`: counts of a text and its words, wherever cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from dataprep.kernels.characters import PUNCTUATION_RANGES

PUNCTUATION = {
    chr(code)
    for piece in PUNCTUATION_RANGES.split()
    for first, _, last in [piece.partition("-")]
    for code in range(int(first, 16), int(last or first, 16) + 1)
}


def counts(text: str, words: Sequence[str], stop_words: Collection[str]) -> dict[str, int]:
    """The signals of one text by name, in the order of `COUNTS`."""
    lines, times = text.splitlines(), Counter(words)
    non_symbol = {word: count for word, count in times.items() if not PUNCTUATION.issuperset(word)}
    return {
        "words": len(words),
        "non_symbol_words": sum(non_symbol.values()),
        "non_symbol_characters": sum(count * len(word) for word, count in non_symbol.items()),
        "alphabetic_words": sum(count for word, count in times.items() if any(map(str.isalpha, word))),
        "stop_words": len(times.keys() & set(stop_words)),
        "hashes": text.count("#"),
        "ellipses": text.count("...") + text.count("\u2026"),
        "lines": len(lines),
        "bullet_lines": sum(line.lstrip().startswith(("-", "\u2022")) for line in lines),
        "ellipsis_lines": sum(line.rstrip().endswith(("...", "\u2026")) for line in lines),
    }
