"""The units of the documents of a split in a file of their own, since a document has any number of them.

`units.arrow` has a row a unit; the column `units` of the split's columns says how many each document has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Entry
from dataprep.columnfile import read_columns, write_columns
from dataprep.columns import offsets_of
from dataprep.kernels.units import Units
from dataprep.stages.walk import COLUMNS

UNITS = "units"
FILE = "units.arrow"

Int64s = npt.NDArray[np.int64]


def write_units(folder: Path, parts: Sequence[Units]) -> Int64s:
    """Write the units of all chunks of a split; return how many each document has."""
    columns = {
        "hash": np.concatenate([part.hashes for part in parts]),
        "start": np.concatenate([part.starts for part in parts]),
        "end": np.concatenate([part.ends for part in parts]),
    }
    write_columns(folder / FILE, columns)
    return np.concatenate([np.diff(part.unit_offsets) for part in parts])


@dataclass(frozen=True, slots=True, eq=False)
class SplitUnits:
    """The units of a split: hashes uint64[m, 2], starts and ends int64[m], offsets int64[documents + 1]."""

    hashes: Any
    starts: Int64s
    ends: Int64s
    offsets: Int64s


def read_units(entry: Entry) -> SplitUnits:
    columns: Any = read_columns(entry.file(FILE))
    counts: Any = read_columns(entry.file(COLUMNS))[UNITS]
    return SplitUnits(columns["hash"], columns["start"], columns["end"], offsets_of(counts))
