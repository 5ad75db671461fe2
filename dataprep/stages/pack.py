"""PACK: one shard. Merges one range of shuffle keys out of every run file of a source (see dataprep/pack.py).

The cuts come from the token histograms in the receipts of WRITE, so they are the same for any number of
splits. A shard's key covers the bytes of all runs of its source, not who wrote them. Memory: one shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dataprep.cache import Cache, Entry, key_of
from dataprep.pack import KeyRange, pack_range, plan_cuts
from dataprep.recipe import Recipe
from dataprep.runs import SUBSETS, RunFacts, sum_histograms
from dataprep.stages import write
from dataprep.stages.base import Task
from manifests.fingerprint import digest_value

STAGE = "pack"
VERSION = 1
STEM = "shard"
"""Files of an entry: shard.bin, shard.idx, shard.documents.parquet, shard.blocks; named for good in
publish.py."""


def tasks_of(recipe: Recipe, written: Mapping[str, Sequence[Entry]], dtype: str) -> list[Task]:
    """One task a shard: every source in recipe order, training shards before held-out ones.

    written  source -> the finished WRITE entries of its splits
    """
    tasks = []
    for source in recipe.sources:
        entries = written.get(source, ())
        facts = [RunFacts.from_json(entry.facts) for entry in entries]
        runs = digest_value(sorted(sorted(each.files.items()) for each in facts))
        for subset in SUBSETS:
            cuts = plan_cuts(sum_histograms(facts, subset), recipe.shards.tokens)
            for index, cut in enumerate(cuts):
                components = {
                    "version": VERSION,
                    "source": source,
                    "subset": subset,
                    "range": [cut.lo, cut.hi],
                    "runs": runs,
                    "dtype": dtype,
                    "depends": {"pyarrow": version("pyarrow")},
                }
                payload = {
                    "runs": [entry.key for entry in entries],
                    "subset": subset,
                    "range": [cut.lo, cut.hi],
                    "dtype": dtype,
                }
                tasks.append(Task(f"{source} {subset} {index:05d}", key_of(components), components, payload))
    return tasks


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    runs = [cache.get(write.STAGE, key).folder for key in payload["runs"]]
    lo, hi = payload["range"]
    shard = pack_range(runs, payload["subset"], KeyRange(lo, hi), folder / STEM, np.dtype(payload["dtype"]))
    assert shard is not None, "the histogram says that this range holds documents"
    return asdict(shard)
