"""Slow twin of `dataprep/decide/exact.py`: a dictionary of the best document of each hash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def copies(documents: Sequence[tuple[Any, int]]) -> list[tuple[int, int]]:
    """(what must be equal, rank) of each document -> (rank of one that goes, of that which stays)."""
    best: dict[Any, int] = {}
    for content, rank in documents:
        best[content] = min(rank, best.get(content, rank))
    return sorted((rank, best[content]) for content, rank in documents if rank != best[content])
