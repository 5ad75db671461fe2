"""The texts of a shard again, out of its tokens, and whether each is the one that was tokenized.

The document table has the hash of that text, so exactness is not believed but compared. It fails where a
tokenizer rewrote the text first (a normalizer, a space put before it), or cannot spell every character.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.columnfile import hashes_from_arrow
from dataprep.columns import texts_to_arrow
from dataprep.corpora.tables import table_of
from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Texts
from dataprep.tokenizers.decode import Decoder, document_groups
from manifests.corpus import Corpus
from manifests.lists import Shard

GROUP_TOKENS = 1 << 22
"""Tokens that are decoded at once: some 200 MB with what is made of them."""


@dataclass(frozen=True, slots=True)
class Restored:
    """Some documents of a shard, in its order.

    table     their rows of the document table
    texts     their texts; bytes that are no UTF-8 (of documents that were cut) are still in them
    is_exact  bool [n]: whether the text has the hash of the text that was tokenized
    """

    table: pa.Table
    texts: Texts
    is_exact: npt.NDArray[np.bool_]

    def strings(self) -> tuple[pa.LargeStringArray, npt.NDArray[np.bool_]]:
        """The texts as strings, and which of them are exact: not those in which bytes had to be replaced."""
        column = texts_to_arrow(self.texts)
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            strings = [text.decode("utf-8", errors="replace") for text in self.texts]
            whole = [string.encode() == text for string, text in zip(strings, self.texts, strict=True)]
            return pa.array(strings, pa.large_string()), self.is_exact & np.array(whole, bool)
        return column, self.is_exact


def restore(corpus: Corpus, shard: Shard, decoder: Decoder, rows: range | None = None) -> Iterator[Restored]:
    """The documents of a shard, or the rows of a range, a group at a time. The tokens that open and close a
    document, of begin- and end-of-text, are no part of its text. Raises ShardError, TableError, UserError."""
    reader = corpus.reader(shard)
    table = table_of(corpus, shard)
    rows = range(shard.documents) if rows is None else rows
    offsets = reader.offsets
    for start, stop in document_groups(offsets[rows.start : rows.stop + 1], GROUP_TOKENS):
        first, last = rows.start + start, rows.start + stop
        tokens = np.asarray(reader.tokens[offsets[first] : offsets[last]])
        ends = offsets[first + 1 : last + 1] - offsets[first]
        framing = opening_token(corpus), closing_token(corpus, shard.source)
        texts = _decode(tokens, ends, decoder, *framing)
        part = table.slice(first, last - first)
        yield Restored(part, texts, _is_exact(corpus, shard, part, texts))


def opening_token(corpus: Corpus) -> int | None:
    """The token that is no part of a text where it is the first one. Imported files that have it before some
    documents only keep it as text."""
    tokenizer = corpus.manifest.tokenizer
    return tokenizer.bos_id if tokenizer.prepend_bos else None


def closing_token(corpus: Corpus, source: str) -> int | None:
    """The token that is no part of a text where it is the last one: appended here, or as imported files
    have it."""
    tokenizer = corpus.manifest.tokenizer
    is_imported = corpus.manifest.sources[source].order == "stored"
    return tokenizer.eos_id if tokenizer.append_eos or is_imported else None


def _decode(
    tokens: npt.NDArray[Any],
    ends: npt.NDArray[np.int64],
    decoder: Decoder,
    opening: int | None,
    closing: int | None,
) -> Texts:
    keep = np.ones(tokens.size, bool)
    starts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
    if opening is not None:
        keep[starts] = tokens[starts] != opening
    if closing is not None:
        keep[ends - 1] &= tokens[ends - 1] != closing
    if keep.all():
        return decoder.decode(tokens, ends - starts)
    return decoder.decode(tokens[keep], np.diff(np.cumsum(keep)[ends - 1], prepend=0))


def _is_exact(corpus: Corpus, shard: Shard, table: pa.Table, texts: Texts) -> npt.NDArray[np.bool_]:
    if corpus.manifest.sources[shard.source].content_hash != "text":
        return np.zeros(len(texts), bool)
    wanted = hashes_from_arrow(table.column("content_hash").combine_chunks())
    found: npt.NDArray[np.bool_] = (hash128(texts.data, texts.offsets) == wanted).all(axis=1)
    return found
