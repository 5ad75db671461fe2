"""WRITE: read a split once more, keep what DECIDE kept, tokenize it, and leave run files in shuffle order:
one for each source of the corpus that documents of the split go to (see `decide/routed.py`).

A run file (runs.py) is sorted by the shuffle key, a keyed 128-bit hash of the raw hash, so packing is a
merge and the shuffle depends on no order of reading. What is read must be what was measured: the digest of
raw hashes is recomputed.

Memory: the tokens of one split, one chunk of text, and the encoder, which a worker keeps for its next split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.batch import Batch
from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import BASE, BASE_VERSION, FINAL, FINAL_VERSION, reader_components, rewriting
from dataprep.columnfile import hashes_to_arrow, read_columns
from dataprep.decide.heldout import hash_key
from dataprep.decide.verdicts import KEPT
from dataprep.kernels.gather import gather_documents
from dataprep.kernels.hashing import mix128
from dataprep.kernels.texts import offsets_of
from dataprep.readers import Split
from dataprep.recipe import Recipe
from dataprep.runs import INPUT_SCHEMA, fitted, write_run
from dataprep.stages import decide, measure, reread, tokenizer
from dataprep.stages.base import Task
from dataprep.stages.measure import SplitPlan
from dataprep.tokenizers import Encoder
from dataprep.tokenizers.files import load_stored

STAGE = "write"
VERSION = 3


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
        encoding = {
            "tokenizer": tokenized.facts["digest"],
            "special_tokens": tokenized.facts["special_tokens"],
            "engine": tokenized.facts["engine"],
            "versions": tokenizer.engine_versions(tokenizer.file_of(tokenized.facts)),
            "append_eos": recipe.append_eos,
            "eos_id": tokenized.facts["eos_id"],
            "dtype": dtype,
            # Only where it is asked for: what was written before there was a choice is found again.
            **({"bos_id": tokenized.facts["bos_id"]} if recipe.prepend_bos else {}),
        }
        components = {
            "version": VERSION,
            "columns": [BASE_VERSION, FINAL_VERSION],
            "source": plan.split.source,
            "outputs": [made for made, source in recipe.outputs.items() if source == plan.split.source],
            "split": plan.digest,
            "carry": list(plan.options.carry),
            "reader": reader_components(plan.split.format, plan.options),
            "above": [described for _, described in rewriting(plan.chain, plan.options)],
            "kept": facts["kept_digest"],
            "clusters": facts["clusters_digest"],
            "encoding": encoding,
            "shuffle": {"corpus": recipe.corpus, "seed": recipe.seed},
        }
        payload = {
            "split": plan.split.to_dict(),
            "options": asdict(plan.options),
            "reread": reread.payload_of(plan, measured),
            "measured": {name: measured[name] for name in (BASE, FINAL)},
            "verdicts": {"key": decided.key, "start": facts["start"], "documents": facts["documents"]},
            "outputs": list(recipe.outputs),
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
    dtype = np.dtype(payload["encoding"]["dtype"])
    tokens, lengths, fields = [], [], []
    for batch in reread.reread(split, payload["options"], payload["reread"], kept, cache):
        encoder.spot_check(batch.texts)
        chunk_tokens, chunk_lengths = encoder.encode(batch.texts)
        tokens.append(fitted(chunk_tokens, dtype))
        lengths.append(chunk_lengths)
        fields.append(carried(batch))

    names = np.array([extent.file.name for extent in split.extents], dtype=object)
    raw_kept = base["raw_hash"][kept]
    outputs = np.array(payload["outputs"], dtype=object)[verdict["output"][kept]]
    documents = pa.table(
        {
            "subset": pa.array(np.where(verdict["heldout"][kept], "holdout", "train"), pa.string()),
            "key": hashes_to_arrow(mix128(raw_kept, bytes.fromhex(payload["shuffle_key"]))),
            "id": base["id"].filter(pa.array(kept)),
            "source": pa.array(outputs, pa.string()),
            "path": pa.array(names[base["extent"][kept]], pa.string()),
            "position": pa.array(base["position"][kept], pa.int64()),
            "content_hash": hashes_to_arrow(final["content_hash"][kept]),
            "text_bytes": pa.array(final["text_bytes"][kept], pa.int64()),
            "fields": pa.concat_arrays(fields),
            "cluster_size": pa.array(verdict["cluster_size"][kept], pa.int64()),
        },
        schema=INPUT_SCHEMA,
    )
    runs = {}
    for name in sorted(set(outputs)):
        rows = np.flatnonzero(outputs == name)
        (folder / name).mkdir()
        mine = gathered(tokens, np.concatenate(lengths), rows)
        runs[name] = write_run(folder / name, documents.take(pa.array(rows)), *mine, dtype).to_json()
    return {"runs": runs}


def carried(batch: Batch) -> pa.MapArray:
    """The carried fields of each document by name, without those that are null; null where none is left."""
    count, names = len(batch), list(batch.fields)
    there = np.zeros((count, len(names)), dtype=bool)
    for place, column in enumerate(batch.fields.values()):
        there[:, place] = column.is_valid().to_numpy(zero_copy_only=False)
    rows, places = np.nonzero(there)
    keys = pa.array(names, pa.string()).take(pa.array(places))
    values = pa.concat_arrays([pa.nulls(0, pa.string()), *batch.fields.values()])
    values = values.take(pa.array(places * count + rows))
    ends = np.cumsum(there.sum(axis=1))
    offsets = pa.array(np.concatenate(([0], ends)), pa.int32(), mask=np.append(~there.any(axis=1), False))
    return pa.MapArray.from_arrays(offsets, keys, values)


def gathered(
    tokens: Sequence[npt.NDArray[Any]], lengths: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> tuple[Any, npt.NDArray[np.int64]]:
    """The tokens and lengths of some documents; the same arrays where that is all of them."""
    if len(rows) == len(lengths):
        return tokens, lengths
    together, taken = np.concatenate(tokens), lengths[rows]
    out = np.empty(int(taken.sum()), dtype=together.dtype)
    gather_documents(together, offsets_of(lengths)[:-1][rows], taken, out, offsets_of(taken)[:-1])
    return out, taken


def _encoder(payload: Mapping[str, Any], cache: Cache) -> Encoder:
    encoding = payload["encoding"]
    entry = cache.get(tokenizer.STAGE, payload["tokenizer"])
    path = entry.file(tokenizer.encoding_file(tokenizer.file_of(entry.facts)))
    eos_id = encoding["eos_id"] if encoding["append_eos"] else None
    return _loaded(path, encoding["engine"], eos_id, encoding.get("bos_id"))


@lru_cache(maxsize=1)  # loading takes half a second, and a worker's next split has words of the one before
def _loaded(path: Path, engine: str, eos_id: int | None, bos_id: int | None) -> Encoder:
    return Encoder(load_stored(path), engine, eos_id, bos_id)
