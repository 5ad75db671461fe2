"""From what a model file holds to the `Tables` of the kernels, whose every index is checked here.

A dense matrix stays in the bytes of the file. A quantized one is unpacked where it is small, and else row by
row as rows are used: one gigabyte a worker is too much for what is 100 MB in the file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dataprep.fasttext.cursor import Cursor
from dataprep.fasttext.quantized import Quantized
from dataprep.kernels.fasttext_dictionary import Entries, slots_of
from dataprep.kernels.fasttext_rows import Tables
from dataprep.kernels.utf8 import read_only

UNPACK_BYTES = 64 << 20
"""A quantized matrix that is larger when unpacked stays packed."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The numbers of args.cc that matter for prediction."""

    dim: int
    word_ngrams: int
    loss: int
    bucket: int
    min_n: int
    max_n: int

    @property
    def uses_ngrams(self) -> bool:
        return self.max_n > 0 or self.word_ngrams > 1


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """Words, then labels; `pruned` is int32 [n, 2], (n-gram, its row after those of words), or None where
    every n-gram has its row."""

    entries: Entries
    num_words: int
    pruned: npt.NDArray[np.int32] | None


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """rows x dim float32 from byte `start` of the file on."""

    rows: int
    dim: int
    start: int


def tables_of(
    cursor: Cursor, arguments: Arguments, dictionary: Dictionary, matrix: Dense | Quantized
) -> Tables:
    """The tables of a model; UserError where an index would lead outside."""
    num_words, pruned = dictionary.num_words, dictionary.pruned
    needed = num_words + (arguments.bucket if pruned is None and arguments.uses_ngrams else 0)
    if matrix.rows < needed:
        raise cursor.refuse(f"{matrix.rows:,} rows for {needed:,} words and n-grams")
    kept, ranks = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int32)
    if pruned is not None:
        assert isinstance(matrix, Quantized)
        ngrams, rows = _checked(cursor, pruned, max(arguments.bucket, 1), matrix.rows - num_words)
        kept, ranks = _ranked(ngrams, max(arguments.bucket, 1))
        matrix = matrix.take(np.concatenate([np.arange(num_words), num_words + rows]))
    file, entries = read_only(cursor.file), dictionary.entries
    data, first_row, packed = file, 0, None
    if isinstance(matrix, Dense):
        first_row = matrix.start
    elif 4 * matrix.rows * matrix.dim <= UNPACK_BYTES:
        data = np.append(matrix.unpacked().view(np.uint8), np.uint8(0))  # one more: no bytes means packed
    else:
        data, packed = np.zeros(0, dtype=np.uint8), matrix
    return Tables(
        file=file,
        starts=read_only(entries.starts),
        ends=read_only(entries.ends),
        slots=read_only(slots_of(cursor.file, entries)),
        num_words=num_words,
        dim=arguments.dim,
        min_n=arguments.min_n,
        max_n=arguments.max_n,
        bucket=max(arguments.bucket, 1),
        word_ngrams=arguments.word_ngrams,
        is_pruned=pruned is not None,
        kept=read_only(kept),
        ranks=read_only(ranks),
        rows=read_only(data),
        first_row=first_row,
        codes=read_only(packed.codes.reshape(-1) if packed else np.zeros(1, dtype=np.uint8)),
        norms=read_only(packed.norms if packed else np.zeros(1, dtype=np.float32)),
        centroids=read_only(packed.centroids if packed else np.zeros(1, dtype=np.float32)),
        part=packed.part if packed else 1,
    )


def _checked(
    cursor: Cursor, pruned: npt.NDArray[np.int32], bucket: int, num_rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(n-grams that pruning kept, ascending; the row of each)."""
    pairs = pruned[np.argsort(pruned[:, 0], kind="stable")].astype(np.int64)
    ngrams, rows = pairs[:, 0], pairs[:, 1]
    if ngrams.size and not (ngrams[0] >= 0 and ngrams[-1] < bucket):
        raise cursor.refuse("an n-gram that it keeps is outside its buckets")
    if (np.diff(ngrams) == 0).any():
        raise cursor.refuse("it keeps an n-gram twice")
    if rows.size and not (rows.min() >= 0 and rows.max() < num_rows):
        raise cursor.refuse("an n-gram that it keeps is outside its matrix")
    return ngrams, rows


def _ranked(
    ngrams: npt.NDArray[np.int64], bucket: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """(`bucket` bits, set for the given n-grams; how many are set in the words before each word of 64)."""
    kept = np.zeros(-(-bucket // 64), dtype=np.uint64)
    np.bitwise_or.at(kept, ngrams >> 6, np.uint64(1) << (ngrams & 63).astype(np.uint64))
    per_word = np.bincount(ngrams >> 6, minlength=kept.size)
    return kept, (np.cumsum(per_word) - per_word).astype(np.int32)
