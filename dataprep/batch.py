"""`Batch`: some documents as a step sees them: their texts, and beside each its id and the fields that its
source carries.

Nothing of files, splits or passes. Everything a step returns has as many rows, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.columns import Texts
from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Bytes, Offsets

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """n documents.

    texts     as the steps above left them
    ids       string [n]: the records' own ids, null where there is none
    fields    carried field -> string [n]: a JSON string as it is, any other value as JSON text, null where
              it is missing or null
    raw_hash  uint64 [n, 2] of the texts as read, which names a document for good
    """

    texts: Texts
    ids: pa.StringArray
    fields: Mapping[str, pa.StringArray]
    raw_hash: npt.NDArray[np.uint64]
    _derived: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, texts: Texts, ids: Any = None, fields: Mapping[str, Any] | None = None) -> Batch:
        """A batch of texts as read; without ids all are null."""
        strings = pa.nulls(len(texts), pa.string()) if ids is None else pa.array(ids, pa.string())
        columns = {name: pa.array(values, pa.string()) for name, values in (fields or {}).items()}
        return cls(texts, strings, columns, hash128(texts.data, texts.offsets))

    def __len__(self) -> int:
        return len(self.texts)

    def derived(self, make: Callable[[Bytes, Offsets], T]) -> T:
        """`make(data, offsets)` of the texts, computed once however many steps ask (words, for example)."""
        if make not in self._derived:
            self._derived[make] = make(self.texts.data, self.texts.offsets)
        return self._derived[make]

    def with_texts(self, texts: Texts) -> Batch:
        """The same documents with other texts."""
        if texts is self.texts:
            return self
        if len(texts) != len(self):
            raise ValueError(f"{len(texts)} texts for {len(self)} documents")
        return Batch(texts, self.ids, self.fields, self.raw_hash)

    def take(self, selection: npt.NDArray[Any]) -> Batch:
        """The documents where a boolean mask [n] is true, or those at the given indices; copies."""
        chosen = np.flatnonzero(selection) if selection.dtype == np.bool_ else selection
        indices = pa.array(chosen)
        fields = {name: column.take(indices) for name, column in self.fields.items()}
        return Batch(self.texts.take(chosen), self.ids.take(indices), fields, self.raw_hash[chosen])
