"""The units of the documents of a split, as MEASURE left them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import mapped, ragged_file
from dataprep.cache import Entry

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SplitUnits:
    """The units of a split: hashes uint64[m, 2], starts and ends int64[m], offsets int64[documents + 1]."""

    hashes: Any
    starts: Int64s
    ends: Int64s
    offsets: Int64s


def read_units(entry: Entry) -> SplitUnits:
    names = ("hashes", "starts", "ends", "unit_offsets")
    return SplitUnits(*(mapped(entry.file(ragged_file(name))) for name in names))
