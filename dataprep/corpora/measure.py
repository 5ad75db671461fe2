"""What the tokens of one imported file say: the greatest id, how documents begin and end, texts and their
hashes.

Goes over the documents in groups, so that the memory is that of a group and of the document table.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.columnfile import hashes_to_arrow
from dataprep.corpora.tokenfile import TokenFile
from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Texts, offsets_of
from dataprep.tokenizers import Encoder, TokenizerFacts, describe, strip_special
from dataprep.tokenizers.backends import reference_name
from dataprep.tokenizers.decode import Decoder, document_groups
from dataprep.tokenizers.files import Definition
from manifests.errors import UserError
from manifests.shard import table_path
from manifests.tables import document_schema, write_document_table

GROUP_TOKENS = 1 << 22
SAMPLED_DOCUMENTS = 16
SAMPLED_TOKENS = 4096
"""A longer document is no sample: `tokenizers` would take its time over it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Counts over documents. `samples` holds a few documents whole, from the first on."""

    documents: int
    tokens: int
    text_bytes: int
    max_token_id: int
    end_with_eos: int
    begin_with_bos: int
    eos_inside: int
    """End-of-text tokens that do not end a document."""
    special_inside: int
    """Special tokens that are neither the end nor the begin of one."""
    samples: tuple[npt.NDArray[Any], ...] = ()

    def to_json(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in Facts.__slots__ if name != "samples"}


def add(left: Facts | None, right: Facts) -> Facts:
    """The facts of two files together."""
    if left is None:
        return right
    sums = {name: getattr(left, name) + getattr(right, name) for name in right.to_json()}
    sums["max_token_id"] = max(left.max_token_id, right.max_token_id)
    return Facts(**sums, samples=(left.samples + right.samples)[:SAMPLED_DOCUMENTS])


@dataclass(frozen=True, slots=True)
class Job:
    """One file that becomes one shard. `name` is its path below the folder that holds all files of its
    source; `first_document` the number of its first document in its source and subset."""

    source: str
    subset: str
    index: int
    path: Path
    name: str
    file: TokenFile
    first_document: int

    @property
    def shard_name(self) -> str:
        return f"{self.source}-{self.subset}-{self.index:05d}"


def measure_shard(
    prefix: Path,
    tokens: npt.NDArray[Any],
    place: Job,
    tokenizer: TokenizerFacts,
    decoder: Decoder,
    all_begin: bool,
) -> Facts:
    """Write the document table of a shard and return what its tokens say. Raises UserError for an id
    outside the vocabulary.

    all_begin  whether every document of the corpus starts with the begin-of-text token, which is no part of
               the texts then
    """
    lengths = place.file.lengths
    ends = offsets_of(lengths)
    hashes, text_bytes = [], []
    facts: Facts | None = None
    for first, last in document_groups(ends, GROUP_TOKENS):
        part = np.asarray(tokens[ends[first] : ends[last]])
        found, parts = _measure(part, ends[first : last + 1] - ends[first], tokenizer, decoder, all_begin)
        facts = add(facts, found)
        hashes.append(parts[0])
        text_bytes.append(parts[1])
    assert facts is not None, "a file without documents is passed over"
    write_document_table(
        table_path(prefix), _table(place, ends, np.concatenate(hashes), np.concatenate(text_bytes))
    )
    return facts


def framing(
    tokens: npt.NDArray[Any], ends: npt.NDArray[np.int64], tokenizer: TokenizerFacts
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """(begun, closed) bool [n] each: whether a document starts with the begin-of-text token, and ends with
    the end-of-text token. `ends` int64 [n + 1] from 0. Where both are one token, a document of it alone is
    closed only."""
    firsts, lasts = tokens[ends[:-1]], tokens[ends[1:] - 1]
    nothing = np.zeros(lasts.size, bool)
    closed = nothing if tokenizer.eos_id is None else lasts == tokenizer.eos_id
    begun = nothing if tokenizer.bos_id is None else firsts == tokenizer.bos_id
    return begun & ((np.diff(ends) > 1) | ~closed), closed


def _measure(
    tokens: npt.NDArray[Any],
    ends: npt.NDArray[np.int64],
    tokenizer: TokenizerFacts,
    decoder: Decoder,
    all_begin: bool,
) -> tuple[Facts, tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]]:
    low, high = int(tokens.min()), int(tokens.max())
    if low < 0 or high >= tokenizer.vocab_size:
        wrong = int(np.argmax((tokens < 0) | (tokens >= tokenizer.vocab_size)))
        raise UserError(
            f"the id {int(tokens[wrong]):,} is outside the vocabulary of {tokenizer.vocab_size:,}",
            hint="is it the tokenizer that made these tokens, and is the dtype right (--dtype)?",
        )
    begun, closed = framing(tokens, ends, tokenizer)
    eos = 0 if tokenizer.eos_id is None else int(np.count_nonzero(tokens == tokenizer.eos_id))
    special = np.isin(tokens, list(tokenizer.special_tokens.values()))
    special[ends[:-1][begun]] = special[ends[1:][closed] - 1] = False
    texts_bytes = np.zeros(closed.size, np.int64)
    if decoder.is_byte_level:
        lengths = np.diff(ends)
        keep = np.ones(tokens.size, bool)
        keep[ends[1:][closed] - 1] = False
        if all_begin:
            keep[ends[:-1]] = False
        texts = decoder.decode(tokens[keep], lengths - closed - int(all_begin))
        texts_bytes = texts.lengths
        hashes = hash128(texts.data, texts.offsets)
    else:
        raw = np.ascontiguousarray(tokens)
        hashes = hash128(raw.view(np.uint8), ends * raw.dtype.itemsize)
    short = np.flatnonzero((np.diff(ends) <= SAMPLED_TOKENS) & (np.diff(ends) > 1))
    chosen = short[:: max(1, short.size // SAMPLED_DOCUMENTS)][:SAMPLED_DOCUMENTS]
    facts = Facts(
        documents=int(closed.size),
        tokens=int(tokens.size),
        text_bytes=int(texts_bytes.sum()),
        max_token_id=high,
        end_with_eos=int(np.count_nonzero(closed)),
        begin_with_bos=int(np.count_nonzero(begun)),
        eos_inside=eos - int(np.count_nonzero(closed)),
        special_inside=int(np.count_nonzero(special)),
        samples=tuple(tokens[ends[row] : ends[row + 1]].copy() for row in chosen),
    )
    return facts, (hashes, texts_bytes)


def _table(
    place: Job,
    ends: npt.NDArray[np.int64],
    hashes: npt.NDArray[np.uint64],
    text_bytes: npt.NDArray[np.int64],
) -> pa.Table:
    count = ends.size - 1
    origin = place.file.origin
    numbers = np.zeros((count, 2), np.uint64)
    numbers[:, 1] = np.arange(place.first_document, place.first_document + count, dtype=np.uint64)
    paths = origin.get("path") or [None] * count
    return pa.table(
        {
            "id": pa.array(origin.get("id") or [None] * count, pa.string()),
            "source": pa.array([place.source], pa.string()).take(pa.array(np.zeros(count, np.int64))),
            "path": pa.array([each or place.name for each in paths], pa.string()),
            "position": pa.array(origin.get("position") or np.arange(count), pa.int64()),
            "key": hashes_to_arrow(numbers),
            "content_hash": hashes_to_arrow(hashes),
            "token_start": pa.array(ends[:-1], pa.int64()),
            "tokens": pa.array(np.diff(ends), pa.int32()),
            "text_bytes": pa.array(text_bytes, pa.int64()),
            "fields": pa.nulls(count, document_schema().field("fields").type),
            "cluster_size": pa.array(np.zeros(count, np.int64)),  # not known
        },
        schema=document_schema(),
    )


def reproduced(definition: Definition, decoder: Decoder, facts: Facts) -> tuple[int, int]:
    """(documents whose ids the tokenizer gives again, documents tried) of a few samples.

    Decoded, encoded, and compared without the special tokens at their ends. A tokenizer that rewrites
    texts, or documents that were cut, may fail here and be right; all of them failing means another
    tokenizer.
    """
    special = set(describe(definition).special_tokens.values())
    encoder = Encoder(strip_special(definition, "text"), reference_name(definition), None)
    equal = tried = 0
    for sample in facts.samples:
        ids = sample.tolist()
        while ids and ids[-1] in special:
            ids.pop()
        while ids and ids[0] in special:
            ids.pop(0)
        if not ids:
            continue
        (text,) = decoder.decode(np.array(ids), np.array([len(ids)]))
        again, _ = encoder.encode(Texts.from_strings([text.decode("utf-8", errors="replace")]))
        tried += 1
        equal += again.tolist() == ids
    return equal, tried
