"""FIT: the documents of one shard fitted into rows of one length (`shards: {pack: best_fit}`).

One task a shard and length; see `dataprep/fit.py`. It reads the index of the shard alone, so another length
of row runs nothing else again. Memory: about 100 bytes a document of the shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dataprep.cache import Cache, Entry, key_of
from dataprep.fit import VERSION, fit_shard
from dataprep.recipe import Recipe
from dataprep.stages import pack
from dataprep.stages.base import Task
from manifests.packing import packing_path

STAGE = "fit"


def file_of(sequence_length: int) -> str:
    """The file of an entry."""
    return packing_path(pack.STEM, sequence_length).name


def tasks_of(recipe: Recipe, packed: Sequence[tuple[Task, Entry]]) -> list[Task]:
    """For each length of row the tasks of all shards. `packed`: the tasks of PACK and their entries."""
    tasks = []
    for sequence_length in recipe.shards.sequence_lengths:
        for task, entry in packed:
            components = {"version": VERSION, "shard": entry.key, "sequence_length": sequence_length}
            payload = {"shard": entry.key, "sequence_length": sequence_length}
            label = f"{task.label} {sequence_length}"
            tasks.append(Task(label, key_of(components), components, payload))
    return tasks


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    """Write the packing; its facts are those of `lists.ShardPacking`, but for the shard's name."""
    length = payload["sequence_length"]
    shard = cache.get(pack.STAGE, payload["shard"]).folder / pack.STEM
    return fit_shard(shard, length, folder / file_of(length)).model_dump(exclude={"shard"})
