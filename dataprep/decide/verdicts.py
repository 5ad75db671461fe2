"""Verdicts: kept, or dropped with reasons; and the funnel, which counts them by source and step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

KEPT = 0
"""A verdict is a code: 0 is kept, k is reason number k, the first that applied in order."""

Rows = npt.NDArray[np.bool_]


class Verdicts:
    """First reason (`code`, uint16 [n]) and all reasons (`masks`, each uint64 [n], of 64 reasons: bit
    (k - 1) % 64 of mask (k - 1) // 64 for reason k).

    reasons  (step label, reason) of each code, from code 1 on
    """

    def __init__(self, count: int) -> None:
        self.code = np.zeros(count, dtype=np.uint16)
        self.masks: list[npt.NDArray[np.uint64]] = []
        self.reasons: list[tuple[str, str]] = []

    @property
    def kept(self) -> Rows:
        return self.code == KEPT

    def drop(self, label: str, reason: str, rows: Rows) -> None:
        """Drop `rows` for a reason; documents that are dropped already keep their first one."""
        self.reasons.append((label, reason))
        number = len(self.reasons)
        word, bit = divmod(number - 1, 64)
        if bit == 0:
            self.masks.append(np.zeros(len(self.code), dtype=np.uint64))
        self.masks[word][rows] |= np.uint64(1 << bit)
        self.code[rows & self.kept] = number

    def first(self, number: int) -> Rows:
        return self.code == number

    def joint(self, number: int) -> Rows:
        word, bit = divmod(number - 1, 64)
        return (self.masks[word] >> np.uint64(bit)) & np.uint64(1) > 0


def funnel(
    names: Sequence[str],
    steps: Sequence[str],
    applies: Mapping[str, Sequence[str]],
    rewriting: frozenset[str],
    source: npt.NDArray[np.int32],
    bytes_read: npt.NDArray[np.int64],
    bytes_final: npt.NDArray[np.int64],
    verdicts: Verdicts,
    heldout: Rows,
    outputs: Sequence[tuple[str, str]],
    output: npt.NDArray[np.int32],
    unsampled: Mapping[str, Mapping[str, int]],
) -> list[dict[str, Any]]:
    """Documents and bytes of each source after each step, with first and joint reasons.

    steps      labels in the order in which they decide; built-in ones (not in `applies`) show only where they
               drop something
    applies    label -> sources that it runs on
    rewriting  labels of steps that change text: from the first of them on, bytes are those of the final text
    outputs    (source of the corpus, source of the recipe) in order; `output` int32 [n] indexes it
    unsampled  source -> documents and bytes that were read but are none of the n

    The first row of a source is `read` (or `routed`), the last two are `holdout` and `train`. Counts add up:
    a row's documents are those of the row before it less what it dropped and what it moved to other sources.
    """
    rows = []
    for index, name in enumerate(names):
        mine = source == index
        left = mine.copy()
        text_bytes = bytes_read
        read = _row(name, "read", left, text_bytes)
        rows.append(read | {key: read[key] + count for key, count in unsampled[name].items()})
        if unsampled[name]["documents"]:
            gone = {"not_sampled": unsampled[name]["documents"]}
            rows.append(read | {"stage": "sample", "dropped": gone, "joint": gone})
        for label in steps:
            if label in applies and name not in applies[label]:
                continue
            if label in rewriting:
                text_bytes = bytes_final
            first, joint = {}, {}
            for number, (owner, reason) in enumerate(verdicts.reasons, start=1):
                if owner == label:
                    hit = mine & verdicts.first(number)
                    left &= ~hit
                    first[reason] = int(hit.sum())
                    joint[reason] = int((mine & verdicts.joint(number)).sum())
            if label in applies or any(first.values()):
                rows.append(_row(name, label, left, text_bytes, first, joint))
        places = [(place, made) for place, (made, origin) in enumerate(outputs) if origin == name]
        if [made for _, made in places] != [name]:
            stays = np.zeros(len(left), dtype=bool)
            moved = {}
            for place, made in places:
                if made == name:
                    stays |= output == place
                else:
                    moved[made] = int((left & (output == place)).sum())
            rows.append(_row(name, "routed", left & stays, bytes_final) | {"moved": moved})
        for place, made in places:
            mine_now = left & (output == place)
            if made != name:
                rows.append(_row(made, "routed", mine_now, bytes_final))
            rows.append(_row(made, "holdout", mine_now & heldout, bytes_final))
            rows.append(_row(made, "train", mine_now & ~heldout, bytes_final))
    return rows


def _row(
    source: str,
    stage: str,
    rows: Rows,
    text_bytes: npt.NDArray[np.int64],
    first: Mapping[str, int] | None = None,
    joint: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    return {
        "source": source,
        "stage": stage,
        "documents": int(rows.sum()),
        "text_bytes": int(text_bytes[rows].sum()),
        "dropped": {reason: count for reason, count in (first or {}).items() if count},
        "joint": {reason: count for reason, count in (joint or {}).items() if count},
    }
