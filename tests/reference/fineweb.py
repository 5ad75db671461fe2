"""Slow twin of `dataprep/kernels/fineweb.py`: counts of a text and its number of words, wherever cut."""

from __future__ import annotations

from collections.abc import Collection


def counts(
    text: str, words: int, stop_characters: Collection[str], short_line_length: int, blank_lines: bool
) -> dict[str, int]:
    """The signals of one text by name, in the order of `COUNTS`."""
    full = [line for line in text.split("\n") if line.strip()]
    lines = text.split("\n") if blank_lines else full
    seen: set[str] = set()
    repeated = [line for line in full if line in seen or seen.add(line)]  # type: ignore[func-returns-value]
    return {
        "lines": len(lines),
        "ended_lines": sum(line.endswith(tuple(stop_characters)) for line in lines),
        "short_lines": sum(len(line) <= short_line_length for line in lines),
        "duplicate_characters": sum(map(len, repeated)),
        "characters": len(text) - text.count("\n"),
        "newlines": text.count("\n"),
        "words": words,
    }
