"""WRITE: read a split once more, keep what DECIDE kept, tokenize it, and leave one run file in shuffle order.

The run file (runs.py) is sorted by the shuffle key, a keyed 128-bit hash of the raw hash, so packing is a
merge and the shuffle depends on no order of reading. What is read must be what was measured: the digest of
raw hashes is recomputed.

Memory: the tokens of one split, and one chunk of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import (
    BASE,
    BASE_VERSION,
    FINAL,
    FINAL_VERSION,
    chain_from_json,
    chain_to_json,
    reader_components,
    transforms_of,
)
from dataprep.columnfile import hashes_to_arrow, read_columns
from dataprep.decide.heldout import hash_key
from dataprep.decide.verdicts import KEPT
from dataprep.kernels.hashing import hash128, mix128
from dataprep.readers import Split
from dataprep.recipe import Recipe
from dataprep.runs import INPUT_SCHEMA, write_run
from dataprep.stages import decide, measure, tokenizer
from dataprep.stages.base import Task, input_changed, options_from_json, read_texts, split_label
from dataprep.stages.measure import SplitPlan, raw_digest
from dataprep.tokenizers import Encoder

STAGE = "write"
VERSION = 1


def tasks_of(
    recipe: Recipe,
    splits: Sequence[SplitPlan],
    keys: Sequence[Mapping[str, str]],
    decided: Entry,
    tokenized: Entry,
    dtype: str,
) -> list[Task]:
    """One task a split that keeps something."""
    tasks = []
    for plan, measured, facts in zip(splits, keys, decided.facts["splits"], strict=True):
        if not facts["kept"]:
            continue
        transforms = transforms_of(plan.chain)
        encoding = {
            "tokenizer": tokenized.facts["digest"],
            "special_tokens": tokenized.facts["special_tokens"],
            "engine": tokenized.facts["engine"],
            "versions": tokenizer.engine_versions(),
            "append_eos": recipe.append_eos,
            "eos_id": tokenized.facts["eos_id"],
            "dtype": dtype,
        }
        components = {
            "version": VERSION,
            "columns": [BASE_VERSION, FINAL_VERSION],
            "source": plan.split.source,
            "split": plan.digest,
            "reader": reader_components(plan.split.format, plan.options),
            "above": [link.describe() for link in transforms],
            "kept": facts["kept_digest"],
            "encoding": encoding,
            "shuffle": {"corpus": recipe.corpus, "seed": recipe.seed},
        }
        payload = {
            "split": plan.split.to_dict(),
            "options": asdict(plan.options),
            "transforms": chain_to_json(transforms),
            "measured": {name: measured[name] for name in (BASE, FINAL)},
            "verdicts": {"key": decided.key, "start": facts["start"], "documents": facts["documents"]},
            "tokenizer": tokenized.key,
            "encoding": encoding,
            "shuffle_key": hash_key("shuffle", f"{recipe.corpus}\0{recipe.seed}").hex(),
        }
        tasks.append(Task(plan.label, key_of(components), components, payload))
    return tasks


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    split = Split.from_dict(payload["split"])
    verdicts = payload["verdicts"]
    path = cache.get(decide.STAGE, verdicts["key"]).file(decide.VERDICTS)
    verdict: Any = read_columns(path, verdicts["start"], verdicts["documents"])
    kept = verdict["code"] == KEPT
    base_entry = cache.get(measure.STAGE, payload["measured"][BASE])
    final_entry = cache.get(measure.STAGE, payload["measured"][FINAL])
    base: Any = read_columns(base_entry.file(measure.COLUMNS))
    final: Any = read_columns(final_entry.file(measure.COLUMNS))

    encoder = _encoder(payload, cache)
    transforms = chain_from_json(payload["transforms"])
    tokens, lengths, raw_hashes = [], [], []
    row = 0
    for _, raw, texts in read_texts(split, options_from_json(payload["options"]), transforms):
        raw_hashes.append(hash128(raw.data, raw.offsets))
        if row + len(texts) > len(kept):
            raise input_changed(split_label(split))
        chosen = texts.take(kept[row : row + len(texts)])
        row += len(texts)
        if len(chosen):
            encoder.spot_check(chosen)
            chunk_tokens, chunk_lengths = encoder.encode(chosen)
            tokens.append(chunk_tokens)
            lengths.append(chunk_lengths)
    if row != verdicts["documents"] or raw_digest(raw_hashes) != base_entry.facts["raw_digest"]:
        raise input_changed(split_label(split))

    names = np.array([extent.file.name for extent in split.extents], dtype=object)
    raw_kept = base["raw_hash"][kept]
    documents = pa.table(
        {
            "subset": pa.array(np.where(verdict["heldout"][kept], "holdout", "train"), pa.string()),
            "key": hashes_to_arrow(mix128(raw_kept, bytes.fromhex(payload["shuffle_key"]))),
            "id": base["id"].filter(pa.array(kept)),
            "source": pa.array([split.source] * int(kept.sum()), pa.string()),
            "path": pa.array(names[base["extent"][kept]], pa.string()),
            "position": pa.array(base["position"][kept], pa.int64()),
            "content_hash": hashes_to_arrow(final["content_hash"][kept]),
            "text_bytes": pa.array(final["text_bytes"][kept], pa.int64()),
        },
        schema=INPUT_SCHEMA,
    )
    facts = write_run(
        folder,
        documents,
        np.concatenate(tokens),
        np.concatenate(lengths),
        np.dtype(payload["encoding"]["dtype"]),
    )
    return facts.to_json()


def _encoder(payload: Mapping[str, Any], cache: Cache) -> Encoder:
    encoding = payload["encoding"]
    text = cache.get(tokenizer.STAGE, payload["tokenizer"]).file(tokenizer.ENCODING_FILE).read_text("utf-8")
    return Encoder(text, encoding["engine"], encoding["eos_id"] if encoding["append_eos"] else None)
