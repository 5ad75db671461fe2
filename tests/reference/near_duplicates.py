"""Slow twin of `dataprep/decide/near.py`: the definition, on the true similarity of every pair."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference import independent
from tests.reference.shingles import shingles


def near_duplicates(
    texts: Sequence[str], ranks: Sequence[int], threshold_ppm: int, ngram: int
) -> dict[int, tuple[int, int]]:
    """Of each text that goes (the text that stays in its stead, their similarity), by place."""
    sets = [set(shingles(text, ngram, "words", "plain")) for text in texts]
    places = {rank: place for place, rank in enumerate(ranks)}
    edges = []
    for better in range(len(texts)):
        for worse in range(better + 1, len(texts)):
            a, b = sets[places[better]], sets[places[worse]]
            similarity = len(a & b) * 10**6 // len(a | b) if a | b else 0
            if similarity >= threshold_ppm:
                edges.append((better, worse, similarity))
    removed = independent.independent(edges)
    return {places[document]: (places[match], ppm) for document, (match, ppm) in removed.items()}
