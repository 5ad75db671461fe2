"""Run files: the tokens that WRITE leaves for one split, sorted by subset and shuffle key.

A run is a folder of two files: `tokens.bin`, the ids of all documents without a header, and
`documents.arrow`, one row a document in the same order (mapped into memory by readers, so a binary search
touches a few pages). Which order is in keys.py. Packing runs into shards is in pack.py; what the columns mean
is in manifests/tables.py.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.kernels.gather import gather_documents
from dataprep.kernels.texts import offsets_of
from dataprep.keys import NUM_BUCKETS, Int64s, document_order, key_buckets
from manifests.errors import UserError
from manifests.files import check_free_space, write_atomic
from manifests.fingerprint import digest_bytes
from manifests.shard import MAX_DOCUMENT_TOKENS

FORMAT_VERSION = 3
DOCUMENTS_FILE = "documents.arrow"
TOKENS_FILE = "tokens.bin"

SUBSETS = ("train", "holdout")
INPUT_SCHEMA = pa.schema(
    [
        pa.field("subset", pa.string(), nullable=False),
        pa.field("key", pa.binary(16), nullable=False),
        pa.field("id", pa.string()),
        pa.field("source", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("content_hash", pa.binary(16), nullable=False),
        pa.field("text_bytes", pa.int64(), nullable=False),
        pa.field("fields", pa.map_(pa.string(), pa.string())),
        pa.field("cluster_size", pa.int64(), nullable=False),
    ]
)
"""What `write_run` is given: one row a document, in any order. key: 16 bytes, big-endian, so that the order
of bytes is the order of numbers. subset: one of SUBSETS."""

RUN_SCHEMA = INPUT_SCHEMA.append(pa.field("tokens", pa.int32(), nullable=False)).append(
    pa.field("token_start", pa.int64(), nullable=False)
)
"""tokens: of the document, end-of-text token included; token_start: its first token in `tokens.bin`."""


@dataclass(frozen=True, slots=True)
class SubsetFacts:
    documents: int
    tokens: int
    text_bytes: int
    buckets: tuple[int, ...]
    """The buckets that hold documents, ascending."""
    bucket_tokens: tuple[int, ...]
    """Tokens in each of them."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a receipt keeps of a run: enough to plan the cuts without opening it."""

    subsets: dict[str, SubsetFacts]
    """Only the subsets that hold documents."""
    files: dict[str, str]
    """Name -> "sha256:..." of both files."""
    max_token_id: int
    """-1 when there are no tokens."""

    def to_json(self) -> dict[str, Any]:
        return {
            "subsets": {
                name: {
                    "documents": each.documents,
                    "tokens": each.tokens,
                    "text_bytes": each.text_bytes,
                    "buckets": list(each.buckets),
                    "bucket_tokens": list(each.bucket_tokens),
                }
                for name, each in self.subsets.items()
            },
            "files": dict(self.files),
            "max_token_id": self.max_token_id,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> RunFacts:
        subsets = {
            name: SubsetFacts(
                each["documents"],
                each["tokens"],
                each["text_bytes"],
                tuple(each["buckets"]),
                tuple(each["bucket_tokens"]),
            )
            for name, each in value["subsets"].items()
        }
        return RunFacts(subsets, dict(value["files"]), value["max_token_id"])


@dataclass(frozen=True, slots=True)
class Run:
    """An open run; both files are mapped, nothing is loaded."""

    documents: pa.Table
    """RUN_SCHEMA, in one chunk."""
    tokens: npt.NDArray[Any]
    """[T] in the dtype of the corpus."""
    rows: dict[str, tuple[int, int]]
    """Subset -> first row and row after the last."""


def write_run(
    directory: Path,
    documents: pa.Table,
    tokens: npt.NDArray[Any] | Sequence[npt.NDArray[Any]],
    lengths: Int64s,
    dtype: np.dtype[Any],
) -> RunFacts:
    """Sort the documents of a split and write them to `directory`, which must exist.

    documents  [n] INPUT_SCHEMA, in any order
    tokens     integers [sum of lengths], the documents in the order of the table; or several such arrays, one
               after the other, each of whole documents
    lengths    int64 [n], tokens of each, at least 1
    dtype      of the corpus: uint16 or int32

    The bytes of both files depend on the documents only, not on their order. Memory: the tokens once more, in
    `dtype`, and the table. Raises UserError (an id that does not fit, an empty document, one of 2^31 tokens
    or more), DiskFull, OSError.
    """
    parts = [tokens] if isinstance(tokens, np.ndarray) else tokens
    table, max_token_id = _checked(documents, parts, lengths, dtype)
    order = document_order(table)
    new_starts = offsets_of(lengths[order])
    sorted_tokens = _sorted_tokens(parts, lengths, order, new_starts, dtype)
    table, lengths = table.take(pa.array(order)), lengths[order]
    table = table.append_column(RUN_SCHEMA.field("tokens"), pa.array(lengths, pa.int32()))
    table = table.append_column(RUN_SCHEMA.field("token_start"), pa.array(new_starts[:-1], pa.int64()))

    subset_of_row = np.asarray(table.column("subset").combine_chunks().to_numpy(zero_copy_only=False))
    subsets, rows = {}, {}
    for subset in SUBSETS:
        members = np.flatnonzero(subset_of_row == subset)
        if members.size:
            rows[subset] = (int(members[0]), int(members[-1]) + 1)
            subsets[subset] = _facts(table.slice(members[0], members.size))
    header = {
        "version": FORMAT_VERSION,
        "dtype": sorted_tokens.dtype.str,
        "tokens": sorted_tokens.size,
        "rows": rows,
    }
    data = _ipc_bytes(table, header)
    check_free_space(directory, sorted_tokens.nbytes + data.size)
    contents = {
        # A view of an empty array cannot be cast.
        TOKENS_FILE: sorted_tokens.data.cast("B") if sorted_tokens.size else memoryview(b""),
        DOCUMENTS_FILE: memoryview(data),
    }
    for name, content in contents.items():
        write_atomic(directory / name, content)
    return RunFacts(
        subsets, {name: digest_bytes(content) for name, content in contents.items()}, max_token_id
    )


def open_run(directory: Path) -> Run:
    """Map a run. Raises UserError when its two files are not those of a run, or do not agree."""
    path = directory / DOCUMENTS_FILE
    try:
        documents = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        header = json.loads(documents.schema.metadata[b"headrace_run"])
        size_bytes = (directory / TOKENS_FILE).stat().st_size
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise UserError(f"this is not a run of documents: {error}", where=str(path)) from error
    dtype = np.dtype(header["dtype"])
    if header["version"] != FORMAT_VERSION or documents.schema.remove_metadata() != RUN_SCHEMA:
        raise UserError(
            "this run was written by another version", where=str(path), hint="remove it and run again"
        )
    if size_bytes != header["tokens"] * dtype.itemsize:
        raise UserError(
            f"the table says {header['tokens']:,} tokens of {dtype.name}, but there are {size_bytes:,} bytes",
            where=str(directory / TOKENS_FILE),
            hint="the file was cut or exchanged; remove the run and start again",
        )
    # An empty file cannot be mapped.
    tokens = np.memmap(directory / TOKENS_FILE, dtype, "r") if size_bytes else np.zeros(0, dtype)
    return Run(documents, tokens, {name: (first, last) for name, (first, last) in header["rows"].items()})


def rows_in_buckets(run: Run, subset: str, lo: int, hi: int) -> tuple[int, int]:
    """First row and row after the last of the documents of `subset` in the buckets lo <= bucket < hi."""
    first, last = run.rows.get(subset, (0, 0))
    if first == last:
        return 0, 0
    buckets = key_buckets(run.documents.column("key").chunk(0))
    rows = range(first, last)
    start = first + bisect_left(rows, lo, key=lambda row: int(buckets[row]))
    return start, first + bisect_left(rows, hi, key=lambda row: int(buckets[row]))


def sum_histograms(facts: Iterable[RunFacts], subset: str) -> Int64s:
    """int64 [65536]: tokens of a subset in each bucket over all runs."""
    histogram = np.zeros(NUM_BUCKETS, dtype=np.int64)
    for run in facts:
        if subset in run.subsets:
            # Buckets of one run are distinct, so fancy indexing adds each once.
            histogram[np.array(run.subsets[subset].buckets)] += np.array(run.subsets[subset].bucket_tokens)
    return histogram


def fitted(tokens: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The ids in the dtype of a corpus. Raises UserError for one that does not fit it."""
    _check_fit(tokens, dtype)
    return tokens.astype(dtype, copy=False)


def _check_fit(tokens: npt.NDArray[Any], dtype: np.dtype[Any]) -> int:
    """The greatest id, or -1 without any."""
    max_token_id = int(tokens.max()) if tokens.size else -1
    if max_token_id > np.iinfo(dtype).max or (
        tokens.dtype.kind == "i" and tokens.size and int(tokens.min()) < 0
    ):
        raise UserError(
            f"the id {max_token_id:,} does not fit {dtype.name}",
            hint="the dtype follows the vocabulary of the tokenizer; is it the one that made these ids?",
        )
    return max_token_id


def _sorted_tokens(
    parts: Sequence[npt.NDArray[Any]],
    lengths: Int64s,
    order: npt.NDArray[np.int64],
    new_starts: Int64s,
    dtype: np.dtype[Any],
) -> npt.NDArray[Any]:
    """The tokens in the order of the run: each part goes straight to its places, no whole copy between."""
    places = np.empty(lengths.size, dtype=np.int64)
    places[order] = new_starts[:-1]
    starts = offsets_of(lengths)
    part_starts = offsets_of(np.array([part.size for part in parts], dtype=np.int64))
    borders = np.searchsorted(starts, part_starts)
    if not np.array_equal(starts[borders], part_starts):
        raise ValueError("a document reaches from one array of tokens into the next")
    out: npt.NDArray[Any] = np.empty(int(new_starts[-1]), dtype=dtype.newbyteorder("<"))
    for part, start, (first, last) in zip(parts, part_starts, pairwise(borders), strict=False):
        gather_documents(part, starts[first:last] - start, lengths[first:last], out, places[first:last])
    return out


def _facts(table: pa.Table) -> SubsetFacts:
    tokens = np.asarray(table.column("tokens")).astype(np.int64)
    buckets, first = np.unique(key_buckets(table.column("key").combine_chunks()), return_index=True)
    return SubsetFacts(
        documents=table.num_rows,
        tokens=int(tokens.sum()),
        text_bytes=int(np.asarray(table.column("text_bytes")).sum()),
        buckets=tuple(buckets.tolist()),
        bucket_tokens=tuple(np.add.reduceat(tokens, first).tolist()),
    )


def _ipc_bytes(table: pa.Table, header: dict[str, Any]) -> pa.Buffer:
    """The table as an Arrow IPC file of one uncompressed batch, so that a map of it is the table."""
    metadata = {"headrace_run": json.dumps(header, sort_keys=True)}
    batches = table.combine_chunks().replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batches.schema) as writer:
        writer.write_table(batches)
    return sink.getvalue()


def _checked(
    documents: pa.Table, parts: Sequence[npt.NDArray[Any]], lengths: Int64s, dtype: np.dtype[Any]
) -> tuple[pa.Table, int]:
    """The table with INPUT_SCHEMA exactly, and the greatest id."""
    table = documents.select(INPUT_SCHEMA.names).cast(INPUT_SCHEMA).replace_schema_metadata(None)
    for field in INPUT_SCHEMA:
        if not field.nullable and table.column(field.name).null_count:
            raise ValueError(f"null in the column {field.name} of a run")
    unknown = set(table.column("subset").unique().to_pylist()) - set(SUBSETS)
    if unknown:
        raise ValueError(f"unknown subsets {sorted(unknown)}; there are {', '.join(SUBSETS)}")
    num_tokens = sum(part.size for part in parts)
    if lengths.size != table.num_rows or int(lengths.sum()) != num_tokens:
        raise ValueError(
            f"{table.num_rows} documents, {lengths.size} lengths of together {int(lengths.sum())} tokens, "
            f"and {num_tokens} tokens"
        )
    wrong = np.flatnonzero((lengths < 1) | (lengths > MAX_DOCUMENT_TOKENS))
    if wrong.size:
        row = table.slice(int(wrong[0]), 1).to_pylist()[0]
        raise UserError(
            f"a document has {int(lengths[wrong[0]]):,} tokens; 1 to {MAX_DOCUMENT_TOKENS:,} are possible",
            where=f"{row['path']}, position {row['position']}",
            hint="drop empty documents and cut longer ones with a step, or append an end-of-text token",
        )
    return table, max((_check_fit(part, dtype) for part in parts), default=-1)
