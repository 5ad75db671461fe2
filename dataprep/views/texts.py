"""The texts of some documents of the last run, as a step saw them: those of a split in one reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.plan import Plans
from dataprep.stages import reread


class TextAgain(NamedTuple):
    """The beginning of a text, and how many bytes it has in all."""

    beginning: bytes
    text_bytes: int


def split_places(plans: Plans, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """int64[n, 2]: the split of each document, and its row there."""
    starts = np.array([facts["start"] for facts in plans.decided.facts["splits"]], dtype=np.int64)
    index = np.searchsorted(starts, rows, side="right") - 1
    return np.column_stack([index, rows - starts[index]])


def each_text(plans: Plans, rows: Sequence[int], label: str) -> Iterator[tuple[int, bytes]]:
    """(row, its text above the step `label`), ascending; of a document on which the step does not run, as
    tokenized. Holds a chunk of a split. Raises UserError when an input is not what was measured."""
    wanted = np.unique(np.array(rows, dtype=np.int64))
    places = split_places(plans, wanted)
    for index in np.unique(places[:, 0]).tolist():
        plan = plans.splits[index]
        mine = places[:, 0] == index
        chosen = np.zeros(plans.decided.facts["splits"][index]["documents"], dtype=bool)
        chosen[places[mine, 1]] = True
        payload = reread.payload_of(plan, plans.keys[index], label)
        numbers = iter(wanted[mine].tolist())
        for batch in reread.reread(plan.split, asdict(plan.options), payload, chosen, plans.cache):
            for at in range(len(batch)):
                yield next(numbers), batch.texts[at]


def texts_of(plans: Plans, rows: Sequence[int], label: str, limit_bytes: int) -> dict[int, TextAgain]:
    """Row -> at most `limit_bytes` of that text."""
    found = each_text(plans, rows, label)
    return {row: TextAgain(text[:limit_bytes], len(text)) for row, text in found}
