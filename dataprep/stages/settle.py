"""DOUBTS, SHINGLES and KEEP: exact similarities where an estimate is not enough, and who stays.

DOUBTS (one task) has each borderline pair once and says which documents of which split they need. SHINGLES (a
task a split) reads those documents again, as the step saw them, and writes the hashes of their shingles. KEEP
(one task) settles the pairs and keeps the rank-first maximal independent set (`decide/independent.py`). With
`verify: estimate` there is only KEEP.

Memory: 50 bytes a borderline pair; one chunk of text; `memory` of the recipe, and 50 bytes a document that
is removed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import append_array, mapped, save_array
from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import Link, reader_components, rewriting
from dataprep.decide.bands import distinct_pairs
from dataprep.decide.independent import independent_in_ranges
from dataprep.decide.verify import edges_of
from dataprep.kernels.gather import gather_documents
from dataprep.kernels.shingles import Shingling, jaccard_ppm, shingle_hashes
from dataprep.kernels.texts import offsets_of
from dataprep.older import Older
from dataprep.readers import Split
from dataprep.stages import near, rank, reread
from dataprep.stages.base import Task
from dataprep.stages.measure import SplitPlan
from dataprep.stages.removed import Removals, weights_of, write_keepers, write_removed
from manifests.fingerprint import digest_value

DOUBTS, SHINGLES, KEEP = "doubts", "shingles", "keep"
VERSION = 2
PAIRS, ROWS, HASHES, OFFSETS = "pairs.npy", "rows.npy", "hashes.npy", "offsets.npy"
EDGE_BYTES = 200
"""What an edge takes while it is decided."""
SETTLED_AT_ONCE = 1 << 16

Int64s = npt.NDArray[np.int64]


def doubts_task(paired: Sequence[Entry], ranked: Entry, starts: Int64s, older: Sequence[Older]) -> Task:
    """starts: int64[splits + 1], first row of each split."""
    keys = [entry.key for entry in paired]
    components = {
        "version": VERSION,
        "pairs": digest_value(keys),
        "ranks": ranked.key,
        "starts": digest_value(starts.tolist()),
    }
    payload = {"pairs": keys, "starts": starts.tolist(), "ranks": rank.reference(ranked, older)}
    return Task("all pairs", key_of(components), components, payload)


def collect_doubts(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    """`splits`: [split, first, last, digest]: rows first to last of `rows.npy` are of that split."""
    parts = [mapped(cache.get(near.PAIRS, key).file(near.BORDERLINE))[:, :2] for key in payload["pairs"]]
    pairs = distinct_pairs(np.concatenate([np.zeros((0, 2), dtype=np.int64), *parts]))
    save_array(folder / PAIRS, pairs)
    rows = np.sort(rank.of_reference(payload["ranks"], cache).rows(np.unique(pairs)))
    save_array(folder / ROWS, rows)
    starts = np.array(payload["starts"], dtype=np.int64)
    bounds = np.searchsorted(rows, starts)
    splits = []
    for index in np.flatnonzero(np.diff(bounds)).tolist():
        first, last = bounds[index : index + 2].tolist()
        inside = rows[first:last] - starts[index]
        splits.append([index, first, last, hashlib.blake2b(inside.tobytes(), digest_size=16).hexdigest()])
    return {"pairs": len(pairs), "documents": len(rows), "splits": splits}


def shingles_tasks(
    link: Link,
    splits: Sequence[SplitPlan],
    keys: Sequence[Mapping[str, str]],
    doubts: Entry,
    starts: Int64s,
) -> list[Task]:
    """One task a split that holds doubtful documents."""
    params: Any = link.params
    tasks = []
    for index, first, last, digest in doubts.facts["splits"]:
        plan = splits[index]
        above = rewriting(reread.until_step(plan.chain, link.label), plan.options)
        components = {
            "version": VERSION,
            "split": plan.digest,
            "reader": reader_components(plan.split.format, plan.options),
            "above": [described for _, described in above],
            "shingling": asdict(params.shingling),
            "depends": dict(link.step.depends(link.params)),
            "documents": digest,
        }
        payload = {
            "split": plan.split.to_dict(),
            "options": asdict(plan.options),
            "reread": reread.payload_of(plan, keys[index], link.label),
            "shingling": asdict(params.shingling),
            "doubts": doubts.key,
            "rows": [first, last],
            "start": int(starts[index]),
            "documents": int(starts[index + 1] - starts[index]),
        }
        tasks.append(Task(plan.label, key_of(components), components, payload))
    return tasks


def write_shingles(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    first, last = payload["rows"]
    rows = mapped(cache.get(DOUBTS, payload["doubts"]).file(ROWS))[first:last]
    chosen = np.zeros(payload["documents"], dtype=bool)
    chosen[rows - payload["start"]] = True
    shingling = Shingling(**payload["shingling"])
    split = Split.from_dict(payload["split"])
    lengths = [np.zeros(0, dtype=np.int64)]
    with (folder / HASHES).open("wb") as file:
        for batch in reread.reread(split, payload["options"], payload["reread"], chosen, cache):
            hashes, offsets = shingle_hashes(batch.texts.data, batch.texts.offsets, shingling)
            lengths.append(np.diff(offsets))
            append_array(file, hashes)
    save_array(folder / OFFSETS, offsets_of(np.concatenate(lengths)))
    return {"documents": last - first}


def keep_task(
    link: Link,
    paired: Sequence[Entry],
    ranked: Entry,
    removals: Removals,
    memory_bytes: int,
    older: Sequence[Older],
    doubts: Entry | None = None,
    shingled: Sequence[Entry] = (),
) -> Task:
    params: Any = link.params
    components = {
        "version": VERSION,
        "pairs": digest_value([entry.key for entry in paired]),
        "ranks": ranked.key,
        "removals": digest_value(list(removals)),
        "threshold": params.threshold_ppm,
        "doubts": None if doubts is None else doubts.key,
        "shingles": digest_value([entry.key for entry in shingled]),
    }
    payload = {
        **components,
        "pairs": [entry.key for entry in paired],
        "ranks": rank.reference(ranked, older),
        "removals": list(removals),
        "shingles": [entry.key for entry in shingled],
        "memory": memory_bytes,
    }
    return Task("all pairs", key_of(components), components, payload)


def decide_who_stays(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    """Write `removed.npy` and `keepers.npy` (population.py)."""
    ranks = rank.of_reference(payload["ranks"], cache)
    paired = [cache.get(near.PAIRS, key) for key in payload["pairs"]]
    edges = [mapped(entry.file(near.EDGES)) for entry in paired]
    settled = 0
    if payload["doubts"] is not None:
        doubts = cache.get(DOUBTS, payload["doubts"])
        shingles = _Shingles(doubts, [cache.get(SHINGLES, key) for key in payload["shingles"]])
        for pairs in _chunks(mapped(doubts.file(PAIRS))):
            found = np.sort(ranks.rows(np.unique(pairs)))
            hashes, offsets = shingles.of(found)
            places = np.searchsorted(found, ranks.rows(pairs.reshape(-1)).reshape(-1, 2))
            similar = edges_of(pairs, jaccard_ppm(hashes, offsets, places), payload["threshold"])
            edges.append(similar)
            settled += len(similar)
    scratch = folder / "edges"
    scratch.mkdir()
    limit = max(1 << 16, payload["memory"] // EDGE_BYTES)
    parts = [np.zeros((0, 3), dtype=np.int64)]
    for gone in independent_in_ranges(edges, ranks.num_older + ranks.total, limit, scratch):
        pairs = np.column_stack([ranks.rows(gone.documents), ranks.rows(gone.matches)])
        parts.append(np.column_stack([pairs, gone.similarity_ppm]))
    scratch.rmdir()
    removed = np.concatenate(parts)
    write_removed(folder, removed)
    clusters = write_keepers(folder, removed, weights_of(payload["removals"], cache, removed[:, 0]))
    return {
        "removed": len(removed),
        **clusters,
        "settled": settled,
        "edges": sum(len(each) for each in edges),
        "limited": sum(entry.facts["limited"] for entry in paired),
    }


def _chunks(pairs: Int64s) -> Iterator[Int64s]:
    for start in range(0, len(pairs), SETTLED_AT_ONCE):
        yield np.asarray(pairs[start : start + SETTLED_AT_ONCE])


class _Shingles:
    """The shingle hashes of the doubtful documents, in one file a split."""

    def __init__(self, doubts: Entry, entries: Sequence[Entry]) -> None:
        self._rows = mapped(doubts.file(ROWS))
        self._bounds = np.array(
            [first for _, first, _, _ in doubts.facts["splits"]] + [len(self._rows)], dtype=np.int64
        )
        self._entries = entries

    def of(self, rows: Int64s) -> tuple[npt.NDArray[np.uint64], Int64s]:
        """(hashes, offsets) of some documents, ascending."""
        places = np.searchsorted(self._rows, rows)
        which = np.searchsorted(self._bounds, places, side="right") - 1
        parts, lengths = [], []
        for number in np.unique(which).tolist():
            entry = self._entries[number]
            mine = places[which == number] - self._bounds[number]
            offsets = mapped(entry.file(OFFSETS))
            starts, sizes = np.asarray(offsets[mine]), np.asarray(offsets[mine + 1] - offsets[mine])
            taken = np.empty(int(sizes.sum()), dtype=np.uint64)
            if taken.size:
                hashes = np.memmap(entry.file(HASHES), dtype=np.uint64, mode="r")
                gather_documents(hashes, starts, sizes, taken, offsets_of(sizes)[:-1])
            parts.append(taken)
            lengths.append(sizes)
        return np.concatenate(parts), offsets_of(np.concatenate(lengths))
