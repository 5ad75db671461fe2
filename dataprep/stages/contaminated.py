"""GRAMS, EVIDENCE and EXAMPLES: which documents hold examples of evaluation sets.

    GRAMS     all      in how many documents each n-gram of the sets stands, copies counted once
    EVIDENCE  a split  which documents hold which examples; what goes from them (`cuts.py`)
    EXAMPLES  all      which examples are contaminated, and by which documents

What was found in the texts, MEASURE has left; no text is read. The population: documents that the rules above
the step kept. Memory: the index of the sets (mapped), 8 bytes an n-gram of them, and what was found in all
documents together, some 100 bytes a hit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import mapped, ragged_file, save_array
from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import Link, chain_from_json, chain_to_json
from dataprep.columnfile import read_columns
from dataprep.decide.contamination import (
    Evidence,
    contaminated_texts,
    evidence,
    gram_documents,
    tally,
)
from dataprep.evals.index import EvalIndex
from dataprep.evals.measure import Hits
from dataprep.evals.shared import shared_index
from dataprep.stages.base import Task
from dataprep.stages.cuts import write_cuts
from dataprep.stages.groups import Group
from dataprep.stages.population import members_of, passed
from dataprep.stages.walk import COLUMNS
from dataprep.stages.walk import STAGE as MEASURE
from dataprep.steps.decontaminate import definition_of, files_of, judged
from manifests.fingerprint import digest_value

GRAMS, EVIDENCE, EXAMPLES = "grams", "evidence", "examples"
VERSION = 1
DOCUMENTS = "documents.npy"
"""int64[n-grams of the index]: in how many documents each stands."""
PAIRS = "pairs.npy"
"""int64[p, 7]: see `decide.contamination.Evidence`; documents are rows of the split."""
TEXTS = "texts.npy"
"""bool[texts of the index]: contaminated."""

Int64s = npt.NDArray[np.int64]


def _step(link: Link) -> dict[str, Any]:
    """What of the step the stages depend on."""
    return {
        "parameters": link.params.model_dump(mode="json"),
        "depends": dict(link.step.depends(link.params)),
    }


def grams_task(link: Link, groups: Sequence[Group], judged_by: Sequence[Entry]) -> Task:
    members = members_of(link, groups)
    components = {
        "version": VERSION,
        "hits": digest_value([each.units(link) for each in members]),
        "passed": digest_value([each.passed_digest(judged_by) for each in members]),
        "index": link.step.depends(link.params)["evals"],
    }
    listed = [{"hits": each.units(link), "judged": each.judged(judged_by)} for each in members]
    payload = {"members": listed, "chain": chain_to_json([link])}
    return Task("all documents", key_of(components), components, payload)


def count_grams(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    index = _index(payload)
    hashes = []
    for number, member in enumerate(payload["members"]):
        hits, kept = _hits(member, cache)
        rows = np.unique(hits.grams[:, 0])
        rows = rows[kept[rows]]
        columns: Any = read_columns(cache.get(MEASURE, member["hits"]).file(COLUMNS))
        found = np.empty((len(rows), 4), dtype=np.uint64)
        found[:, :2], found[:, 2], found[:, 3] = columns["content_hash"][rows], number, rows
        hashes.append(found)
    together = np.concatenate([np.zeros((0, 4), dtype=np.uint64), *hashes])
    order = np.lexsort((together[:, 3], together[:, 2], together[:, 1], together[:, 0]))
    together = together[order]
    first = np.ones(len(together), dtype=bool)
    first[1:] = (together[1:, :2] != together[:-1, :2]).any(axis=1)
    counted = together[first, 2:].astype(np.int64)
    documents = np.zeros(index.references.keys.size, dtype=np.int64)
    for number, member in enumerate(payload["members"]):
        hits, kept = _hits(member, cache)
        chosen = np.zeros(len(kept), dtype=bool)
        chosen[counted[counted[:, 0] == number, 1]] = True
        documents += gram_documents(hits, index, chosen)
    save_array(folder / DOCUMENTS, documents)
    return {"documents_with_hits": len(together), "different": int(first.sum())}


def evidence_tasks(
    link: Link, groups: Sequence[Group], judged_by: Sequence[Entry], counted: Entry
) -> list[Task]:
    """One task a split."""
    tasks = []
    for member in members_of(link, groups):
        components = {
            "version": VERSION,
            "hits": member.units(link),
            "passed": member.passed_digest(judged_by),
            "grams": counted.key,
            "step": _step(link),
        }
        payload = {**components, "judged": member.judged(judged_by), "chain": chain_to_json([link])}
        tasks.append(Task(member.name, key_of(components), components, payload))
    return tasks


def write_evidence(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    (link,) = chain_from_json(payload["chain"])
    params: Any = link.params
    index = _index(payload)
    hits, kept = _hits(payload, cache)
    documents = np.asarray(mapped(cache.get(GRAMS, payload["grams"]).file(DOCUMENTS)))
    found = evidence(hits, index, documents, params.rule)
    found = Evidence(found.pairs[kept[found.pairs[:, 0]]], found.excused[kept[found.excused[:, 0]]])
    signals, cuts = judged(hits, index, found, params)
    save_array(folder / PAIRS, found.pairs)
    digest = write_cuts(folder, cuts, signals)
    return {"digest": digest, "pairs": len(found.pairs), "excused": len(found.excused), "cuts": len(cuts)}


def examples_task(link: Link, found: Sequence[Entry], counted: Entry) -> Task:
    keys = [entry.key for entry in found]
    components = {
        "version": VERSION,
        "evidence": digest_value(keys),
        "grams": counted.key,
        "step": _step(link),
    }
    payload = {"evidence": keys, "grams": counted.key, "chain": chain_to_json([link])}
    return Task("all examples", key_of(components), components, payload)


def judge_examples(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    """`sets`: a row of the table each, as `decide.contamination.SetTally`."""
    index = _index(payload)
    documents = np.asarray(mapped(cache.get(GRAMS, payload["grams"]).file(DOCUMENTS)))
    parts = list(_pairs(payload["evidence"], cache))
    texts = contaminated_texts(parts, index, documents)
    save_array(folder / TEXTS, texts)
    return {"sets": [asdict(each) for each in tally(parts, texts, index)]}


def _pairs(keys: Sequence[str], cache: Cache) -> Iterator[Evidence]:
    none = np.zeros((0, 7), dtype=np.int64)
    for key in keys:
        yield Evidence(np.asarray(mapped(cache.get(EVIDENCE, key).file(PAIRS))), none)


def _index(payload: Mapping[str, Any]) -> EvalIndex:
    (link,) = chain_from_json(payload["chain"])
    params: Any = link.params
    return shared_index(files_of(params), definition_of(params))


def _hits(member: Mapping[str, Any], cache: Cache) -> tuple[Hits, npt.NDArray[np.bool_]]:
    """The hits of a split, and which documents the rules above kept."""
    entry = cache.get(MEASURE, member["hits"])
    grams, runs = (np.asarray(mapped(entry.file(ragged_file(name)))) for name in ("grams", "runs"))
    kept = passed(member["judged"], cache)
    return Hits(len(kept), grams, runs), kept
