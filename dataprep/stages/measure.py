"""MEASURE: one read over a split; per document the hashes and signals that the steps ask for.

A task has several column sets (see chain.py), each an entry of its own in the cache, and computes only
those that are missing. `base` holds identity (id, place, raw hash, bytes of text as read) and the
quarantine; `final` holds hashes of the text after all transforms; every rule and decision has a set of its
own. No text is kept.

Memory: one chunk of text and the columns of one split.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.batch import Batch
from dataprep.cache import Cache, key_of
from dataprep.chain import (
    BASE,
    FINAL,
    ColumnSet,
    Link,
    chain_from_json,
    chain_to_json,
    column_sets,
    transforms_of,
)
from dataprep.columnfile import Column, write_columns
from dataprep.columns import Texts, texts_from_arrow
from dataprep.kernels.hashing import hash128, hash_normalized
from dataprep.readers import READERS, BadRecord, Chunk, Damage, ReadOptions, Split
from dataprep.readers.records import RECORD_SCHEMA
from dataprep.stages.base import (
    Task,
    digest_split,
    identify_split,
    input_changed,
    options_from_json,
    split_label,
)
from dataprep.steps.base import Decision, Rule

STAGE = "measure"
COLUMNS = "columns.arrow"
QUARANTINE = "quarantine.jsonl"


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """A split of the listing with all that its MEASURE task needs. `digests` is None where not identified."""

    split: Split
    options: ReadOptions
    chain: tuple[Link, ...]
    digests: tuple[str | None, ...]

    @property
    def label(self) -> str:
        return split_label(self.split)

    @property
    def sets(self) -> list[ColumnSet]:
        return column_sets(self.chain, self.split.format, self.options)

    @property
    def digest(self) -> str | None:
        known = [digest for digest in self.digests if digest is not None]
        return digest_split(self.split, known) if len(known) == len(self.digests) else None

    def keys(self) -> dict[str, str] | None:
        """Key of every column set, or None while the split is not identified."""
        digest = self.digest
        return None if digest is None else set_keys(self.sets, digest)


def set_keys(sets: Sequence[ColumnSet], split_digest: str) -> dict[str, str]:
    return {each.name: key_of({"split": split_digest, **each.components}) for each in sets}


def task_of(plan: SplitPlan) -> Task:
    """The task that completes the columns of a split."""
    payload = {
        "split": plan.split.to_dict(),
        "options": asdict(plan.options),
        "chain": chain_to_json(plan.chain),
        "digests": list(plan.digests),
    }
    components = {each.name: each.components for each in plan.sets}
    return Task(plan.label, plan.digest, components, payload)


def execute(payload: Mapping[str, Any], cache: Cache) -> dict[str, Any]:
    """Compute and commit the missing column sets of one split.

    Returns `digests` (one an extent), `keys` (column set -> key) and `computed` (names of the sets made now).
    """
    started = time.perf_counter()
    split = Split.from_dict(payload["split"])
    options = options_from_json(payload["options"])
    chain = chain_from_json(payload["chain"])
    sets = column_sets(chain, split.format, options)
    digests = identify_split(split, payload["digests"])
    keys = set_keys(sets, digest_split(split, digests))
    base = cache.find(STAGE, keys[BASE])
    if base is None and any(payload["digests"]):
        # No columns to hold the text against: a digest that is known by size and time alone is not enough.
        digests = identify_split(split, [None] * len(digests))
        keys = set_keys(sets, digest_split(split, digests))
        base = cache.find(STAGE, keys[BASE])
    missing = [each for each in sets if cache.find(STAGE, keys[each.name]) is None]
    if missing:
        collectors = {each.name: _collector(each, chain) for each in missing}
        digest = _read(split, options, transforms_of(chain), missing, collectors)
        if _has_changed(split) or (base is not None and digest != base.facts["raw_digest"]):
            raise input_changed(split_label(split))
        seconds = (time.perf_counter() - started) / len(missing)
        for each in missing:
            attempt = cache.begin()
            facts = collectors[each.name].save(attempt, split)
            cache.commit(
                attempt, STAGE, keys[each.name], components=each.components, facts=facts, seconds=seconds
            )
    return {"digests": digests, "keys": keys, "computed": [each.name for each in missing]}


def _read(
    split: Split,
    options: ReadOptions,
    transforms: Sequence[Link],
    sets: Sequence[ColumnSet],
    collectors: Mapping[str, _Collector],
) -> str:
    """Walk the split once and hand every set its texts, transformed as far as the set stands in the
    recipe. Returns the `raw_digest` of what was read, for comparison with a `base` that is not in `sets`."""
    deepest = max(each.above for each in sets)
    raw_hashes = []
    for chunk in _chunks(split, options):
        text = texts_from_arrow(chunk.records.column("text"))
        if BASE not in collectors:
            raw_hashes.append(hash128(text.data, text.offsets))
        for above in range(deepest + 1):
            if above:
                link = transforms[above - 1]
                text = link.step.apply(Batch.of(text), link.params)  # type: ignore[union-attr]
            for each in sets:
                if each.above == above:
                    collectors[each.name].add(chunk, text)
    return raw_digest(raw_hashes)


def _chunks(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """The chunks of a split, and an empty one first, so that a split without documents has typed columns
    too."""
    yield Chunk(pa.RecordBatch.from_pylist([], schema=RECORD_SCHEMA))
    yield from READERS[split.format].read(split, options)


class _Collector(ABC):
    """Gathers one column set over the chunks of a split."""

    def __init__(self) -> None:
        self.parts: dict[str, list[Column]] = {}

    def add(self, chunk: Chunk, texts: Texts) -> None:
        for name, column in self.columns(chunk, texts).items():
            self.parts.setdefault(name, []).append(column)

    @abstractmethod
    def columns(self, chunk: Chunk, texts: Texts) -> dict[str, Column]:
        """The columns of one chunk; `texts` are its texts as the transforms above the set left them."""

    def joined(self) -> dict[str, Column]:
        return {name: _join(parts) for name, parts in self.parts.items()}

    def save(self, folder: Path, split: Split) -> dict[str, Any]:
        columns = self.joined()
        write_columns(folder / COLUMNS, columns)
        return {"documents": len(next(iter(columns.values())))}


class _Base(_Collector):
    """Identity of each document, and what could not become one."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: list[BadRecord] = []
        self.damage: list[Damage] = []

    def columns(self, chunk: Chunk, texts: Texts) -> dict[str, Column]:
        self.bad.extend(chunk.bad)
        self.damage.extend(chunk.damage)
        return {
            "id": chunk.records.column("id"),
            "extent": chunk.records.column("extent").to_numpy(),
            "position": chunk.records.column("position").to_numpy(),
            "raw_hash": hash128(texts.data, texts.offsets),
            "text_bytes": texts.lengths,
        }

    def save(self, folder: Path, split: Split) -> dict[str, Any]:
        facts = super().save(folder, split)
        columns = self.joined()
        with open(folder / QUARANTINE, "w", encoding="utf-8") as file:
            for record in self.bad:
                line = {"file": split.extents[record.extent].file.name, **asdict(record)}
                file.write(json.dumps(line, ensure_ascii=True) + "\n")
        reasons: dict[str, int] = {}
        for record in self.bad:
            reasons[record.reason] = reasons.get(record.reason, 0) + 1
        damage = [{"file": split.extents[each.extent].file.name, **asdict(each)} for each in self.damage]
        return facts | {
            "text_bytes": int(columns["text_bytes"].sum()),
            "raw_digest": raw_digest([columns["raw_hash"]]),
            "bad": len(self.bad),
            "bad_reasons": dict(sorted(reasons.items())),
            "damage": damage,
            "files": len(split.extents),
        }


