"""`within:` of the steps that look for duplicates: documents of different groups are never duplicates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Cache
from dataprep.kernels.xxh3 import hash64
from dataprep.stages.groups import Columns, Group, signal_of

GROUP = "group"
"""Signal of a step with `within: {field: ...}`: uint64, a hash of the field's value."""


def grouped(
    group: Group, label: str, within: Any, rows: npt.NDArray[np.int64], cache: Cache
) -> npt.NDArray[np.uint64] | None:
    """uint64 of the documents at `rows`, different for what must be kept apart; None for the whole corpus."""
    if within == "corpus":
        return None
    if within == "source":
        names = sorted({split["source"] for split in group.splits})
        numbers = np.array([hash64(name.encode()) for name in names], dtype=np.uint64)
        return numbers[Columns(group, cache).sources(names)[rows]]
    found: npt.NDArray[np.uint64] = signal_of(group, label, GROUP, rows, cache)
    return found
