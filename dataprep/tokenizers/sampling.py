"""A sample of texts that is the same for the same texts, however their files are cut and in whatever order
they come.

A text's place in the order of sampling is a keyed hash of it, so a sample is the texts of lowest keys whose
bytes fit a budget. One sixteenth of the keys is kept apart, to measure on what was not trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dataprep.decide.heldout import hash_key
from dataprep.kernels.hashing import hash128, mix128
from dataprep.kernels.texts import Texts, concat, offsets_of

PURPOSE = "tokenizer sample"
HELD_OUT_FROM = np.uint64(15 << 60)
"""High halves of keys from here on: held out."""

MAX_TEXT_BYTES = 1 << 20
"""Of a longer text the beginning counts, so that one file does not become the sample."""

Keys = npt.NDArray[np.uint64]
Labels = npt.NDArray[np.str_]


def key_for(seed: int) -> bytes:
    """The key of the order for a seed."""
    return hash_key(PURPOSE, str(seed))


def keys_of(texts: Texts, key: bytes) -> Keys:
    """uint64 [n, 2]: the place of each text in the order."""
    return mix128(hash128(texts.data, texts.offsets), key)


@dataclass(slots=True)
class Sample:
    """The texts of lowest keys seen so far. Memory: twice the budget, and one batch.

    budget_bytes  texts are taken until they have that many bytes; the last one may go past it
    """

    budget_bytes: int
    documents: int = 0
    """Of all that were offered."""
    num_bytes: int = 0
    """Of all that were offered, as far as they count."""
    _texts: list[Texts] = field(default_factory=list)
    _keys: list[Keys] = field(default_factory=list)
    _labels: list[Labels] = field(default_factory=list)
    _held_bytes: int = 0

    def offer(self, texts: Texts, keys: Keys, labels: Labels | None = None) -> None:
        """labels  something to be told of each text later, such as its language"""
        self.documents += len(texts)
        self.num_bytes += texts.num_bytes
        self._texts.append(texts)
        self._keys.append(keys)
        self._labels.append(np.full(len(texts), "") if labels is None else labels)
        self._held_bytes += texts.num_bytes
        if self._held_bytes > 2 * self.budget_bytes:
            self._prune()

    def texts(self) -> Texts:
        """The sample, in the order of the keys."""
        self._prune()
        return self._texts[0] if self._texts else Texts.from_bytes([])

    def labels(self) -> Labels:
        """Those of `texts()`."""
        self._prune()
        return self._labels[0] if self._labels else np.full(0, "")

    def _prune(self) -> None:
        if not self._texts:
            return
        texts, keys, labels = concat(self._texts), np.concatenate(self._keys), np.concatenate(self._labels)
        # Equal texts have equal keys; which of their labels comes first must not be the order of files.
        order = np.lexsort((labels, keys[:, 1], keys[:, 0]))
        before = offsets_of(texts.lengths[order])[:-1]
        chosen = order[before < self.budget_bytes]
        self._texts, self._keys, self._labels = [texts.take(chosen)], [keys[chosen]], [labels[chosen]]
        self._held_bytes = self._texts[0].num_bytes


def beginnings(texts: Texts, limit_bytes: int = MAX_TEXT_BYTES) -> Texts:
    """The texts, of longer ones at most `limit_bytes`, cut before a whole code point."""
    long = np.flatnonzero(texts.lengths > limit_bytes)
    if not long.size:
        return texts
    values = list(texts)
    for index in long.tolist():
        stop = limit_bytes
        while values[index][stop] & 0xC0 == 0x80:
            stop -= 1
        values[index] = values[index][:stop]
    return Texts.from_bytes(values)


def budgets(weights: Sequence[float], total_bytes: int) -> list[int]:
    """Bytes of each source: its weight's share of the total."""
    whole = sum(weights)
    return [int(total_bytes * weight / whole) for weight in weights]
