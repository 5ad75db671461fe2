"""MEASURE: one read over a split; per document the hashes and signals that the steps ask for.

A task has several column sets (see chain.py), each an entry of its own in the cache, and computes only
those that are missing. `base` holds identity (id, place, raw hash, bytes of text as read) and the
quarantine; `final` holds hashes of the text after all steps; every rule, edit and decision has a set of its
own. No text is kept but what an expensive step rewrote. How a chunk goes through the chain is in `walk.py`.

Memory: one chunk of text and the columns of one split.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.arrayfile import ragged_file, save_array
from dataprep.cache import Cache, key_of
from dataprep.chain import BASE, ColumnSet, Link, chain_from_json, chain_to_json, column_sets
from dataprep.columnfile import Column, write_columns
from dataprep.readers import BadRecord, Damage, ReadOptions, Split
from dataprep.stages.base import (
    Task,
    digest_split,
    identify_split,
    input_changed,
    options_from_json,
    split_label,
)
from dataprep.stages.reading import Reading, nothing_read, read_chunks
from dataprep.stages.rewrites import RewriteWriter
from dataprep.stages.walk import COLUMNS, REWRITES, STAGE, Measured, Walk, read_back
from dataprep.steps.base import Ragged

QUARANTINE = "quarantine.jsonl"

__all__ = ["COLUMNS", "QUARANTINE", "REWRITES", "STAGE", "SplitPlan", "execute", "raw_digest", "task_of"]


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
    missing = _missing(sets, keys, chain, cache)
    if missing:
        collectors = {each.name: _collector(each, chain, cache) for each in missing}
        known = {each.name: keys[each.name] for each in sets if each not in missing}
        try:
            digest = _read(split, options, Walk(chain, missing, known, cache), collectors)
            if _has_changed(split) or (base is not None and digest != base.facts["raw_digest"]):
                raise input_changed(split_label(split))
            seconds = (time.perf_counter() - started) / len(missing)
            for each in missing:
                facts = collectors[each.name].save(split)
                cache.commit(
                    collectors[each.name].folder,
                    STAGE,
                    keys[each.name],
                    components=each.components,
                    facts=facts,
                    seconds=seconds,
                )
        except BaseException:
            for collector in collectors.values():
                shutil.rmtree(collector.folder, ignore_errors=True)
            raise
    return {"digests": digests, "keys": keys, "computed": [each.name for each in missing]}


def _missing(
    sets: Sequence[ColumnSet], keys: Mapping[str, str], chain: Sequence[Link], cache: Cache
) -> list[ColumnSet]:
    """The sets to make: those that are not there, and those that these rest on and that were damaged since
    they were made."""
    while True:
        missing = [each for each in sets if cache.find(STAGE, keys[each.name]) is None]
        rewrites, gates = read_back(chain, missing)
        damaged = [
            key
            for key in (keys[name] for name in {*rewrites, *gates})
            if not cache.get(STAGE, key).is_intact()
        ]
        if not damaged:
            return missing
        for key in damaged:
            cache.discard(STAGE, key)


def _read(split: Split, options: ReadOptions, walk: Walk, collectors: Mapping[str, _Collector]) -> str:
    """Walk the split once and hand every column set its documents. Returns the digest of the raw hashes."""
    raw_hashes = []
    for reading in _readings(split, options):
        raw_hashes.append(reading.batch.raw_hash)
        base = collectors.get(BASE)
        if isinstance(base, _Base):
            base.add_reading(reading)
        for name, measured in walk.through(reading.batch):
            collectors[name].add(measured, len(reading.batch))
    return raw_digest(raw_hashes)


def _readings(split: Split, options: ReadOptions) -> Iterator[Reading]:
    """The documents of a split, and an empty batch first, so that a split without any has typed columns
    too."""
    yield nothing_read(options)
    yield from read_chunks(split, options)


class _Collector:
    """Gathers one column set over the chunks of a split, in the folder of an attempt."""

    def __init__(self, folder: Path, keeps_texts: bool) -> None:
        self.folder = folder
        self._parts: dict[str, list[Column]] = {}
        self._rewrites = RewriteWriter(folder / REWRITES) if keeps_texts else None
        self._ragged: list[Ragged] = []
        self._documents = 0

    def add(self, measured: Measured, documents: int) -> None:
        self._documents += documents
        for name, column in measured.columns.items():
            self._parts.setdefault(name, []).append(column)
        if measured.ragged is not None:
            self._ragged.append(measured.ragged)
        if self._rewrites is not None:
            self._rewrites.add(measured.rows, measured.texts)

    def save(self, split: Split) -> dict[str, Any]:
        """Write the set; return the facts of its receipt."""
        if self._rewrites is not None:
            self._rewrites.close()
        for name, array in type(self._ragged[0]).join(self._ragged).items() if self._ragged else ():
            save_array(self.folder / ragged_file(name), array)
        write_columns(self.folder / COLUMNS, self.joined())
        return {"documents": self._documents}

    def joined(self) -> dict[str, Column]:
        return {name: _join(parts) for name, parts in self._parts.items()}


class _Base(_Collector):
    """Identity of each document, and what could not become one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, keeps_texts=False)
        self._bad: list[BadRecord] = []
        self._damage: list[Damage] = []
        self._counts: dict[str, int] = {}
        self._unsampled = {"documents": 0, "text_bytes": 0}

    def add_reading(self, reading: Reading) -> None:
        chunk, batch = reading.chunk, reading.batch
        self._unsampled["documents"] += reading.unsampled_documents
        self._unsampled["text_bytes"] += reading.unsampled_bytes
        self._bad.extend(chunk.bad)
        self._damage.extend(chunk.damage)
        for slug, number in chunk.counts.items():
            self._counts[slug] = self._counts.get(slug, 0) + number
        columns = {
            "id": batch.ids,
            "extent": chunk.records.column("extent").to_numpy(),
            "position": chunk.records.column("position").to_numpy(),
            "raw_hash": batch.raw_hash,
            "text_bytes": batch.texts.lengths,
        }
        self.add(Measured(columns), len(batch))

    def save(self, split: Split) -> dict[str, Any]:
        facts = super().save(split)
        columns = self.joined()
        with open(self.folder / QUARANTINE, "w", encoding="utf-8") as file:
            for record in self._bad:
                line = {"file": split.extents[record.extent].file.name, **asdict(record)}
                file.write(json.dumps(line, ensure_ascii=True) + "\n")
        reasons: dict[str, int] = {}
        for record in self._bad:
            reasons[record.reason] = reasons.get(record.reason, 0) + 1
        damage = [{"file": split.extents[each.extent].file.name, **asdict(each)} for each in self._damage]
        return facts | {
            "text_bytes": int(columns["text_bytes"].sum()),
            "raw_digest": raw_digest([columns["raw_hash"]]),
            "unsampled": self._unsampled,
            "bad": len(self._bad),
            "bad_reasons": dict(sorted(reasons.items())),
            "damage": damage,
            "counts": dict(sorted(self._counts.items())),
            "files": len(split.extents),
        }


def _collector(each: ColumnSet, chain: Sequence[Link], cache: Cache) -> _Collector:
    if each.name == BASE:
        return _Base(cache.begin())
    keeps_texts = any(link.label == each.name and link.is_expensive and link.rewrites for link in chain)
    return _Collector(cache.begin(), keeps_texts)


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
