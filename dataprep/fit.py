"""Fit the documents of a shard into rows of one length, cutting only those that are longer than a row.

"Fewer Truncations Improve Language Modeling" (arXiv 2404.10830): a document that is longer than a row is cut
into whole rows and a rest; the rests and all shorter documents are packed by best-fit decreasing
(`kernels/best_fit.py`). A pure function of the lengths. What a packing is, and what holds for each, is said
in `manifests/packing.py`.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dataprep.kernels.best_fit import best_fit
from dataprep.kernels.texts import offsets_of
from manifests.lists import ShardPacking
from manifests.packing import MAX_SEQUENCE_LENGTH, Packing, write_packing
from manifests.packings import describe_packing
from manifests.shard import ShardReader

StrPath = str | PathLike[str]
Int64s = npt.NDArray[np.int64]

VERSION = 1
"""Of the packings that are made here."""


def fit_documents(lengths: npt.NDArray[np.integer], sequence_length: int) -> Packing:
    """The packing of documents of these `lengths` [D], in tokens, that lie one after the other in a shard.

    Rows come in the order of their first pieces, pieces of a row in the order of the shard. Memory: about 100
    bytes a document and 40 a row. Raises ValueError for a length of row that no packing can have.
    """
    if not 1 <= sequence_length <= MAX_SEQUENCE_LENGTH:
        raise ValueError(f"rows of {sequence_length} tokens")
    lengths = np.asarray(lengths, dtype=np.int64)
    offsets = offsets_of(lengths)[:-1]
    targets = np.maximum(lengths - 1, 0)
    whole, rest = np.divmod(targets, sequence_length)

    # Whole rows of long documents: piece j of a document begins at its target j * S, less one token.
    document = np.repeat(np.arange(lengths.size), whole)
    number = np.arange(document.size) - np.repeat(offsets_of(whole)[:-1], whole)
    whole_start = offsets[document] + number * sequence_length
    # What is left of them, and all documents that are shorter than a row.
    left = np.flatnonzero(rest)
    rest_start = offsets[left] + whole[left] * sequence_length
    rest_length = rest[left] + 1
    bins = best_fit(rest_length, sequence_length + 1)

    start = np.concatenate([whole_start, rest_start])
    length = np.concatenate([np.full(whole_start.size, sequence_length + 1), rest_length])
    row = np.concatenate([np.arange(whole_start.size), whole_start.size + bins])
    return _in_order(sequence_length, start, length, row)


def _in_order(sequence_length: int, start: Int64s, length: Int64s, row: Int64s) -> Packing:
    """Pieces with the numbers of their rows, brought into the order of a packing."""
    order = np.argsort(start, kind="stable")
    # Rows are numbered anew as they come up in that order.
    _, first_seen, row_of = np.unique(row[order], return_index=True, return_inverse=True)
    rank = np.empty(first_seen.size, dtype=np.int64)
    rank[np.argsort(first_seen)] = np.arange(first_seen.size)
    new_row = rank[row_of.reshape(-1)]
    within = np.argsort(new_row, kind="stable")
    order = order[within]
    first_piece = offsets_of(np.bincount(new_row, minlength=first_seen.size))
    return Packing(sequence_length, first_piece, start[order], length[order].astype(np.int32))


def fit_shard(shard: StrPath, sequence_length: int, path: StrPath) -> ShardPacking:
    """Write the packing of a shard, given by its prefix, to `path`; return what a list says of it, under the
    last part of the prefix as the name. Raises ShardError, DiskFull, OSError."""
    lengths = np.diff(ShardReader(shard).offsets)
    packing = fit_documents(lengths, sequence_length)
    write_packing(path, packing)
    cut_by_concat = cut_by_rows(lengths, sequence_length)
    return describe_packing(path, Path(shard).name, packing, lengths, cut_by_concat)


def cut_by_rows(lengths: npt.NDArray[np.integer], sequence_length: int) -> int:
    """How many documents of more than a token consecutive rows would cut, laid from the shard's first token.

    Rows of `pack: concat` hold S + 1 tokens and begin S apart, so a document may share a row's first token.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    offsets = offsets_of(lengths)[:-1]
    end_of_row = (offsets // sequence_length + 1) * sequence_length
    return int(np.count_nonzero((offsets + lengths - 1 > end_of_row) & (lengths > 1)))
