"""The documents of a split as every stage reads them: the sampled ones, in batches, with what was left out.

A source's `sample` keeps the documents whose raw hash, mixed under a key that is the same in every corpus,
falls under the share. So the documents of a small sample are in every larger one, copies of a text are taken
or left together, and a sample says nothing about the hold-out or the shuffle, which have keys of their own.
Nothing but the raw hash is computed of a document that is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.batch import Batch
from dataprep.columns import texts_from_arrow
from dataprep.decide.heldout import hash_key
from dataprep.kernels.hashing import hash128, mix128
from dataprep.readers import READERS, Chunk, ReadOptions, Split
from dataprep.readers.records import empty_chunk, fields_of

SAMPLE_KEY = hash_key("sample", "")


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A chunk of a split and its documents.

    chunk                its records are those of `batch`; bad records and damage are all there
    batch                the documents as read
    unsampled_documents  how many more there were, left out by the sample
    unsampled_bytes      of their texts as read
    """

    chunk: Chunk
    batch: Batch
    unsampled_documents: int = 0
    unsampled_bytes: int = 0


def read_chunks(split: Split, options: ReadOptions) -> Iterator[Reading]:
    """The documents of a split in reading order. One that comes without any may still hold bad records."""
    for chunk in READERS[split.format].read(split, options):
        yield _reading(chunk, options)


def nothing_read(options: ReadOptions) -> Reading:
    """No documents, with columns of the right types."""
    return _reading(empty_chunk(options), options)


def in_sample(raw_hash: npt.NDArray[np.uint64], share: float) -> npt.NDArray[np.bool_]:
    """bool [n]: which documents a sample of this share holds."""
    if share >= 1:
        return np.ones(len(raw_hash), dtype=bool)
    return mix128(raw_hash, SAMPLE_KEY)[:, 0] < np.uint64(int(share * 2.0**64))


def _reading(chunk: Chunk, options: ReadOptions) -> Reading:
    texts = texts_from_arrow(chunk.records.column("text"))
    raw_hash = hash128(texts.data, texts.offsets)
    chosen = in_sample(raw_hash, options.sample)
    left_out = len(texts) - int(chosen.sum())
    if not left_out:
        return Reading(chunk, Batch(texts, chunk.records.column("id"), fields_of(chunk, options), raw_hash))
    chunk = replace(chunk, records=chunk.records.filter(pa.array(chosen)))
    sampled = texts_from_arrow(chunk.records.column("text"))
    ids, fields = chunk.records.column("id"), fields_of(chunk, options)
    unsampled_bytes = int(texts.lengths[~chosen].sum())
    return Reading(chunk, Batch(sampled, ids, fields, raw_hash[chosen]), left_out, unsampled_bytes)
