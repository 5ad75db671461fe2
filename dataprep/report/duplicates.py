"""What the steps that look for duplicates looked at and removed, from the receipts of their stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataprep.cache import Entry
from dataprep.chain import Link
from dataprep.plan import Plans
from dataprep.stages import copies, judge, near, passages, repeats, settle
from dataprep.stages.base import Stage
from dataprep.stages.decisions import decisions_of, edits_of
from dataprep.stages.removed import LARGEST
from dataprep.steps.ranking import RankingParams


def duplicates_of(plans: Plans) -> list[dict[str, Any]]:
    """One mapping a step, in the order in which they decide: `step`, `looked_at`, `of` (what is counted:
    documents, units or tokens), `removed`, and

    clusters    of a step that removes documents: how many stay in the stead of others
    largest     sizes of the largest of these, the one that stays included
    borderline  of minhash_dedup: pairs that were settled by their texts; `settled`: how many of them are
                near-duplicates
    limited     buckets with more different signatures than the limit, where pairs can be missed

    Nothing here depends on how documents were divided among tasks.
    """
    edits = [link for link in edits_of(plans.recipe) if isinstance(link.params, RankingParams)]
    return [_edit(plans, link) for link in edits] + [
        _exact(plans, link) if link.step.name == "exact_dedup" else _near(plans, link)
        for link in decisions_of(plans.recipe)
    ]


def entries_of(plans: Plans, kind: str, link: Link) -> Sequence[Entry]:
    """The entries of a stage of a step."""
    return plans.entries.get(Stage(kind, link.label).name, ())


def total(entries: Sequence[Entry], name: str) -> int:
    """A fact, summed over the entries that have it (those of older corpora have no population)."""
    return sum(entry.facts.get(name, 0) for entry in entries)


def _edit(plans: Plans, link: Link) -> dict[str, Any]:
    passed = total(entries_of(plans, judge.STAGE, link), "passed")
    if link.step.name == "substring_dedup":
        found = {
            "looked_at": total(entries_of(plans, passages.PASSAGES, link), "tokens"),
            "of": "bytes" if link.params.model_dump()["tokens"] == "bytes" else "tokens",
            "removed": total(entries_of(plans, passages.SPANS, link), "cuts"),
        }
    else:
        listed = entries_of(plans, repeats.REPEATS, link)
        found = {"looked_at": total(listed, "units"), "of": "units", "removed": total(listed, "gone")}
    return {"step": link.label, "documents": passed, **found}


def _exact(plans: Plans, link: Link) -> dict[str, Any]:
    hashed, found = entries_of(plans, copies.HASHES, link), entries_of(plans, copies.COPIES, link)
    return {
        "step": link.label,
        "looked_at": total(hashed, "population"),
        "of": "documents",
        "removed": total(found, "removed"),
        "clusters": total(found, "clusters"),
        "largest": _largest(found),
    }


def _near(plans: Plans, link: Link) -> dict[str, Any]:
    kept = entries_of(plans, settle.KEEP, link)
    return {
        "step": link.label,
        "looked_at": total(entries_of(plans, near.BANDS, link), "population"),
        "of": "documents",
        "removed": total(kept, "removed"),
        "clusters": total(kept, "clusters"),
        "largest": _largest(kept),
        "borderline": total(entries_of(plans, settle.DOUBTS, link), "pairs"),
        "settled": total(kept, "settled"),
        "limited": total(kept, "limited"),
    }


def _largest(entries: Sequence[Entry]) -> list[int]:
    sizes = [size for entry in entries for size in entry.facts["largest"]]
    return sorted(sizes, reverse=True)[:LARGEST]
