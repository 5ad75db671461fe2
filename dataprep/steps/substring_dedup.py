"""substring_dedup: cuts from documents what a better document, or an earlier place of the same one, has too.

Long passages that occur more than once, word for word, after Lee et al. 2021 (arXiv:2107.06499). This file
says what can be asked; what is cut is decided over all documents in `dataprep/decide/substrings.py`, and
docs/concepts/substring-dedup.md has the rule. Documents that are duplicates as a whole go by `exact_dedup`
and `minhash_dedup`, which cost less.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from dataprep.kernels.windows import LEAST_LENGTH
from dataprep.steps.base import Params
from dataprep.steps.exact_dedup import RankKey

DEFAULT_TOKENS, DEFAULT_BYTES = 50, 200
"""50 tokens are Lee et al.'s; of GPT-2's tokens, 50 of English are about 200 bytes."""

_SIZE = re.compile(r"\A([1-9][0-9]*)(MB|GB)\Z")
_UNITS = {"MB": 10**6, "GB": 10**9}


def _size(value: object) -> str:
    if not isinstance(value, str) or _SIZE.match(value) is None:
        raise ValueError("expected a size such as 500MB or 2GB")
    return value


class TokenizerFile(Params):
    """A tokenizer.json of a byte-level BPE."""

    file: Annotated[str, Field(min_length=1)]


class SubstringDedupParams(Params):
    """`tokens`: what a passage is counted in. `length`: the least that is cut, null is 50 tokens or 200
    bytes. `keep`: rank of the documents, as in `exact_dedup`. `within`: whether a document of another source
    counts. `max_memory`: of each worker while it compares; the result does not depend on it."""

    tokens: Literal["bytes"] | TokenizerFile = "bytes"
    length: Annotated[int, Field(ge=LEAST_LENGTH)] | None = None
    keep: Annotated[tuple[RankKey, ...], Field(strict=False)] = ("source_priority", "longest")
    within: Literal["source", "corpus"] = "corpus"
    max_memory: Annotated[str, BeforeValidator(_size)] = "1GB"

    @field_validator("keep")
    @classmethod
    def _each_once(cls, keep: tuple[RankKey, ...]) -> tuple[RankKey, ...]:
        if len(set(keep)) != len(keep):
            raise ValueError("names a key twice")
        return keep

    @property
    def num_tokens(self) -> int:
        """Tokens, or bytes, of a window."""
        if self.length is not None:
            return self.length
        return DEFAULT_BYTES if self.tokens == "bytes" else DEFAULT_TOKENS

    @property
    def memory_bytes(self) -> int:
        count, unit = _SIZE.match(self.max_memory).groups()  # type: ignore[union-attr]
        return int(count) * _UNITS[unit]
