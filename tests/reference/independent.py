"""Slow twin of `dataprep/decide/independent.py`: the definition, rank by rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable


def independent(edges: Iterable[tuple[int, int, int]]) -> dict[int, tuple[int, int]]:
    """Of each removed document its match, the best one that stays and is similar, and the similarity."""
    better: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for a, b, similarity in edges:
        better[b].append((a, similarity))
    removed: dict[int, tuple[int, int]] = {}
    for document in sorted(better):
        staying = [each for each in sorted(better[document]) if each[0] not in removed]
        if staying:
            removed[document] = staying[0]
    return removed


def sizes(removed: dict[int, tuple[int, int]]) -> dict[int, int]:
    counts: dict[int, int] = defaultdict(lambda: 1)
    for match, _ in removed.values():
        counts[match] += 1
    return dict(counts)
