"""`route:` of a source: which source of the corpus each of its documents becomes part of, by one signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

STAYS = -1


def routed(values: Any, bins: Sequence[Mapping[str, Any] | Sequence[str]]) -> npt.NDArray[np.int32]:
    """int32 [n]: the first of `bins` that a value falls into, or STAYS.

    values  a signal: numpy numbers, or an Arrow string array
    bins    labels (of strings), or {"from": least value or None, "below": limit or None} (of numbers)

    Raises TypeError where a bin is not for such values.
    """
    chosen = np.full(len(values), STAYS, dtype=np.int32)
    for number, each in reversed(list(enumerate(bins))):
        chosen[_falls(values, each)] = number
    return chosen


def _falls(values: Any, each: Mapping[str, Any] | Sequence[str]) -> npt.NDArray[np.bool_]:
    is_text = not isinstance(values, np.ndarray)
    if is_text == isinstance(each, Mapping):
        raise TypeError("labels" if is_text else "from and below")
    if isinstance(each, Mapping):
        inside = np.ones(len(values), dtype=bool)
        if each["from"] is not None:
            inside &= values >= each["from"]
        if each["below"] is not None:
            inside &= values < each["below"]
        return inside
    found = pc.is_in(values, value_set=pa.array(list(each), values.type))
    return found.to_numpy(zero_copy_only=False)
