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
from dataprep.chain import BASE, chain_from_json, chain_to_json, reader_components, transforms_of
from dataprep.columnfile import read_columns, write_columns
from dataprep.columns import Texts, concat, texts_from_arrow, texts_to_arrow
from dataprep.kernels.hashing import hash128
from dataprep.readers import Split
from dataprep.stages import decide, measure
from dataprep.stages.base import Task, input_changed, options_from_json, read_texts, split_label
from dataprep.stages.measure import SplitPlan, raw_digest

STAGE = "sample"
VERSION = 1
TEXTS = "texts.arrow"


def tasks_of(splits: Sequence[SplitPlan], keys: Sequence[Mapping[str, str]], decided: Entry) -> list[Task]:
    """One task a split that holds sampled documents."""
    tasks = []
    for plan, measured, facts in zip(splits, keys, decided.facts["splits"], strict=True):
        if not facts["sampled"]:
            continue
        transforms = transforms_of(plan.chain)
        components = {
            "version": VERSION,
            "split": plan.digest,
            "reader": reader_components(plan.split.format, plan.options),
            "above": [link.describe() for link in transforms],
            "sampled": facts["sampled_digest"],
        }
        payload = {
            "split": plan.split.to_dict(),
            "options": asdict(plan.options),
            "transforms": chain_to_json(transforms),
            "measured": measured[BASE],
            "verdicts": {"key": decided.key, "start": facts["start"], "documents": facts["documents"]},
        }
        tasks.append(Task(plan.label, key_of(components), components, payload))
    return tasks


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    verdicts = payload["verdicts"]
    path = cache.get(decide.STAGE, verdicts["key"]).file(decide.VERDICTS)
    sampled: Any = read_columns(path, verdicts["start"], verdicts["documents"])["sampled"]
    transforms = chain_from_json(payload["transforms"])
    split = Split.from_dict(payload["split"])
    parts: list[Texts] = []
    raw_hashes = []
    row = 0
    for _, raw, texts in read_texts(split, options_from_json(payload["options"]), transforms):
        raw_hashes.append(hash128(raw.data, raw.offsets))
        if row + len(texts) > len(sampled):
            raise input_changed(split_label(split))
        parts.append(texts.take(sampled[row : row + len(texts)]))
        row += len(texts)
    if raw_digest(raw_hashes) != cache.get(measure.STAGE, payload["measured"]).facts["raw_digest"]:
        raise input_changed(split_label(split))
    column = texts_to_arrow(concat(parts))
    write_columns(folder / TEXTS, {"text": column})
    return {"documents": len(column)}


def load_texts(entry: Entry) -> Texts:
    column: Any = read_columns(entry.file(TEXTS))["text"]
    assert isinstance(column, pa.LargeStringArray)
    return texts_from_arrow(column)
