"""Megatron's `.bin` and `.idx` of any writer: MMIDIDX version 1, checked harder than its readers do.

Several sequences a document become one document; wrong pointers, and lengths that left out the end-of-text
token, are settled where the file proves it, with a note. Reading our own shards is in manifests/shard.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dataprep.corpora.tokenfile import Int64s, TokenFile, bytes_of, without_empty
from manifests.errors import UserError
from manifests.shard import DTYPES_BY_CODE, FORMAT_VERSION, HEADER, MAGIC

FLOATS_BY_CODE = {6: ("<f8", "<f4"), 7: ("<f4", "<f8")}
"""Dtype codes of an `.idx` that two tools read differently: by Megatron-Core, by GPT-NeoX."""


def read_megatron(path: Path, dtype: np.dtype[Any] | None, eos_id: int | None) -> TokenFile:
    """The documents of a `.bin` file, by the `.idx` beside it. dtype: overrules the index. Raises
    UserError."""
    index = path.with_suffix(".idx")
    data = bytes_of(index)
    code, num_sequences, num_indices = _megatron_header(data, index)
    places = (HEADER.size, HEADER.size + 4 * num_sequences, HEADER.size + 12 * num_sequences)
    wanted = places[2] + 8 * num_indices
    if len(data) != wanted:
        more = " (one more byte a sequence: a multimodal index is not read)"
        what = f"the index has {len(data):,} bytes; one of {num_sequences:,} sequences has {wanted:,}"
        raise UserError(
            what + (more if len(data) == wanted + num_sequences > wanted else ""), where=str(index)
        )
    lengths = np.frombuffer(data, "<i4", num_sequences, places[0]).astype(np.int64)
    pointers = np.frombuffer(data, "<i8", num_sequences, places[1])
    documents = np.frombuffer(data, "<i8", num_indices, places[2])
    if lengths.size and lengths.min() < 0:
        raise UserError(f"sequence {int(np.argmin(lengths)):,} has a negative length", where=str(index))
    size_bytes = path.stat().st_size
    notes: list[str] = []
    found = dtype if dtype is not None else _coded_dtype(code, int(lengths.sum()), size_bytes, index)
    lengths = _settled_lengths(lengths, size_bytes, found, path, eos_id, notes)
    _check_pointers(pointers, lengths, found.itemsize, index, notes)
    return TokenFile(
        path, found, _documents_of(lengths, documents, index, notes), notes=tuple(notes), sides=(index,)
    )


def _megatron_header(data: bytes, index: Path) -> tuple[int, int, int]:
    if len(data) < HEADER.size:
        raise UserError(f"the index is cut: {len(data)} bytes, its header alone has 34", where=str(index))
    magic, version, code, num_sequences, num_indices = HEADER.unpack_from(data)
    if magic != MAGIC or version != FORMAT_VERSION:
        raise UserError(
            f"not an index of MMIDIDX version 1: it starts with {magic!r}, version {version}",
            where=str(index),
            hint=(
                "indices that begin with TNTIDX are of fairseq's older format; Megatron's tools convert them"
            ),
        )
    return code, num_sequences, num_indices


def _coded_dtype(code: int, num_tokens: int, size_bytes: int, index: Path) -> np.dtype[Any]:
    """The dtype of a code. Both tables agree on integers; of floats the size of the file tells whose table
    it is."""
    if code in DTYPES_BY_CODE:
        return DTYPES_BY_CODE[code]
    for writer, name in zip(("Megatron-Core", "GPT-NeoX"), FLOATS_BY_CODE.get(code, ()), strict=False):
        dtype: np.dtype[Any] = np.dtype(name)
        if num_tokens and num_tokens * dtype.itemsize == size_bytes:
            raise UserError(
                f"the tokens are {dtype.name} (code {code} by the table of {writer}), which is no "
                "dtype of ids",
                where=str(index),
                hint="convert them to integers with the tool that wrote them",
            )
    raise UserError(f"dtype code {code} is not one of a token", where=str(index))


def _settled_lengths(
    lengths: Int64s, size_bytes: int, dtype: np.dtype[Any], path: Path, eos_id: int | None, notes: list[str]
) -> Int64s:
    total, itemsize = int(lengths.sum()), dtype.itemsize
    if total * itemsize == size_bytes:
        return lengths
    where = str(path)
    if (total + lengths.size) * itemsize == size_bytes and eos_id is not None:
        longer = lengths + 1
        last = np.memmap(path, dtype, "r")[np.cumsum(longer) - 1]
        if np.all(last == eos_id):
            notes.append(
                "the lengths left out the end-of-text token of each sequence, which is there: one "
                "was added to each"
            )
            return longer
    if total and size_bytes % total == 0 and size_bytes // total in (1, 2, 4, 8):
        raise UserError(
            f"the index says {dtype.name}, but the file has {size_bytes // total} bytes for each of its "
            f"{total:,} tokens",
            where=where,
            hint="name the dtype that was written: --dtype",
        )
    raise UserError(
        f"the index describes {total * itemsize:,} bytes of tokens, but the file has {size_bytes:,}",
        where=where,
        hint="the file was cut, or the two files belong to different data",
    )


def _check_pointers(pointers: Int64s, lengths: Int64s, itemsize: int, index: Path, notes: list[str]) -> None:
    expected = (np.cumsum(lengths) - lengths) * itemsize
    wrong = np.flatnonzero(pointers != expected)
    if not wrong.size or notes:  # where the lengths were wrong, the pointers made of them were too
        return
    first = int(wrong[0])
    if np.all((pointers[wrong] - expected[wrong]) % (1 << 32) == 0):
        notes.append(
            f"the pointers overflowed 32 bits from sequence {first:,} on; the lengths are right and "
            "count instead"
        )
        return
    raise UserError(
        f"sequence {first:,} begins at byte {int(pointers[first]):,} by its pointer, and at "
        f"{int(expected[first]):,} "
        "by the lengths before it",
        where=str(index),
        hint="sequences must lie end to end; write the data again with the tool that made it",
    )


def _documents_of(lengths: Int64s, documents: Int64s, index: Path, notes: list[str]) -> Int64s:
    """Tokens of each document, from those of its sequences."""
    steps = np.diff(documents)
    if not documents.size or documents[0] != 0 or documents[-1] != lengths.size or np.any(steps < 0):
        raise UserError("the document indices do not go from 0 to the number of sequences", where=str(index))
    if np.any(steps > 1):
        notes.append(
            f"{lengths.size:,} sequences were joined to the {steps.size:,} documents that they are of"
        )
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return without_empty(np.diff(ends[documents]), notes)