class _Final(_Collector):
    """The text as it will be tokenized: its hash, the hash that hold-out looks at, and its size."""

    def columns(self, chunk: Chunk, texts: Texts) -> dict[str, Column]:
        return {
            "content_hash": hash128(texts.data, texts.offsets),
            "holdout_hash": hash_normalized(texts.data, texts.offsets),
            "text_bytes": texts.lengths,
        }


class _Signals(_Collector):
    """The signals of one rule or decision."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        assert isinstance(link.step, Rule | Decision)
        self.step, self.params = link.step, link.params

    def columns(self, chunk: Chunk, texts: Texts) -> dict[str, Column]:
        return dict(self.step.measure(Batch.of(texts), self.params))


def _collector(each: ColumnSet, chain: Sequence[Link]) -> _Collector:
    if each.name == BASE:
        return _Base()
    if each.name == FINAL:
        return _Final()
    return _Signals(next(link for link in chain if link.label == each.name))


def _join(parts: Sequence[Column]) -> Column:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return pa.concat_arrays(parts)


def raw_digest(hashes: Sequence[Any]) -> str:
    """Digest of the raw hashes of a split in reading order: WRITE must see the same documents again."""
    digest = hashlib.blake2b(digest_size=16)
    for part in hashes:
        digest.update(np.ascontiguousarray(part, dtype="<u8").tobytes())
    return digest.hexdigest()


def _has_changed(split: Split) -> bool:
    """Whether a file of the split is of another size or time than when it was listed."""
    files = [(extent.file, os.stat(extent.file.path)) for extent in split.extents]
    return any((stat.st_size, stat.st_mtime_ns) != (file.size_bytes, file.mtime_ns) for file, stat in files)
