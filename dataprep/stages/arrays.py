"""Arrays in files of their own, mapped by those who read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

HEADER_BYTES = 128


def ragged_file(name: str) -> str:
    """File of an array that a CorpusEdit measured, beside the columns."""
    return f"{name}.npy"


def mapped(path: Path) -> Any:
    """The array in a `.npy` file; an empty one cannot be mapped."""
    is_empty = path.stat().st_size <= HEADER_BYTES
    return np.load(path, mmap_mode=None if is_empty else "r", allow_pickle=False)
