"""Packing: one range of shuffle keys out of every run of a source becomes one shard.

Where to cut is a pure function of a histogram of tokens (`plan_cuts`); the content of a shard is a pure
function of the documents in its range (`pack_range`), whatever runs they lie in and in whatever order the
runs are named. The files of a shard are described in manifests/FORMAT.md; naming and publishing them is the
caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.kernels.gather import gather_documents
from dataprep.kernels.texts import offsets_of
from dataprep.keys import NUM_BUCKETS, Int64s, document_order
from dataprep.runs import RUN_SCHEMA, Run, open_run, rows_in_buckets
from manifests.files import check_free_space
from manifests.seal import ShardDigests, seal_shard
from manifests.shard import idx_size_bytes, table_path, write_shard
from manifests.tables import document_schema, write_document_table

TABLE_ROW_BYTES = 200
"""A generous guess at what a row of the document table takes, for the check of free space."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys whose top 16 bits are lo <= bits < hi."""

    lo: int
    hi: int


@dataclass(frozen=True, slots=True)
class PackedShard(ShardDigests):
    """The fields of a manifest's Shard that follow from its content; `first_key` is 32 hex digits."""

    documents: int
    tokens: int
    text_bytes: int
    max_token_id: int
    first_key: str


def plan_cuts(histogram: Int64s, tokens_per_shard: int) -> list[KeyRange]:
    """Cut the key space into ranges of about equal tokens, at most about `tokens_per_shard` each.

    histogram  int64 [65536], tokens in each bucket, over all runs (`runs.sum_histograms`)

    There are n = ceil(total / tokens_per_shard) goals; cut i is the border of a bucket that is nearest to i *
    total / n, the lower of two. Every range holds tokens, together they cover all keys, and without tokens
    there are none. A document longer than a goal takes the goals it spans with it and gets a range of its own
    bucket; so there may be fewer ranges than n. There are never more than 65,536.
    """
    if histogram.shape != (NUM_BUCKETS,) or tokens_per_shard < 1:
        raise ValueError(
            f"a histogram of {NUM_BUCKETS} buckets and at least 1 token a shard, not {histogram.shape}"
        )
    before = offsets_of(histogram)
    total = int(before[-1])
    if total == 0:
        return []
    goals = min(-(-total // tokens_per_shard), NUM_BUCKETS)
    cuts = [0]
    for goal in range(1, goals):
        target = goal * total // goals
        border = int(np.searchsorted(before, target))
        if border and target - before[border - 1] <= before[border] - target:
            # Empty buckets have borders of equal standing; the first of them counts.
            border = int(np.searchsorted(before, before[border - 1]))
        if before[cuts[-1]] < before[border] < total:
            cuts.append(border)
    return [KeyRange(lo, hi) for lo, hi in pairwise([*cuts, NUM_BUCKETS])]


def pack_range(
    runs: Sequence[Path], subset: str, key_range: KeyRange, out_prefix: Path, dtype: np.dtype[Any]
) -> PackedShard | None:
    """Merge the documents of `subset` in a key range of all runs into the files of one shard.

    Writes <out_prefix>.bin, .idx, .documents.parquet and .blocks, each whole or not at all, in the order of
    keys.document_order, and returns their facts; None, and no file, when the range holds no document. The
    bytes are the same however the documents are spread over runs. Memory: the tokens and the document table
    of this one shard, and no open file but those of one run at a time. Raises UserError for a run that is
    damaged or of another dtype, DiskFull, OSError.
    """
    slices = [_slice(open_run(path), path, subset, key_range, dtype) for path in runs]
    table = pa.concat_tables([RUN_SCHEMA.empty_table(), *slices])
    if table.num_rows == 0:
        return None
    order = document_order(table)
    lengths = np.asarray(table.column("tokens")).astype(np.int64)
    places = np.empty(table.num_rows, dtype=np.int64)
    new_offsets = offsets_of(lengths[order])
    places[order] = new_offsets[:-1]
    num_tokens = int(new_offsets[-1])
    check_free_space(
        out_prefix.parent,
        num_tokens * dtype.itemsize + idx_size_bytes(table.num_rows) + table.num_rows * TABLE_ROW_BYTES,
    )

    tokens = np.empty(num_tokens, dtype=dtype)
    row = 0
    for path, rows in zip(runs, slices, strict=True):
        if not rows.num_rows:
            continue
        here = slice(row, row + rows.num_rows)
        starts = np.asarray(rows.column("token_start")).astype(np.int64)
        gather_documents(open_run(path).tokens, starts, lengths[here], tokens, places[here])
        row += rows.num_rows

    write_shard(out_prefix, tokens, lengths[order], dtype)
    table = table.take(pa.array(order))
    start_column = pa.array(new_offsets[:-1], pa.int64())
    table = table.set_column(
        table.schema.get_field_index("token_start"), RUN_SCHEMA.field("token_start"), start_column
    )
    write_document_table(table_path(out_prefix), table.select(document_schema().names))
    return _facts(out_prefix, table, tokens)


def _slice(run: Run, path: Path, subset: str, key_range: KeyRange, dtype: np.dtype[Any]) -> pa.Table:
    """The rows of a run in the range, copied, so that the run can be closed."""
    if run.tokens.dtype != dtype:
        raise ValueError(f"the run {path} holds {run.tokens.dtype} tokens, not {dtype}")
    first, last = rows_in_buckets(run, subset, key_range.lo, key_range.hi)
    return run.documents.replace_schema_metadata(None).take(pa.array(np.arange(first, last)))


def _facts(prefix: Path, table: pa.Table, tokens: npt.NDArray[Any]) -> PackedShard:
    return PackedShard(
        documents=table.num_rows,
        tokens=tokens.size,
        text_bytes=int(np.asarray(table.column("text_bytes")).sum()),
        max_token_id=int(tokens.max()),
        first_key=table.column("key")[0].as_py().hex(),
        **asdict(seal_shard(prefix)),
    )
