"""Slow twin of `dataprep/decide/lines.py`: dictionaries of all occurrences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any


def resolve_units(records: Sequence[tuple[Any, int, int]], min_documents: int) -> list[bool]:
    """Records of (hash, rank, unit) -> which go."""
    occurrences = defaultdict(list)
    for number, (content, rank, unit) in enumerate(records):
        occurrences[content].append((rank, unit, number))
    removed = [False] * len(records)
    for found in occurrences.values():
        if len({rank for rank, _, _ in found}) >= min_documents:
            for _, _, number in sorted(found)[1:]:
                removed[number] = True
    return removed
