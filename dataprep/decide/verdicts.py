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

    def joint(self, number: int) -> Rows:
        word, bit = divmod(number - 1, 64)
        return (self.masks[word] >> np.uint64(bit)) & np.uint64(1) > 0


class Tally:
    """Documents and bytes by source and verdict, gathered a part of the documents at a time.

    count    sources
    codes    reasons and 0 for kept
    outputs  sources of the corpus
    """

    def __init__(self, count: int, codes: int, outputs: int) -> None:
        self.documents = np.zeros((count, codes), dtype=np.int64)
        self.bytes_read, self.bytes_final = self.documents.copy(), self.documents.copy()
        self.joint = self.documents.copy()
        self.end_documents = np.zeros((outputs, 2), dtype=np.int64)
        self.end_bytes = self.end_documents.copy()

    def add(
        self,
        source: npt.NDArray[np.int32],
        bytes_read: npt.NDArray[np.int64],
        bytes_final: npt.NDArray[np.int64],
        verdicts: Verdicts,
        heldout: Rows,
        output: npt.NDArray[np.int32],
    ) -> None:
        count, codes = self.documents.shape
        cell = source.astype(np.int64) * codes + verdicts.code
        self.documents += _sums(cell, (count, codes))
        self.bytes_read += _sums(cell, (count, codes), bytes_read)
        self.bytes_final += _sums(cell, (count, codes), bytes_final)
        for number in range(1, codes):
            self.joint[:, number] += np.bincount(source[verdicts.joint(number)], minlength=count)
        ends = np.flatnonzero(verdicts.kept)
        end = output[ends].astype(np.int64) * 2 + heldout[ends]
        self.end_documents += _sums(end, self.end_documents.shape)
        self.end_bytes += _sums(end, self.end_bytes.shape, bytes_final[ends])


def funnel(
    tally: Tally,
    reasons: Sequence[tuple[str, str]],
    names: Sequence[str],
    steps: Sequence[str],
    applies: Mapping[str, Sequence[str]],
    rewriting: frozenset[str],
    outputs: Sequence[tuple[str, str]],
    unsampled: Mapping[str, Mapping[str, int]],
) -> list[dict[str, Any]]:
    """Documents and bytes of each source after each step, with first and joint reasons.

    reasons    (step label, reason) of each code, from code 1 on
    names      sources of the recipe
    steps      labels in the order in which they decide; built-in ones (not in `applies`) show only where they
               drop something
    applies    label -> sources that it runs on
    rewriting  labels of steps that change text: from the first of them on, bytes are those of the final text
    outputs    (source of the corpus, source of the recipe) in order
    unsampled  source -> documents and bytes that were read but are none of those that were tallied

    The first row of a source is `read` (or `routed`), the last two are `holdout` and `train`. Counts add up:
    a row's documents are those of the row before it less what it dropped and what it moved to other sources.
    """
    rows = []
    for index, name in enumerate(names):
        left = np.ones(len(reasons) + 1, dtype=bool)  # codes of the documents that are left
        size = tally.bytes_read[index]
        mine = tally.documents[index]
        read = _row(name, "read", mine.sum(), size.sum())
        rows.append(read | {key: read[key] + count for key, count in unsampled[name].items()})
        if unsampled[name]["documents"]:
            gone = {"not_sampled": unsampled[name]["documents"]}
            rows.append(read | {"stage": "sample", "dropped": gone, "joint": gone})
        for label in steps:
            if label in applies and name not in applies[label]:
                continue
            if label in rewriting:
                size = tally.bytes_final[index]
            first, joint = {}, {}
            for number, (owner, reason) in enumerate(reasons, start=1):
                if owner == label:
                    left[number] = False
                    first[reason] = int(mine[number])
                    joint[reason] = int(tally.joint[index, number])
            if label in applies or any(first.values()):
                rows.append(_row(name, label, mine[left].sum(), size[left].sum(), first, joint))
        places = [(place, made) for place, (made, origin) in enumerate(outputs) if origin == name]
        if [made for _, made in places] != [name]:
            moved = {made: int(tally.end_documents[place].sum()) for place, made in places if made != name}
            stay = [place for place, made in places if made == name]
            row = _row(name, "routed", tally.end_documents[stay].sum(), tally.end_bytes[stay].sum())
            rows.append(row | {"moved": moved})
        for place, made in places:
            if made != name:
                rows.append(
                    _row(made, "routed", tally.end_documents[place].sum(), tally.end_bytes[place].sum())
                )
            for is_held_out, stage in ((1, "holdout"), (0, "train")):
                here = (place, is_held_out)
                rows.append(_row(made, stage, tally.end_documents[here], tally.end_bytes[here]))
    return rows


def _sums(
    cell: npt.NDArray[np.int64], shape: tuple[int, int], weights: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.int64]:
    """int64 of that shape: how many rows are in each cell, or their weights together (exact below 2^53)."""
    sums = np.bincount(cell, weights, minlength=shape[0] * shape[1])
    return sums.astype(np.int64).reshape(shape)


def _row(
    source: str,
    stage: str,
    documents: np.int64,
    text_bytes: np.int64,
    first: Mapping[str, int] | None = None,
    joint: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    return {
        "source": source,
        "stage": stage,
        "documents": int(documents),
        "text_bytes": int(text_bytes),
        "dropped": {reason: count for reason, count in (first or {}).items() if count},
        "joint": {reason: count for reason, count in (joint or {}).items() if count},
    }
