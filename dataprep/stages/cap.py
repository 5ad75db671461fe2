"""CAP: where the `max_bytes` of a source falls, one task a source that has one.

Memory: about 50 bytes a document of the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dataprep.cache import Cache, key_of
from dataprep.chain import BASE
from dataprep.decide.capped import cut_of
from dataprep.recipe import Recipe
from dataprep.stages.base import Task
from dataprep.stages.groups import Columns, Group, columns_digest, group_of

STAGE = "cap"
VERSION = 1


def capped_sources(recipe: Recipe) -> list[str]:
    return [name for name, source in recipe.sources.items() if source.max_bytes is not None]


def tasks_of(recipe: Recipe, groups: Sequence[Group]) -> list[Task]:
    tasks = []
    for name in capped_sources(recipe):
        mine = [part for group in groups if (part := _of_source(group, name)).splits]
        limit = recipe.sources[name].max_bytes
        components = {
            "version": VERSION,
            "columns": [columns_digest(group) for group in mine],
            "limit": limit,
        }
        payload = {"groups": [group.to_json() for group in mine], "limit": limit}
        tasks.append(Task(name, key_of(components), components, payload))
    return tasks


def _of_source(group: Group, source: str) -> Group:
    """The splits of one source only, with their `base` columns."""
    members = [index for index, split in enumerate(group.splits) if split["source"] == source]
    splits = tuple({"source": source, "keys": {BASE: group.splits[index]["keys"][BASE]}} for index in members)
    return Group(group.number, group.first, group.start, tuple(group.counts[i] for i in members), splits)


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    """`cut`: see `decide/capped.py`. There is no file."""
    parts = [
        Columns(group_of(group), cache).all(BASE, "raw_hash", "text_bytes") for group in payload["groups"]
    ]
    if not parts:
        return {"cut": None}
    raw_hash, text_bytes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return {"cut": cut_of(raw_hash, text_bytes, payload["limit"])}
