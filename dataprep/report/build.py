"""The report of a run as plain JSON data: funnel, shards, quarantine. Tables of it are drawn in
`terminal.py` and `html.py`.

It holds counts and names only, no times, so the same corpus has the same report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any

from dataprep.guards import dedup_warnings
from dataprep.plan import Plans
from dataprep.report.contamination import contamination_of
from dataprep.report.duplicates import duplicates_of
from dataprep.report.funnel import ENDS, check_funnel, funnel_of
from dataprep.report.packing import packing_of
from dataprep.stages import decide, measure, tokenizer
from manifests.manifest import Packings, Shard

QUARANTINE_SHOWN = 100
MAX_TOKENS = "max_tokens"


def build_report(plans: Plans, shards: Sequence[Shard], packings: Sequence[Packings]) -> dict[str, Any]:
    """Return `corpus`, `warnings`, `funnel`, `duplicates`, `contamination`, `shards`, `packing`,
    `quarantine` and `tokenizer` as JSON values."""
    tokenized = plans.entries[tokenizer.STAGE][0].facts
    rows = _funnel(plans, shards)
    faults = check_funnel(funnel_of(rows))
    assert not faults, f"documents are unaccounted for: {faults}"
    return {
        "corpus": f"{plans.recipe.corpus}@{plans.recipe.version}",
        "warnings": dedup_warnings(plans),
        "funnel": rows,
        "duplicates": duplicates_of(plans),
        "contamination": contamination_of(plans),
        "shards": [
            {
                "name": shard.name,
                "source": shard.source,
                "subset": shard.subset,
                "documents": shard.documents,
                "tokens": shard.tokens,
                "bin_bytes": shard.bin_bytes,
            }
            for shard in shards
        ],
        "packing": packing_of(packings, shards),
        "quarantine": _quarantine(plans),
        "tokenizer": {
            name: tokenized[name] for name in ("vocab_size", "engine", "engine_reason", "special_tokens")
        },
    }


def _funnel(plans: Plans, shards: Sequence[Shard]) -> list[dict[str, Any]]:
    """The rows of DECIDE, with tokens where documents became tokens."""
    tokens: dict[tuple[str, str], int] = {}
    for shard in shards:
        tokens[shard.source, shard.subset] = tokens.get((shard.source, shard.subset), 0) + shard.tokens
    rows = []
    for row in _capped(plans, shards):
        made = tokens.get((row["source"], row["stage"]), 0) if row["stage"] in ENDS else None
        rows.append({**row, "tokens": made})
    return rows


def _capped(plans: Plans, shards: Sequence[Shard]) -> list[dict[str, Any]]:
    """The rows of DECIDE, with one more before the ends of a source that has `max_tokens`."""
    rows = []
    decided: list[dict[str, Any]] = plans.entries[decide.STAGE][0].facts["funnel"]
    for row, after in zip(decided, [*decided[1:], {}], strict=True):
        origin = plans.recipe.outputs.get(row["source"])
        if origin is not None and plans.recipe.sources[origin].max_tokens is not None:
            packed = _packed(shards, row["source"])
            if row["stage"] == "holdout":
                out = after["documents"] - packed["documents"]
                gone = {MAX_TOKENS: out} if out else {}
                left = {name: row[name] + packed[name] for name in packed}
                rows.append({**row, **left, "stage": MAX_TOKENS, "dropped": gone, "joint": gone})
            elif row["stage"] == "train":
                row = {**row, **packed}
        rows.append(row)
    return rows


def _packed(shards: Sequence[Shard], source: str) -> dict[str, int]:
    """What the training shards of a source hold."""
    mine = [shard for shard in shards if (shard.source, shard.subset) == (source, "train")]
    return {
        "documents": sum(shard.documents for shard in mine),
        "text_bytes": sum(shard.text_bytes for shard in mine),
    }


def _quarantine(plans: Plans) -> dict[str, Any]:
    """Per source the records and files that could not be read, the first of them by name, and what readers
    counted that is no mistake (`Chunk.counts`)."""
    sources: dict[str, Any] = {}
    for plan, entry in zip(plans.splits, plans.entries[measure.STAGE], strict=True):
        facts = entry.facts
        mine = sources.setdefault(
            plan.split.source, {"records": 0, "reasons": {}, "damaged": [], "first": [], "counts": {}}
        )
        mine["records"] += facts["bad"]
        for reason, count in facts["bad_reasons"].items():
            mine["reasons"][reason] = mine["reasons"].get(reason, 0) + count
        for slug, count in facts["counts"].items():
            mine["counts"][slug] = mine["counts"].get(slug, 0) + count
        mine["damaged"] += facts["damage"]
        if facts["bad"] and len(mine["first"]) < QUARANTINE_SHOWN:
            with open(entry.file(measure.QUARANTINE), encoding="utf-8") as file:
                mine["first"] += map(json.loads, islice(file, QUARANTINE_SHOWN - len(mine["first"])))
    return sources
