"""HASHES and COPIES: exact duplicates.

HASHES (a task a group) writes the hashes of its population by partition; COPIES (a task a partition) keeps
the best document of each hash. Memory: the columns of one group; the records of one partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import Link
from dataprep.decide.exact import copies
from dataprep.decide.records import number_of_partitions, read_partition, write_records
from dataprep.kernels.hashing import hash128
from dataprep.older import Older
from dataprep.stages import rank
from dataprep.stages.base import Task
from dataprep.stages.groups import Group, group_of, signal_of
from dataprep.stages.older import compared_in, num_older, older_tasks
from dataprep.stages.population import group_tasks, population
from dataprep.stages.removed import EQUAL_PPM, Removals, weights_of, write_keepers, write_removed
from dataprep.stages.within import grouped
from manifests.fingerprint import digest_value

HASHES, COPIES = "hashes", "copies"
VERSION = 2
NO_TEXT = hash128(np.zeros(0, dtype=np.uint8), np.zeros(2, dtype=np.int64))[0]
"""Documents without text at the step's place are no copies of each other."""
SORTED_BYTES = 100
"""What a record takes while its partition is sorted."""


def hashes_tasks(
    link: Link,
    groups: Sequence[Group],
    judged: Sequence[Entry],
    ranked: Entry,
    removals: Removals,
    memory_bytes: int,
    older: Sequence[Older],
) -> list[Task]:
    """One task a group, and one for each older corpus."""
    total = sum(entry.facts["passed"] for entry in judged) + num_older(older)
    params: Any = link.params
    settings = {
        "version": VERSION,
        "within": params.model_dump(mode="json")["within"],
        "partitions": number_of_partitions(total, SORTED_BYTES, memory_bytes),
    }
    tasks = group_tasks(link, groups, judged, ranked, removals, older, settings)
    return tasks + older_tasks(older, settings)


def write_hashes(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    if "documents" in payload:
        return _write_older(payload, folder)
    group = group_of(payload["group"])
    chosen = population(group, payload["label"], payload["judged"], payload["removals"], cache)
    rows = np.flatnonzero(chosen)
    looked_at = len(rows)
    present = signal_of(group, payload["label"], "present", rows, cache)
    if present is not None:
        rows = rows[present]
    hashes = signal_of(group, payload["label"], "content_hash", rows, cache)
    if hashes is not None:
        some = (hashes != NO_TEXT).any(axis=1)
        rows, hashes = rows[some], hashes[some]
    records = np.zeros((len(rows), 3), dtype=np.uint64)
    if len(rows):
        mixed = grouped(group, payload["label"], payload["within"], rows, cache)
        records[:, :2] = hashes if mixed is None else hashes ^ mixed[:, None]
        records[:, 2] = rank.of_reference(payload["ranks"], cache).of(group.start + rows)
    write_records(folder, records, payload["partitions"])
    return {"population": looked_at, "documents": len(rows), "partitions": payload["partitions"]}


def _write_older(payload: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The hashes of an older corpus, at the ranks before ours."""
    columns, apart = compared_in(payload)
    records = np.empty((len(columns["document"]), 3), dtype=np.uint64)
    records[:, :2] = columns["content_hash"] if apart is None else columns["content_hash"] ^ apart[:, None]
    records[:, 2] = payload["first"] + columns["document"]
    write_records(folder, records, payload["partitions"])
    return {"documents": len(records), "partitions": payload["partitions"]}


def copies_tasks(
    hashed: Sequence[Entry], ranked: Entry, removals: Removals, older: Sequence[Older]
) -> list[Task]:
    """One task a partition."""
    keys = [entry.key for entry in hashed]
    count = hashed[0].facts["partitions"] if hashed else 0
    tasks = []
    for partition in range(count):
        components = {
            "version": VERSION,
            "hashes": digest_value(keys),
            "ranks": ranked.key,
            "removals": digest_value(list(removals)),
            "partition": partition,
        }
        payload = {
            **components,
            "hashes": keys,
            "removals": list(removals),
            "ranks": rank.reference(ranked, older),
        }
        tasks.append(Task(f"partition {partition}", key_of(components), components, payload))
    return tasks


def find_copies(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    folders = [cache.get(HASHES, key).folder for key in payload["hashes"]]
    records = read_partition(folders, payload["partition"], width=3)
    found = copies(records[:, :2], records[:, 2].astype(np.int64))
    ranks = rank.of_reference(payload["ranks"], cache)
    found = found[found[:, 0] >= ranks.num_older]
    removed = np.full((len(found), 3), EQUAL_PPM, dtype=np.int64)
    removed[:, 0], removed[:, 1] = ranks.rows(found[:, 0]), ranks.rows(found[:, 1])
    write_removed(folder, removed)
    clusters = write_keepers(folder, removed, weights_of(payload["removals"], cache, removed[:, 0]))
    return {"documents": len(records), "removed": len(removed), **clusters}
