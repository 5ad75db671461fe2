"""One chunk of documents through the chain of its source: what every step measures and rewrites on the way.

Only the columns that are missing are made. An expensive step sees the documents that its gates did not drop;
the others get zeros, nulls and `measured` false. What an expensive step rewrote earlier is read back, and so
are the columns of gates that are there already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.batch import Batch
from dataprep.cache import Cache
from dataprep.chain import BASE, FINAL, ColumnSet, Link
from dataprep.columnfile import Column, read_columns
from dataprep.columns import Texts, concat
from dataprep.kernels.hashing import hash128, hash_normalized
from dataprep.stages.cuts import Cuts
from dataprep.stages.rewrites import Rewrites, changed, laid_over
from dataprep.steps.base import CorpusEdit, Decision, Edit, Ragged, Rule, Transform

STAGE = "measure"
COLUMNS = "columns.arrow"
REWRITES = "rewrites.arrow"
MEASURED = "measured"
"""Column of an expensive step: whether it saw the document."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What one column set takes from a chunk: columns [n]; of a CorpusEdit the units or hits of its texts; of
    an expensive step the texts that it changed, with their rows in the split."""

    columns: Mapping[str, Column]
    ragged: Ragged | None = None
    rows: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    texts: Texts = field(default_factory=lambda: concat([]))


def _deepest(missing: Sequence[ColumnSet]) -> int:
    """Place of the last link that a walk goes through; -1 for none."""
    return max((each.position for each in missing if each.name != BASE), default=-1)


def _last_gated(chain: Sequence[Link], missing: Sequence[ColumnSet]) -> int:
    """Place of the last link that must know what its gates dropped; 0 where none must."""
    wanted = {each.name for each in missing}
    return max(
        (place for place, link in enumerate(chain) if link.is_expensive and link.label in wanted), default=0
    )


def read_back(chain: Sequence[Link], missing: Sequence[ColumnSet]) -> tuple[list[str], list[str]]:
    """What a walk that makes the missing sets takes from those that are there: labels of the steps whose
    rewritten texts it reads, and of the gates whose columns it reads."""
    wanted = {each.name for each in missing}
    links = chain[: _deepest(missing) + 1]
    rewrites = [
        link.label for link in links if link.is_expensive and link.rewrites and link.label not in wanted
    ]
    gates = [
        link.label
        for link in links[: _last_gated(chain, missing)]
        if link.is_gate and link.label not in wanted
    ]
    return rewrites, gates


class Walk:
    """Takes the chunks of one split in order."""

    def __init__(
        self, chain: Sequence[Link], missing: Sequence[ColumnSet], known: Mapping[str, str], cache: Cache
    ) -> None:
        """`missing`: the column sets to make; `known`: the keys of those that are there."""
        self._wanted = {each.name for each in missing}
        self._links = chain[: _deepest(missing) + 1]
        self._gates = _last_gated(chain, missing)
        rewrites, gates = read_back(chain, missing)
        self._rewrites = {
            label: Rewrites(cache.get(STAGE, known[label]).file(REWRITES)) for label in rewrites
        }
        self._columns = {label: read_columns(cache.get(STAGE, known[label]).file(COLUMNS)) for label in gates}
        self._cuts = {link.label: Cuts.of_link(link, cache) for link in self._links if link.cut is not None}
        self._row = 0

    def through(self, batch: Batch) -> Iterator[tuple[str, Measured]]:
        """Yield the name and the columns of every missing set but `base`, in the order of the chain."""
        count = len(batch)
        rows = np.arange(self._row, self._row + count)
        alive = np.ones(count, dtype=bool)
        for place, link in enumerate(self._links):
            if isinstance(link.step, CorpusEdit) and link.units in self._wanted:
                ragged, signals = link.step.measure(batch, link.params)
                yield link.units, Measured(signals, ragged)
            batch, measured = self._step(link, batch, alive, rows)
            if link.label in self._wanted:
                assert measured is not None
                yield link.label, measured
            if place < self._gates and link.is_gate:
                columns: Any = self._columns.get(link.label)
                if columns is None:
                    assert measured is not None
                    columns = measured.columns
                else:
                    columns = {name: each[self._row : self._row + count] for name, each in columns.items()}
                alive &= ~dropped(link, columns)
        if FINAL in self._wanted:
            yield FINAL, Measured(final_columns(batch))
        self._row += count

    def _step(
        self, link: Link, batch: Batch, alive: npt.NDArray[np.bool_], rows: Rows
    ) -> tuple[Batch, Measured | None]:
        step, wanted = link.step, link.label in self._wanted
        if link.is_expensive:
            if wanted:
                return _only_alive(link, batch, alive, rows)
            if link.rewrites:
                return batch.with_texts(self._rewrites[link.label].over(batch.texts, rows)), None
            return batch, None
        if isinstance(step, Transform):
            return batch.with_texts(step.apply(batch, link.params)), None
        if isinstance(step, CorpusEdit):
            if link.cut is None or not link.rewrites:
                return batch, None  # the last link of this walk, or one that changes no text
            cuts = self._cuts[link.label]
            texts, signals = step.cut(batch, link.params, *cuts.of(rows))
            return batch.with_texts(texts), Measured({**signals, **cuts.columns(rows)})
        if isinstance(step, Edit) and (wanted or link.rewrites):
            texts, signals = step.edit(batch, link.params)
            return batch.with_texts(texts), Measured(signals)
        if wanted:
            assert isinstance(step, Rule | Decision)
            return batch, Measured(step.measure(batch, link.params))
        return batch, None


def dropped(link: Link, columns: Mapping[str, Column]) -> npt.NDArray[np.bool_]:
    """bool [n]: what the checks of a rule or an edit drop."""
    assert isinstance(link.step, Rule | Edit | CorpusEdit)
    checks = link.step.checks(dict(columns), link.params)
    count = len(next(iter(columns.values())))
    return np.logical_or.reduce([np.zeros(count, dtype=bool), *(check.dropped for check in checks)])


def final_columns(batch: Batch) -> dict[str, Column]:
    """The text as it will be tokenized: its hash, the hash that hold-out looks at, and its size."""
    texts = batch.texts
    return {
        "content_hash": hash128(texts.data, texts.offsets),
        "holdout_hash": hash_normalized(texts.data, texts.offsets),
        "text_bytes": texts.lengths,
    }


def _only_alive(link: Link, batch: Batch, alive: npt.NDArray[np.bool_], rows: Rows) -> tuple[Batch, Measured]:
    """Run an expensive step on the documents that are alive."""
    places = np.flatnonzero(alive)
    seen = batch if len(places) == len(batch) else batch.take(places)
    step, texts = link.step, seen.texts
    signals: Mapping[str, Column] = {}
    if isinstance(step, Transform):
        texts = step.apply(seen, link.params)
    elif isinstance(step, Edit):
        texts, signals = step.edit(seen, link.params)
    else:
        assert isinstance(step, Rule)
        signals = step.measure(seen, link.params)
    columns = {name: _spread(column, alive) for name, column in signals.items()}
    columns[MEASURED] = alive.copy()
    new = changed(seen.texts, texts)
    taken = texts.take(new)
    batch = batch.with_texts(laid_over(batch.texts, places[new], taken))
    return batch, Measured(columns, None, rows[places[new]], taken)


def _spread(column: Column, alive: npt.NDArray[np.bool_]) -> Column:
    """A column of the documents that are alive as one of all: zeros or nulls for the others."""
    if isinstance(column, np.ndarray):
        full = np.zeros((len(alive), *column.shape[1:]), dtype=column.dtype)
        full[alive] = column
        return full
    if not len(column):
        return pa.nulls(len(alive), column.type)
    places = np.cumsum(alive) - 1
    return column.take(pa.array(places, mask=~alive))
