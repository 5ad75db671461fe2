"""BANDS and PAIRS: which documents may be near-duplicates, and how similar their signatures are.

BANDS (a task a group) writes the records of its population's bands by partition, and the low bytes of the
signatures. PAIRS (a task a partition) compares the candidates: `edges` are similar, `borderline` pairs are
too near the threshold for an estimate and go to `settle.py`, which also says who stays.

Memory: about 1 kB a document of one group; one partition (`decide/partitions.py`, `decide/pairs.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dataprep.arrayfile import save_array
from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import Link
from dataprep.decide.pairs import pairs_of_partition
from dataprep.decide.partitions import (
    FILE,
    Records,
    band_records,
    num_partitions,
    write_partitions,
)
from dataprep.decide.verify import MARGIN_PPM, least_estimate, sole_apart
from dataprep.kernels.minhash import low_bytes
from dataprep.kernels.shingles import SHORT
from dataprep.older import Older
from dataprep.stages import rank
from dataprep.stages.base import Task
from dataprep.stages.groups import Columns, Group, group_of
from dataprep.stages.older import believed, compared_in, num_older, older_tasks
from dataprep.stages.population import group_tasks, population
from dataprep.stages.removed import Removals
from dataprep.stages.signatures import LOW_BYTES, GroupSignatures
from dataprep.stages.within import grouped
from manifests.fingerprint import digest_value

BANDS, PAIRS = "bands", "pairs"
VERSION = 3
EDGES, BORDERLINE = "edges.npy", "borderline.npy"
"""int64[k, 3]: (rank of the better, of the worse, similarity in millionths)."""


def bands_tasks(
    link: Link,
    groups: Sequence[Group],
    judged: Sequence[Entry],
    ranked: Entry,
    removals: Removals,
    memory_bytes: int,
    older: Sequence[Older],
) -> list[Task]:
    """One task a group, and one for each older corpus."""
    params: Any = link.params
    bands, rows = params.banding
    total = sum(each.facts["passed"] for each in judged) + num_older(older)
    settings = {
        "version": VERSION,
        "bands": bands,
        "rows": rows,
        "permutations": params.permutations,
        "sole_apart": sole_apart(params.threshold_ppm),
        "within": params.model_dump(mode="json")["within"],
        "partitions": num_partitions(total, bands, memory_bytes),
    }
    tasks = group_tasks(link, groups, judged, ranked, removals, older, settings)
    documents = sum(group.documents for group in groups)
    return tasks + older_tasks(older, {**settings, "total": documents})


def write_bands(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    if "documents" in payload:
        return _write_older(payload, folder)
    group, label = group_of(payload["group"]), payload["label"]
    chosen = population(group, label, payload["judged"], payload["removals"], cache)
    ranks = rank.of_reference(payload["ranks"], cache)
    columns = Columns(group, cache)
    low = np.zeros((len(columns), payload["permutations"]), dtype=np.uint8)
    bands, short = payload["bands"], 0
    keys, found = [np.zeros((0, bands + 1), dtype=np.uint64)], [np.zeros(0, dtype=np.int64)]
    for index in range(len(group.splits)):
        place = columns.place(index)
        rows = place.start + np.flatnonzero(chosen[place])
        if len(rows):
            signals = columns.of_split(index, label)
            signatures, sole, flags = (
                signals[name][rows - place.start] for name in ("signature", "sole", "flags")
            )
            short += int((flags == SHORT).sum())
            low[rows] = low_bytes(signatures)
            apart = grouped(group, label, payload["within"], rows, cache)
            mine = ranks.of(group.start + rows)
            records = band_records(
                signatures, mine, apart, bands, payload["rows"], sole if payload["sole_apart"] else None
            )
            keys.append(records.keys)
            found.append(records.ranks)
    save_array(folder / LOW_BYTES, low)
    together = Records(np.concatenate(keys), np.concatenate(found), payload["rows"])
    write_partitions(together, payload["partitions"], folder)
    return {
        "population": int(chosen.sum()),
        "documents": int(chosen.sum()),
        "worded": len(together.ranks),
        "short": short,
        "partitions": payload["partitions"],
        "start": group.start,
    }


def _write_older(payload: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The signatures of an older corpus, at the ranks before ours, and the rows after ours."""
    columns, apart = compared_in(payload)
    signatures = columns["signature"]
    low = np.zeros((payload["count"], payload["permutations"]), dtype=np.uint8)
    low[columns["document"]] = low_bytes(signatures)
    save_array(folder / LOW_BYTES, low)
    ranks = payload["first"] + columns["document"]
    records = band_records(
        signatures,
        ranks,
        apart,
        payload["bands"],
        payload["rows"],
        columns["sole"] if payload["sole_apart"] else None,
    )
    write_partitions(records, payload["partitions"], folder)
    return {
        "documents": payload["count"],
        "worded": len(records.ranks),
        "short": 0,
        "partitions": payload["partitions"],
        "start": payload["total"] + payload["first"],
    }


def pairs_tasks(link: Link, banded: Sequence[Entry], ranked: Entry, older: Sequence[Older]) -> list[Task]:
    """One task a partition."""
    params: Any = link.params
    keys = [entry.key for entry in banded]
    count = banded[0].facts["partitions"] if banded else 0
    tasks = []
    for partition in range(count):
        components = {
            "version": VERSION,
            "bands": digest_value(keys),
            "ranks": ranked.key,
            "partition": partition,
            "limit": params.bucket_limit,
            "threshold": params.threshold_ppm
            if params.verify == "exact"
            else least_estimate(params.threshold_ppm),
            "margin": MARGIN_PPM if params.verify == "exact" else 0,
        }
        payload = {**components, "bands": keys, "ranks": rank.reference(ranked, older)}
        tasks.append(Task(f"partition {partition}", key_of(components), components, payload))
    return tasks


def find_pairs(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    banded = [cache.get(BANDS, key) for key in payload["bands"]]
    ranks = rank.of_reference(payload["ranks"], cache)
    compared = pairs_of_partition(
        [entry.file(FILE) for entry in banded],
        payload["partition"],
        payload["limit"],
        GroupSignatures(banded, ranks),
        payload["threshold"],
        payload["margin"],
    )
    edges, borderline = believed(
        compared.edges, compared.borderline, ranks.num_older, least_estimate(payload["threshold"])
    )
    save_array(folder / EDGES, edges)
    save_array(folder / BORDERLINE, borderline)
    return {
        "edges": len(edges),
        "borderline": len(borderline),
        "limited": int(compared.limited),
    }
