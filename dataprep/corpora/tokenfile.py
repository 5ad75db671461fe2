"""One file of tokens: what every layout is read into, and what the readers of layouts share."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifests.errors import UserError

Int64s = npt.NDArray[np.int64]

SCAN_TOKENS = 1 << 24
"""Tokens that are looked at at once for the end-of-text token: 32 to 64 MB."""


@dataclass(frozen=True, slots=True)
class TokenFile:
    """One file of tokens and its documents.

    path     the file whose bytes are the tokens
    dtype    of the tokens as they lie there
    offset   bytes before the first token: 0, or there is a header and the file must be written anew
    lengths  int64 [D] tokens of each document, in order, each at least 1; they add up to all tokens
    notes    what was settled, in words
    sides    other files that were read
    origin   what the layout says of each document: `id`, `path` (str or None), `position` (int); or empty
    tokens   the tokens themselves where they do not lie in one piece (MDS)
    """

    path: Path
    dtype: np.dtype[Any]
    lengths: Int64s
    offset: int = 0
    notes: tuple[str, ...] = ()
    sides: tuple[Path, ...] = ()
    origin: dict[str, list[Any]] = field(default_factory=dict)
    tokens: npt.NDArray[Any] | None = None

    def read(self) -> npt.NDArray[Any]:
        """All tokens, mapped; nothing is loaded."""
        if self.tokens is not None:
            return self.tokens
        count = int(self.lengths.sum())
        if count == 0:  # an empty file cannot be mapped
            return np.zeros(0, self.dtype)
        return np.memmap(self.path, self.dtype, "r", self.offset, (count,))


def scan_documents(tokens: npt.NDArray[Any], eos_id: int, notes: list[str]) -> Int64s:
    """Lengths of the documents that the end-of-text token closes; what follows the last one is a document
    too."""
    parts = [
        np.flatnonzero(tokens[start : start + SCAN_TOKENS] == eos_id) + start + 1
        for start in range(0, tokens.size, SCAN_TOKENS)
    ]
    ends = np.concatenate([np.zeros(1, np.int64), *parts])
    if ends[-1] != tokens.size:
        notes.append("the last document has no end-of-text token")
        ends = np.append(ends, tokens.size)
    lengths = np.diff(ends)
    alone = int(np.count_nonzero(lengths == 1))
    if alone:
        notes.append(f"{alone:,} documents are of one token")
    return lengths


def without_empty(lengths: Int64s, notes: list[str]) -> Int64s:
    """The lengths that are not 0: a shard holds no empty document, and none has a byte in the file."""
    kept = lengths[lengths > 0]
    if kept.size != lengths.size:
        notes.append(f"{lengths.size - kept.size:,} documents without tokens were left out")
    return kept


def bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UserError(
            "the index of the token file is missing", where=os.fspath(path), hint="both files are needed"
        ) from None
