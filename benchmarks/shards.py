"""Documents to shards, as WRITE and PACK do it: the part of both that grows with the text, on a clock.

A file of JSON lines is read in the chunks of a run and hashed, its texts are spot-checked and encoded, the
documents are sorted into a run file, and every shard is packed out of it: `.bin`, `.idx`, document table,
block digests, all synced and read back. Left out is what a run has to do to know which documents to write
(their columns and verdicts) and to find a task again (receipts); `pipeline.py` measures those with the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measure import Laps
from dataprep.batch import Batch
from dataprep.columnfile import hashes_to_arrow
from dataprep.decide.heldout import hash_key
from dataprep.kernels.hashing import mix128
from dataprep.pack import pack_range, plan_cuts
from dataprep.readers import ReadOptions
from dataprep.readers.listing import list_inputs
from dataprep.readers.splits import make_splits
from dataprep.runs import INPUT_SCHEMA, fitted, sum_histograms, write_run
from dataprep.stages.reading import read_chunks
from dataprep.tokenizers import Encoder

OPTIONS = ReadOptions(text="text", id="id")
SHUFFLE_KEY = hash_key("shuffle", "benchmark\x0017")
TOKENS_PER_SHARD = 100_000_000


def write_shards(encoder: Encoder, documents: Path, folder: Path, dtype: np.dtype[Any]) -> dict[str, float]:
    """Write the documents of a file to a new folder; CPU seconds of `read`, `encode`, `run` and `shards`."""
    lap = Laps()
    runs, facts = [], []
    for number, split in enumerate(make_splits("benchmark", "jsonl", list_inputs([str(documents)]), OPTIONS)):
        tokens, lengths, tables = [], [], []
        for batch, positions in _batches(split):
            lap("read")
            encoder.spot_check(batch.texts)
            encoded = encoder.encode(batch.texts)
            tokens.append(fitted(encoded[0], dtype))
            lengths.append(encoded[1])
            lap("encode")
            tables.append(_table(batch, documents.name, positions))
            lap("run")
        lap("read")
        runs.append(folder / f"run-{number}")
        runs[-1].mkdir(parents=True)
        facts.append(write_run(runs[-1], pa.concat_tables(tables), tokens, np.concatenate(lengths), dtype))
        lap("run")
    for number, cut in enumerate(plan_cuts(sum_histograms(facts, "train"), TOKENS_PER_SHARD)):
        pack_range(runs, "train", cut, folder / f"shard-{number:05d}", dtype)
    lap("shards")
    return lap.seconds


def _batches(split: Any) -> Iterator[tuple[Batch, Any]]:
    for reading in read_chunks(split, OPTIONS):
        if len(reading.batch):
            yield reading.batch, reading.chunk.records.column("position")


def _table(batch: Batch, path: str, positions: Any) -> pa.Table:
    """What WRITE knows of each document: of one source, all for training, each alone in its cluster."""
    count = len(batch)
    return pa.table(
        {
            "subset": pa.array(["train"] * count, pa.string()),
            "key": hashes_to_arrow(mix128(batch.raw_hash, SHUFFLE_KEY)),
            "id": batch.ids,
            "source": pa.array(["benchmark"] * count, pa.string()),
            "path": pa.array([path] * count, pa.string()),
            "position": positions,
            "content_hash": hashes_to_arrow(batch.raw_hash),
            "text_bytes": pa.array(batch.texts.lengths, pa.int64()),
            "fields": pa.nulls(count, INPUT_SCHEMA.field("fields").type),
            "cluster_size": pa.array(np.ones(count, dtype=np.int64)),
        },
        schema=INPUT_SCHEMA,
    )
