"""Two judgements that stop a run: too much input that cannot be read, and a step that would remove nearly
everything.

Both look at totals, once, so their outcome ignores order and workers. Neither changes a byte of the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any

from dataprep.cache import Entry
from dataprep.chain import labels
from dataprep.columnfile import read_columns
from dataprep.recipe import Recipe
from dataprep.stages import decide, measure
from dataprep.stages.decisions import edits_of
from dataprep.stages.measure import SplitPlan
from dataprep.stages.reading import read_chunks
from manifests.errors import UserError

SHOWN = 5
SAMPLE_CHARACTERS = 300
MIN_DOCUMENTS_FOR_REMOVAL = 1000
DEFAULT_MAX_REMOVED = 0.9


def judge_failures(recipe: Recipe, splits: Sequence[SplitPlan], base: Sequence[Entry]) -> None:
    """Raise when a source has more bad records or damaged files than the failure budget (promise 5)
    allows."""
    budget = recipe.failure_budget
    problems = []
    for name in recipe.sources:
        entries = [entry for plan, entry in zip(splits, base, strict=True) if plan.split.source == name]
        bad = sum(entry.facts["bad"] for entry in entries)
        read = (entry.facts["documents"] + entry.facts["unsampled"]["documents"] for entry in entries)
        records = bad + sum(read)
        damaged = sorted({damage["file"] for entry in entries for damage in entry.facts["damage"]})
        files = len({e.file.path for p in splits if p.split.source == name for e in p.split.extents})
        allowed_records = max(budget.records * records, budget.record_floor)
        allowed_files = max(budget.files * files, budget.file_floor)
        if bad > allowed_records:
            examples = _bad_examples(entries)
            problems.append(
                f"source {name}: {bad:,} of {records:,} records cannot be read "
                f"(allowed: {allowed_records:,.0f})\n" + "\n".join(f"  {line}" for line in examples)
            )
        if len(damaged) > allowed_files:
            lines = [
                f"  {each['file']}, byte {each['position']:,}: {each['reason']}: {each['detail']}"
                for entry in entries
                for each in entry.facts["damage"]
            ]
            problems.append(
                f"source {name}: {len(damaged):,} of {files:,} files are damaged "
                f"(allowed: {allowed_files:,.0f})\n" + "\n".join(lines[:SHOWN])
            )
    if problems:
        raise UserError(
            "the failure budget is spent\n" + "\n".join(problems),
            hint="mend or `exclude:` the files, or raise `failure_budget:` in the recipe",
        )


def judge_removals(
    recipe: Recipe,
    splits: Sequence[SplitPlan],
    decided: Entry,
) -> None:
    """Raise when a step drops more than its `max_removed` of a source of 1,000 or more documents, with
    samples."""
    limits = {
        label: DEFAULT_MAX_REMOVED if entry.max_removed is None else entry.max_removed
        for label, entry in zip(labels(recipe.steps), recipe.steps, strict=True)
    }
    cutting = [link.label for link in edits_of(recipe) if link.rewrites]
    if cutting:  # what they empty is dropped after all steps
        limits[decide.EMPTY] = max(limits[label] for label in cutting)
    rows: list[dict[str, Any]] = decided.facts["funnel"]
    for before, after in pairwise(rows):
        label = after["stage"]
        if label not in limits or before["source"] != after["source"] or before["documents"] == 0:
            continue
        read = next(
            row["documents"] for row in rows if row["source"] == after["source"] and row["stage"] == "read"
        )
        removed = before["documents"] - after["documents"]
        if read >= MIN_DOCUMENTS_FOR_REMOVAL and removed > limits[label] * before["documents"]:
            samples = _dropped_samples(label, after["source"], splits, decided)
            reasons = ", ".join(f"{name} {count:,}" for name, count in after["dropped"].items())
            is_empty = label == decide.EMPTY
            step = cutting[-1] if is_empty else label
            what = f"{', '.join(cutting)} would empty" if is_empty else f"step {label} would remove"
            raise UserError(
                f"{what} {removed:,} of {before['documents']:,} documents of source "
                f"{after['source']} ({reasons})\n" + "\n".join(samples),
                hint=f"if that is what you want, say so in the recipe: `- {step.split('#')[0]}: "
                f"{{max_removed: 1.0}}`, or keep the step off this source with `except: [{after['source']}]`",
            )


def _bad_examples(entries: Sequence[Entry]) -> list[str]:
    lines: list[str] = []
    for entry in entries:
        with open(entry.file(measure.QUARANTINE), encoding="utf-8") as file:
            for record in map(json.loads, islice(file, SHOWN - len(lines))):
                line = "" if record["line"] is None else f"line {record['line']:,}, "
                place = f"{record['file']}, {line}byte {record['position']:,}"
                lines.append(f"{place}: {record['reason']}: {record['detail']}")
        if len(lines) == SHOWN:
            break
    return lines


def _dropped_samples(label: str, source: str, splits: Sequence[SplitPlan], decided: Entry) -> list[str]:
    """The first few dropped documents of a source, shortened, each with its reason. Reads as little as it
    can."""
    reasons = decided.facts["reasons"]
    numbers = [number for number, (owner, _) in enumerate(reasons, start=1) if owner == label]
    lines: list[str] = []
    for plan, facts in zip(splits, decided.facts["splits"], strict=True):
        if plan.split.source != source:
            continue
        path = decided.file(decide.VERDICTS)
        code: Any = read_columns(path, facts["start"], facts["documents"])["code"]
        row = 0
        for reading in read_chunks(plan.split, plan.options):
            texts = reading.batch.texts
            for index in range(len(texts)):
                if code[row + index] in numbers:
                    text = texts[index][: 4 * SAMPLE_CHARACTERS].decode(errors="ignore")[:SAMPLE_CHARACTERS]
                    extent = plan.split.extents[reading.chunk.records.column("extent")[index].as_py()]
                    reason = reasons[code[row + index] - 1][1]
                    lines.append(f"  {reason}: {extent.file.name}: {' '.join(text.split())!r}")
                if len(lines) == SHOWN:
                    return lines
            row += len(texts)
    return lines
