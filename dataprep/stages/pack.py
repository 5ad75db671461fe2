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
from dataprep.keys import NUM_BUCKETS
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
run_manifest.py."""


def tasks_of(recipe: Recipe, written: Mapping[str, Sequence[Entry]], dtype: str) -> list[Task]:
    """One task a shard: every source of the corpus in order, training shards before held-out ones.

    written  source of the corpus -> the finished WRITE entries that hold a run of it
    """
    facts_of = {
        source: [RunFacts.from_json(entry.facts["runs"][source]) for entry in written.get(source, ())]
        for source in recipe.outputs
    }
    ends = _ends(recipe, facts_of)
    tasks = []
    for source, origin in recipe.outputs.items():
        entries, facts = written.get(source, ()), facts_of[source]
        runs = digest_value(sorted(sorted(each.files.items()) for each in facts))
        for subset in SUBSETS:
            histogram = sum_histograms(facts, subset)
            end = ends[origin] if subset == "train" else NUM_BUCKETS
            histogram[end:] = 0
            cuts = plan_cuts(histogram, recipe.shards.tokens)
            for index, cut in enumerate(KeyRange(each.lo, min(each.hi, end)) for each in cuts):
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
                    "source": source,
                    "subset": subset,
                    "range": [cut.lo, cut.hi],
                    "dtype": dtype,
                }
                tasks.append(Task(f"{source} {subset} {index:05d}", key_of(components), components, payload))
    return tasks


def _ends(recipe: Recipe, facts_of: Mapping[str, Sequence[RunFacts]]) -> dict[str, int]:
    """Source of the recipe -> the bucket of shuffle keys before which its training documents end.

    With `max_tokens` it is the last at which all buckets before it hold no more than that: a choice by
    content hash, over all the sources of the corpus that the source is routed to.
    """
    ends = {}
    for name, source in recipe.sources.items():
        ends[name] = NUM_BUCKETS
        if source.max_tokens is not None:
            made = [output for output, origin in recipe.outputs.items() if origin == name]
            histogram = sum_histograms([each for output in made for each in facts_of[output]], "train")
            ends[name] = int(np.searchsorted(np.cumsum(histogram), source.max_tokens, side="right"))
    return ends


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    runs = [cache.get(write.STAGE, key).folder / payload["source"] for key in payload["runs"]]
    lo, hi = payload["range"]
    shard = pack_range(runs, payload["subset"], KeyRange(lo, hi), folder / STEM, np.dtype(payload["dtype"]))
    assert shard is not None, "the histogram says that this range holds documents"
    return asdict(shard)
