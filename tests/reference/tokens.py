"""Slow twins of the kernels that copy token slices and find code points, and of packing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np


def gather_documents(
    source: Sequence[int],
    starts: Sequence[int],
    lengths: Sequence[int],
    out: list[int],
    places: Sequence[int],
) -> None:
    for start, length, place in zip(starts, lengths, places, strict=True):
        out[place : place + length] = source[start : start + length]


def texts_with_code_points(texts: Sequence[str], wanted: Collection[int]) -> list[bool]:
    return [any(ord(character) in wanted for character in text) for text in texts]


def packed(documents: Sequence[dict[str, Any]], subset: str, lo: int, hi: int) -> list[dict[str, Any]]:
    """The documents of a shard in its order: by (key, source, id with null first, path, position)."""
    chosen = [
        each
        for each in documents
        if each["subset"] == subset and lo <= int.from_bytes(each["key"][:2], "big") < hi
    ]
    return sorted(
        chosen,
        key=lambda each: (
            each["key"],
            each["source"].encode(),
            (each["id"] is not None, (each["id"] or "").encode()),
            each["path"].encode(),
            each["position"],
        ),
    )


def cut_borders(histogram: Sequence[int], tokens_per_shard: int) -> list[int]:
    """First buckets of the ranges of `plan_cuts`, by looking at every border for every goal."""
    before = np.concatenate([[0], np.cumsum(histogram)])
    total = int(before[-1])
    goals = min(-(-total // tokens_per_shard), len(histogram))
    borders: list[int] = []
    for goal in range(goals):
        border = int(np.abs(before - goal * total // goals).argmin())  # the first of the nearest
        if before[border] < total and (not borders or before[border] > before[borders[-1]]):
            borders.append(border)
    return borders
