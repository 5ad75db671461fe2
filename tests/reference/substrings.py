"""Slow twin of `dataprep/decide/substrings.py`: the rule, window by window, in a dictionary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

Window = tuple[int, ...]
Place = tuple[int, int]


def places_of_windows(documents: Sequence[Sequence[int]], length: int) -> dict[Window, list[Place]]:
    """(document, position) of all windows, best first; documents come in the order of their ranks."""
    found: dict[Window, list[Place]] = defaultdict(list)
    for number, document in enumerate(documents):
        for at in range(len(document) - length + 1):
            found[tuple(document[at : at + length])].append((number, at))
    return found


def cut(documents: Sequence[Sequence[int]], length: int) -> list[set[int]]:
    """Positions of the tokens that are cut from each document."""
    marked: list[set[int]] = [set() for _ in documents]
    kept: list[set[int]] = [set() for _ in documents]
    for (best_document, best_at), *others in places_of_windows(documents, length).values():
        for document, at in others:
            marked[document].update(range(at, at + length))
        if others:
            kept[best_document].update(range(best_at, best_at + length))
    return [one - other for one, other in zip(marked, kept, strict=True)]


def whole_characters(text: bytes, start: int, end: int) -> tuple[int, int]:
    """The largest range of whole characters inside; empty ones are (start, start)."""
    edges = [0]
    for character in text.decode("utf-8"):
        edges.append(edges[-1] + len(character.encode("utf-8")))
    inside = [edge for edge in edges if start <= edge <= end]
    return (inside[0], inside[-1]) if inside else (start, start)
