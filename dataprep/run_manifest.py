"""The manifest of a run, from its plans and receipts: what the corpus is and how it was made.

Nothing is written here; `publish.py` puts the files in place and seals the manifest.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from dataprep.chain import labels
from dataprep.older import described, older_of
from dataprep.packed import Packed
from dataprep.plan import Plans
from dataprep.report.contamination import checked_by_steps
from dataprep.runs import SUBSETS
from dataprep.stages import decide, index, judge, pack, tokenizer
from dataprep.stages.decisions import decisions_of
from dataprep.steps import step_of
from manifests.fingerprint import digest_bytes, digest_file, digest_value
from manifests.lists import InputFile, Shard
from manifests.manifest import Manifest, load_manifest
from manifests.parts import (
    CheckedSet,
    DedupColumns,
    DedupPart,
    Lineage,
    Source,
    StepRecord,
    Subset,
    TokenizerInfo,
    subset_of,
)

SAMPLE = "sample"
INPUTS_FILE = "inputs.parquet"
TOOLS = ("numpy", "pyarrow", "numba", "msgspec", "zstandard", "tokenizers", "gigatoken")


def shards_of(plans: Plans) -> list[Shard]:
    """Every shard with its place in the corpus. Names carry no digest, so a rebuilt corpus keeps them."""
    counters: dict[tuple[str, str], int] = {}
    shards = []
    for task, entry in zip(plans.pack_tasks, plans.entries[pack.STAGE], strict=True):
        source, subset = task.components["source"], task.components["subset"]
        index = counters.get((source, subset), 0)
        counters[source, subset] = index + 1
        name = f"{source}-{subset}-{index:05d}"
        shards.append(Shard(source=source, subset=subset, index=index, name=name, **entry.facts))
    return shards


def manifest_of(
    plans: Plans, shards: Sequence[Shard], report: dict[str, Any], packed: Sequence[Packed]
) -> Manifest:
    """The manifest, but for the digests of what is written later: lists, inputs, packings, itself."""
    recipe = plans.recipe
    tokenized = plans.entries[tokenizer.STAGE][0].facts
    resolved = recipe.resolved()
    return Manifest(
        corpus=recipe.corpus,
        version=recipe.version,
        dtype=plans.dtype,  # type: ignore[arg-type]
        tokenizer=TokenizerInfo(
            file=tokenizer.file_of(tokenized),
            digest=tokenized["digest"],
            vocab_size=tokenized["vocab_size"],
            eos_id=tokenized["eos_id"],
            bos_id=tokenized["bos_id"],
            append_eos=recipe.append_eos,
            prepend_bos=recipe.prepend_bos,
            special_tokens=tokenized["special_tokens"],
            engine=tokenized["engine"],
            engine_reason=tokenized["engine_reason"],
        ),
        sources={
            made: Source(license=recipe.sources[origin].license, subsets=_subsets(made, shards))
            for made, origin in recipe.outputs.items()
        },
        dedup=_dedup_part(plans),
        packings=[each.part for each in packed],
        created_by=f"headrace {version('headrace')}",
        lineage=Lineage(
            recipe=resolved,
            recipe_digest=digest_value(resolved),
            inputs_file=INPUTS_FILE,
            inputs_digest=digest_bytes(b""),
            steps=_step_records(plans),
            funnel=report["funnel"],
            tools={
                "python": sys.version.split()[0],
                **{name: version(name) for name in TOOLS},
                **tokenizer.engine_versions(tokenizer.file_of(tokenized)),
            },
            parents=_parents(plans),
            evals=_checked_sets(plans),
        ),
    )


def _dedup_part(plans: Plans) -> DedupPart | None:
    """What later corpora are held against, if the recipe asks for it."""
    entries = plans.entries.get(index.STAGE, ())
    if not entries:
        return None
    (entry,) = entries
    measured: dict[str, Any] = {link.label: described(link) for link in decisions_of(plans.recipe)}
    return DedupPart(
        documents_file=index.DOCUMENTS,
        documents_digest=digest_file(entry.file(index.DOCUMENTS)).digest,
        documents=entry.facts["documents"],
        steps={
            label: DedupColumns(
                file=name, digest=digest_file(entry.file(name)).digest, measured=measured[label]
            )
            for label, name in entry.facts["files"].items()
        },
    )


def _parents(plans: Plans) -> list[str]:
    """The older corpora that this one was held against."""
    found = {
        older.name: load_manifest(older.documents.parent).content_digest
        for link in decisions_of(plans.recipe)
        for older in older_of(link)
    }
    return [f"{name} {digest}" for name, digest in found.items()]


def _subsets(source: str, shards: Sequence[Shard]) -> dict[str, Subset]:
    mine = [shard for shard in shards if shard.source == source]
    return {subset: subset_of([each for each in mine if each.subset == subset]) for subset in SUBSETS}


def inputs_of(plans: Plans) -> list[InputFile]:
    """Every input file once, with the digest of its extents in order."""
    extents: dict[tuple[str, str, int], list[Any]] = {}
    for plan in plans.splits:
        for extent, digest in zip(plan.split.extents, plan.digests, strict=True):
            key = (plan.split.source, extent.file.name, extent.file.size_bytes)
            extents.setdefault(key, []).append([plan.split.format, extent.start, extent.end, digest])
    return [
        InputFile(source=source, name=name, size_bytes=size_bytes, digest=digest_value(ranges))
        for (source, name, size_bytes), ranges in extents.items()
    ]


def _checked_sets(plans: Plans) -> list[CheckedSet]:
    """The evaluation sets of every step `decontaminate`, and what was found of them."""
    return [
        CheckedSet(
            name=tally.name,
            digest=tally.digest,
            definition=step.definition,
            action=action,
            sources=step.sources,
            examples=tally.examples,
            contaminated=tally.contaminated,
            documents=tally.documents,
        )
        for step in checked_by_steps(plans)
        for tally, action in step.sets
    ]


def _step_records(plans: Plans) -> list[StepRecord]:
    """One record a step of the recipe, and one for each built-in choice that dropped something."""
    funnel: list[dict[str, Any]] = plans.entries[decide.STAGE][0].facts["funnel"]
    by_stage: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for before, after in pairwise(funnel):
        if before["source"] == after["source"]:
            by_stage.setdefault(after["stage"], []).append((before, after))
    entries = dict(zip(labels(plans.recipe.steps), plans.recipe.steps, strict=True))
    records = []
    for label in [SAMPLE, judge.MAX_BYTES, *entries, judge.ROUTE, decide.EMPTY]:
        rows = by_stage.get(label, [])
        if label not in entries and not rows:
            continue
        entry = entries.get(label)
        limits = {name: source.max_bytes for name, source in plans.recipe.sources.items() if source.max_bytes}
        shares = {name: source.sample for name, source in plans.recipe.sources.items()}
        parameters: Any = {SAMPLE: shares, judge.MAX_BYTES: limits}.get(label, {})
        sources = [after["source"] for _, after in rows]
        records.append(
            StepRecord(
                name=label,
                version=decide.VERSION if entry is None else step_of(entry.name).version,
                parameters=parameters if entry is None else entry.parameters.model_dump(mode="json"),
                sources=None if len(sources) == len(plans.recipe.sources) else sources,
                documents_in={after["source"]: before["documents"] for before, after in rows},
                documents_out={
                    after["source"]: after["documents"] + sum(after.get("moved", {}).values())
                    for _, after in rows
                },
                dropped={after["source"]: after["dropped"] for _, after in rows},
            )
        )
    return records
