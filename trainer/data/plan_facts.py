"""A RowPlan as plain JSON values and back: what `data.json`, checkpoints and fingerprints hold.

    format, format_version, order_version
    seed, subset, period, document_mask, shuffle_extent, steps
    manifests   [{path, corpus, version, content_digest}]
    sources     [{name, corpus, source, tokens, packings: {length: {rows, targets, digest}}}]
    phases      [{start_row, sequence_length, block_tokens, pack,
                  weights: {name: share}, quota: {name: rows}}]
    batch       {starts: [step], rows: [rows per step]}
    fingerprints {manifests, schedule, plan}

The fingerprints leave out paths, versions, names of sources, weights as asked for (the quota is what counts)
and the number of steps: a run may be moved, and may go on for longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from manifests.errors import UserError
from manifests.fingerprint import digest_value
from trainer.data.cursors import CONCAT, Phase
from trainer.data.order import ORDER_VERSION
from trainer.data.refs import PlanPacking
from trainer.data.rows import PlanManifest, PlanSource, RowPlan
from trainer.data.schedule import BatchSchedule

FORMAT = "headrace-data-plan"
FORMAT_VERSION = 1


def plan_facts(plan: RowPlan) -> dict[str, Any]:
    """See the module."""
    facts: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "order_version": ORDER_VERSION,
        "seed": plan.seed,
        "subset": plan.subset,
        "period": plan.period,
        "document_mask": plan.document_mask,
        "shuffle_extent": plan.shuffle_extent,
        "steps": plan.num_steps,
        "manifests": [
            {
                "path": manifest.path,
                "corpus": manifest.corpus,
                "version": manifest.version,
                "content_digest": manifest.content_digest,
            }
            for manifest in plan.manifests
        ],
        "sources": [
            {
                "name": source.name,
                "corpus": source.corpus,
                "source": source.source,
                "tokens": source.tokens,
                "packings": {str(length): asdict(packing) for length, packing in source.packings.items()},
            }
            for source in plan.sources
        ],
        "phases": [
            {
                "start_row": phase.start_row,
                "sequence_length": phase.sequence_length,
                "block_tokens": phase.block_tokens,
                "pack": phase.pack,
                "weights": _by_name(plan, phase.weights),
                "quota": _by_name(plan, phase.quota),
            }
            for phase in plan.phases
        ],
        "batch": {"starts": list(plan.batch.starts), "rows": list(plan.batch.rows)},
    }
    facts["fingerprints"] = _fingerprints(facts)
    return facts


def plan_from_facts(facts: Mapping[str, Any]) -> RowPlan:
    """The plan that facts describe. Raises UserError when this version of the code cannot read them."""
    for name, known in (
        ("format", FORMAT),
        ("format_version", FORMAT_VERSION),
        ("order_version", ORDER_VERSION),
    ):
        if facts.get(name) != known:
            raise UserError(
                f"the data plan has {name} {facts.get(name)!r}; this version reads {known!r}",
                hint="use the version of headrace that the run was started with",
            )
    sources = [_source_of(source) for source in facts["sources"]]
    phases = [
        Phase(
            phase["start_row"],
            phase["sequence_length"],
            phase["block_tokens"],
            tuple(phase["weights"].get(source.name, 0.0) for source in sources),
            tuple(phase["quota"].get(source.name, 0) for source in sources),
            phase.get("pack", CONCAT),
        )
        for phase in facts["phases"]
    ]
    return RowPlan(
        seed=facts["seed"],
        subset=facts["subset"],
        manifests=[PlanManifest(**manifest) for manifest in facts["manifests"]],
        sources=sources,
        phases=phases,
        batch=BatchSchedule(tuple(facts["batch"]["starts"]), tuple(facts["batch"]["rows"])),
        num_steps=facts["steps"],
        document_mask=facts["document_mask"],
        shuffle_extent=facts["shuffle_extent"],
        period=facts["period"],
    )


def _source_of(facts: Mapping[str, Any]) -> PlanSource:
    packings = {int(length): PlanPacking(**each) for length, each in facts.get("packings", {}).items()}
    return PlanSource(facts["name"], facts["corpus"], facts["source"], facts["tokens"], packings)


def plan_summary(plan: RowPlan) -> dict[str, Any]:
    """Per phase and source: weight asked for and realised; over the run: rows, epochs, skipped tokens."""
    end = plan.num_rows
    counts, epochs, skipped = plan.counts(end), plan.epochs(end), plan.skipped_tokens(end)
    return {
        "steps": plan.num_steps,
        "rows": end,
        "block_tokens": plan.block_tokens,
        "phases": [
            {
                "start_row": phase.start_row,
                "start_step": int(plan.step_of(phase.start_row)),
                "sequence_length": phase.sequence_length,
                "pack": phase.pack,
                "weights": {
                    source.name: {
                        "asked": weight,
                        "realised": quota / plan.period,
                        "targets_per_row": mean_row_targets(source, phase),
                    }
                    for source, weight, quota in zip(plan.sources, phase.weights, phase.quota, strict=True)
                    if weight
                },
            }
            for phase in plan.phases
        ],
        "sources": {
            source.name: {
                "tokens": source.tokens,
                "rows": int(counts[index]),
                "epochs": float(epochs[index]),
                "skipped_tokens": int(skipped[index]),
            }
            for index, source in enumerate(plan.sources)
        },
    }


def mean_row_targets(source: PlanSource, phase: Phase) -> float:
    """tau_k: what a row of the source has of valid targets, on average."""
    if not phase.is_packed or phase.sequence_length not in source.packings:
        return float(phase.sequence_length)
    packing = source.packings[phase.sequence_length]
    return packing.targets / packing.rows


def _by_name(plan: RowPlan, values: tuple[Any, ...]) -> dict[str, Any]:
    return {source.name: value for source, value in zip(plan.sources, values, strict=True) if value}


def _fingerprints(facts: Mapping[str, Any]) -> dict[str, str]:
    keys = {source["name"]: f"{source['corpus']}/{source['source']}" for source in facts["sources"]}
    manifests = digest_value(
        sorted([manifest["corpus"], manifest["content_digest"]] for manifest in facts["manifests"])
    )
    packings = {keys[source["name"]]: source["packings"] for source in facts["sources"]}
    schedule = digest_value(
        {
            "seed": facts["seed"],
            "subset": facts["subset"],
            "period": facts["period"],
            "document_mask": facts["document_mask"],
            "shuffle_extent": facts["shuffle_extent"],
            "sources": {keys[source["name"]]: source["tokens"] for source in facts["sources"]},
            "phases": [
                [
                    phase["start_row"],
                    phase["sequence_length"],
                    phase["block_tokens"],
                    {keys[name]: rows for name, rows in phase["quota"].items()},
                    # What a plan of consecutive tokens says of itself is as it always was.
                    *([phase["pack"]] if phase["pack"] != CONCAT else []),
                ]
                for phase in facts["phases"]
            ],
            **({"packings": packings} if any(packings.values()) else {}),
            "batch": facts["batch"],
        }
    )
    plan = digest_value([facts["order_version"], manifests, schedule])
    return {"manifests": manifests, "schedule": schedule, "plan": plan}
