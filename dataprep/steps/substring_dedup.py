"""substring_dedup: cuts from documents what a better document, or an earlier place of the same one, has too.

Long passages that occur more than once, word for word, after Lee et al. 2021 (arXiv:2107.06499). This file
says what can be asked; what is cut is decided over all documents in `dataprep/decide/substrings.py`, and
docs/concepts/substring-dedup.md has the rule. Documents that are duplicates as a whole go by `exact_dedup`
and `minhash_dedup`, which cost less.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from dataprep.batch import Batch
from dataprep.columns import Texts
from dataprep.kernels.spans import spliced
from dataprep.kernels.windows import LEAST_LENGTH
from dataprep.steps.base import Check, CorpusEdit, Int64s, Params, Signals, above, ratio
from dataprep.steps.model_file import file_digest
from dataprep.steps.ranking import RankingParams, ranking_columns, ranking_measured
from dataprep.tokenizers.files import read_tokenizer
from dataprep.tokenizers.spelling import spelling_of

DEFAULT_TOKENS, DEFAULT_BYTES = 50, 200
"""50 tokens are Lee et al.'s; of GPT-2's tokens, 50 of English are about 200 bytes."""

NOTHING = Texts.from_bytes([b""])


class TokenizerFile(Params):
    """A tokenizer.json of a byte-level BPE."""

    file: Annotated[str, Field(min_length=1)]


class SubstringDedupParams(RankingParams):
    """`tokens`: what a passage is counted in. `length`: the least that is cut, null is 50 tokens or 200
    bytes. `max_removed_ratio`: drops a document that loses a greater share of its bytes; None: none is
    dropped. `keep` and `within` are as for exact_dedup, but `within` names no field."""

    tokens: Literal["bytes"] | TokenizerFile = "bytes"
    length: Annotated[int, Field(ge=LEAST_LENGTH)] | None = None
    max_removed_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    within: Literal["source", "corpus"] = "corpus"

    @property
    def num_tokens(self) -> int:
        """Tokens, or bytes, of a window."""
        if self.length is not None:
            return self.length
        return DEFAULT_BYTES if self.tokens == "bytes" else DEFAULT_TOKENS

    @property
    def tokenizer_file(self) -> str | None:
        return self.tokens.file if isinstance(self.tokens, TokenizerFile) else None


def needs(params: SubstringDedupParams) -> tuple[str, ...]:
    return params.ranking_fields


def depends(params: SubstringDedupParams) -> Mapping[str, str]:
    """Raises UserError for a tokenizer whose tokens cannot be used."""
    file = params.tokenizer_file
    if file is None:
        return {}
    digest = file_digest(file, "substring_dedup")
    _check(file, digest)
    return {"tokenizer": digest}


@lru_cache(maxsize=16)
def _check(path: str, digest: str) -> None:
    spelling_of(read_tokenizer(Path(path)))


def measure(batch: Batch, params: SubstringDedupParams) -> tuple[None, Signals]:
    """Bytes of each text, and the columns of `ranking_columns`; the stages read the texts once more, those
    alone that the rules kept."""
    return None, {"text_bytes": batch.texts.lengths, **ranking_columns(batch, params)}


def cut(batch: Batch, params: Any, rows: Int64s, starts: Int64s, ends: Int64s) -> tuple[Texts, Signals]:
    """The texts without what is named, joined where it was, and of each document int64[n] `text_bytes` before
    and `removed_bytes`."""
    texts = batch.texts
    left = texts
    if len(rows):
        begins = texts.offsets[rows]
        spans = np.column_stack([rows, begins + starts, begins + ends, np.zeros_like(rows)])
        left = Texts(*spliced(texts.data, texts.offsets, spans, NOTHING))
    return left, {"text_bytes": texts.lengths, "removed_bytes": texts.lengths - left.lengths}


def checks(signals: Signals, params: SubstringDedupParams) -> list[Check]:
    """Reason `passages_removed_ratio`."""
    removed = ratio(signals["removed_bytes"], signals["text_bytes"])
    return [above("passages_removed_ratio", removed, params.max_removed_ratio)]


SUBSTRING_DEDUP = CorpusEdit(
    name="substring_dedup",
    version=1,
    params=SubstringDedupParams,
    measure=measure,
    cut=cut,
    checks=checks,
    depends=depends,
    needs=needs,
    also_measuring=ranking_measured,
)
