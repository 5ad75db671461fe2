"""Slow twin of `dataprep/decide/exact.py`: a dictionary of the best document so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def resolve(rows: Sequence[tuple[Any, Any]]) -> tuple[list[bool], list[int]]:
    """Rows of (what must be equal, rank that tells any two apart), lower is better -> (keep, match)."""
    best: dict[Any, int] = {}
    for index, (content, rank) in enumerate(rows):
        if content not in best or rank < rows[best[content]][1]:
            best[content] = index
    keep = [best[content] == index for index, (content, _) in enumerate(rows)]
    return keep, [-1 if kept else best[content] for kept, (content, _) in zip(keep, rows, strict=True)]
