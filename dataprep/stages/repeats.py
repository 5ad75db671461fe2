"""UNITS, REPEATS and CUTS: lines, paragraphs and sentences that several documents have.

    UNITS    a split      hashes of the units of its population, by partition
    REPEATS  a partition  which of them go (`decide/lines.py`)
    CUTS     a split      what that takes out of its texts (`cuts.py`)

The population: documents that the rules above the step kept. Of two copies the one in the better document
stays; how long a document is, is judged by its text as read. Memory: the units of one split, about 60 bytes
each; the records of one partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import mapped, save_array
from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import Link
from dataprep.columnfile import read_columns
from dataprep.decide.lines import in_groups, resolve_units
from dataprep.decide.records import number_of_partitions, read_partition, write_records
from dataprep.kernels.xxh3 import hash64
from dataprep.stages import rank
from dataprep.stages.base import Task
from dataprep.stages.cuts import write_cuts
from dataprep.stages.groups import Group
from dataprep.stages.population import members_of, passed
from dataprep.stages.units import read_units
from dataprep.stages.walk import COLUMNS
from dataprep.stages.walk import STAGE as MEASURE
from dataprep.stages.within import GROUP
from manifests.fingerprint import digest_value

UNITS, REPEATS, CUTS = "units", "repeats", "cuts"
VERSION = 1
GONE = "gone.npy"
"""int64[k, 2]: (row, number of the unit in it) of units that go, ascending."""
BYTES_A_BYTE = 4
"""Memory for the records of a byte of text, while they are resolved: a line of English has 60 bytes."""

Int64s = npt.NDArray[np.int64]


def units_tasks(
    link: Link,
    groups: Sequence[Group],
    judged: Sequence[Entry],
    ranked: Entry,
    text_bytes: int,
    memory_bytes: int,
) -> list[Task]:
    """One task a split."""
    params: Any = link.params
    settings = {
        "within": params.model_dump(mode="json")["within"],
        "partitions": number_of_partitions(text_bytes, BYTES_A_BYTE, memory_bytes),
    }
    tasks = []
    for member in members_of(link, groups):
        components = {
            "version": VERSION,
            "units": member.units(link),
            "source": member.source,
            "start": member.start,
            "passed": member.passed_digest(judged),
            "ranks": ranked.key,
            **settings,
        }
        payload = {
            **components,
            "judged": member.judged(judged),
            "ranks": [ranked.receipt["stage"], ranked.key],
        }
        tasks.append(Task(member.name, key_of(components), components, payload))
    return tasks


def write_unit_records(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    entry = cache.get(MEASURE, payload["units"])
    units = read_units(entry)
    kept = passed(payload["judged"], cache)
    counts = np.diff(units.offsets)
    rows = np.repeat(np.arange(len(counts)), counts)
    chosen = np.flatnonzero(kept[rows])
    rows = rows[chosen]
    hashes = units.hashes[chosen]
    if payload["within"] == "source":
        group = np.full(len(rows), hash64(payload["source"].encode()), dtype=np.uint64)
        hashes = in_groups(hashes, group)
    elif payload["within"] != "corpus":
        columns: Any = read_columns(entry.file(COLUMNS))
        hashes = in_groups(hashes, columns[GROUP][rows])
    ranks = rank.Ranks(cache.get(*payload["ranks"])).of(payload["start"] + np.arange(len(counts)))
    records = np.empty((len(rows), 4), dtype=np.uint64)
    records[:, :2] = hashes
    records[:, 2] = ranks[rows]
    records[:, 3] = chosen - units.offsets[rows]
    write_records(folder, records, payload["partitions"])
    return {"units": len(records), "partitions": payload["partitions"]}


def repeats_tasks(link: Link, listed: Sequence[Entry], ranked: Entry) -> list[Task]:
    """One task a partition."""
    params: Any = link.params
    keys = [entry.key for entry in listed]
    count = listed[0].facts["partitions"] if listed else 0
    tasks = []
    for partition in range(count):
        components = {
            "version": VERSION,
            "units": digest_value(keys),
            "ranks": ranked.key,
            "min_documents": params.min_documents,
            "partition": partition,
        }
        payload = {**components, "units": keys, "ranks": [ranked.receipt["stage"], ranked.key]}
        tasks.append(Task(f"partition {partition}", key_of(components), components, payload))
    return tasks


def find_repeats(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    folders = [cache.get(UNITS, key).folder for key in payload["units"]]
    records = read_partition(folders, payload["partition"], width=4)
    ranks, numbers = records[:, 2].astype(np.int64), records[:, 3].astype(np.int64)
    gone = resolve_units(records[:, :2], ranks, numbers, payload["min_documents"])
    rows = rank.Ranks(cache.get(*payload["ranks"])).rows(ranks[gone])
    found = np.column_stack([rows, numbers[gone]])
    save_array(folder / GONE, found[np.lexsort((found[:, 1], found[:, 0]))])
    return {"units": len(records), "gone": len(found)}


def cuts_tasks(link: Link, groups: Sequence[Group], found: Sequence[Entry]) -> list[Task]:
    """One task a split."""
    keys = [entry.key for entry in found]
    tasks = []
    for member in members_of(link, groups):
        components = {
            "version": VERSION,
            "units": member.units(link),
            "start": member.start,
            "repeats": digest_value(keys),
        }
        payload = {**components, "repeats": keys, "documents": member.count}
        tasks.append(Task(member.name, key_of(components), components, payload))
    return tasks


def write_unit_cuts(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    units = read_units(cache.get(MEASURE, payload["units"]))
    start = payload["start"]
    parts = [np.zeros((0, 2), dtype=np.int64)]
    for key in payload["repeats"]:
        gone = mapped(cache.get(REPEATS, key).file(GONE))
        first, last = np.searchsorted(gone[:, 0], (start, start + payload["documents"]))
        parts.append(np.asarray(gone[first:last]))
    gone = np.concatenate(parts)
    rows = gone[:, 0] - start
    places = units.offsets[rows] + gone[:, 1]
    digest = write_cuts(folder, np.column_stack([rows, units.starts[places], units.ends[places]]))
    return {"cuts": len(gone), "digest": digest}
