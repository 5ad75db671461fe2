"""SAMPLE: the texts of the sampled documents of one split, in reading order, for the tokenizer.

The sample is small and chosen by hash in DECIDE, so only the splits that hold some of it are read again. An
input that has changed since it was measured stops the run. Memory: the sampled text of one split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import reader_components, rewriting
from dataprep.columnfile import read_columns, write_columns
from dataprep.columns import Texts, concat, texts_from_arrow, texts_to_arrow
from dataprep.readers import Split
from dataprep.stages import decide, reread
from dataprep.stages.base import Task
from dataprep.stages.measure import SplitPlan

STAGE = "sample"
VERSION = 1
TEXTS = "texts.arrow"


def tasks_of(splits: Sequence[SplitPlan], keys: Sequence[Mapping[str, str]], decided: Entry) -> list[Task]:
    """One task a split that holds sampled documents."""
    tasks = []
    for plan, measured, facts in zip(splits, keys, decided.facts["splits"], strict=True):
        if not facts["sampled"]:
            continue
        components = {
            "version": VERSION,
            "split": plan.digest,
            "reader": reader_components(plan.split.format, plan.options),
            "above": [described for _, described in rewriting(plan.chain, plan.options)],
            "sampled": facts["sampled_digest"],
        }
        payload = {
            "split": plan.split.to_dict(),
            "options": asdict(plan.options),
            "reread": reread.payload_of(plan, measured),
            "verdicts": {"key": decided.key, "start": facts["start"], "documents": facts["documents"]},
        }
        tasks.append(Task(plan.label, key_of(components), components, payload))
    return tasks


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    verdicts = payload["verdicts"]
    path = cache.get(decide.STAGE, verdicts["key"]).file(decide.VERDICTS)
    sampled: Any = read_columns(path, verdicts["start"], verdicts["documents"])["sampled"]
    split = Split.from_dict(payload["split"])
    batches = reread.reread(split, payload["options"], payload["reread"], sampled, cache)
    column = texts_to_arrow(concat([batch.texts for batch in batches]))
    write_columns(folder / TEXTS, {"text": column})
    return {"documents": len(column)}


def load_texts(entry: Entry) -> Texts:
    column: Any = read_columns(entry.file(TEXTS))["text"]
    assert isinstance(column, pa.LargeStringArray)
    return texts_from_arrow(column)
