"""MosaicML Streaming's shards of token rows (MDS), as llm-foundry writes them for pre-training.

A shard is a header, offsets, and one sample after the other, so its tokens do not lie in one piece: they
are copied out, one shard (64 MB by default) at a time. Rows have a fixed length there and documents run
across them; so rows are laid end to end, and documents end at the end-of-text token. A document that runs
from one shard into the next becomes two. Layout by streaming/base/format/mds of mosaicml/streaming.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.corpora.tokenfile import TokenFile, scan_documents
from manifests.errors import UserError

COLUMN = "tokens"
DYNAMIC_SHAPES = ("<u1", "<u2", "<u4", "<u8")


def read_mds(path: Path, dtype: np.dtype[Any] | None, eos_id: int | None) -> TokenFile:
    """One `.mds` file. dtype: of a column of plain bytes, which does not say it (llm-foundry's was int64)."""
    data = path.read_bytes()
    try:
        rows, offsets, config = _header(data)
        tokens = [_row(data, offsets[row], config, dtype) for row in range(rows)]
    except (struct.error, ValueError, KeyError, IndexError, TypeError) as error:
        if isinstance(error, UserError):
            raise UserError(error.what, where=str(path), hint=error.hint) from None
        raise UserError(f"this is not a shard of token rows: {error}", where=str(path)) from None
    if eos_id is None:
        raise UserError(
            "the tokenizer has no end-of-text token, so nothing tells where documents end", where=str(path)
        )
    joined = np.concatenate([np.zeros(0, np.int64), *tokens]) if not tokens else np.concatenate(tokens)
    notes: list[str] = []
    lengths = scan_documents(joined, eos_id, notes)
    notes.append(f"{rows:,} rows were laid end to end")
    return TokenFile(path, joined.dtype, lengths, notes=tuple(notes), tokens=joined)


def _header(data: bytes) -> tuple[int, npt.NDArray[np.uint32], dict[str, Any]]:
    (rows,) = struct.unpack_from("<I", data)
    offsets = np.frombuffer(data, "<u4", rows + 1, 4)
    if int(offsets[-1]) != len(data):
        raise UserError(
            f"the file has {len(data):,} bytes; its header says {int(offsets[-1]):,}",
            hint="it was cut, or is compressed; decompress `.mds.zstd` files first",
        )
    config = json.loads(data[4 + 4 * (rows + 1) : int(offsets[0])])
    if COLUMN not in config["column_names"]:
        names = ", ".join(config["column_names"])
        raise UserError(f"the rows have no column {COLUMN}; they have {names}", hint="is it tokenized?")
    return rows, offsets, config


def _row(data: bytes, start: int, config: dict[str, Any], dtype: np.dtype[Any] | None) -> npt.NDArray[Any]:
    """The tokens of one sample: sizes of its columns of variable size come first, then the columns in
    order."""
    place = int(start)
    sizes: list[int] = []
    for size in config["column_sizes"]:
        if size is None:
            (size,) = struct.unpack_from("<I", data, place)
            place += 4
        sizes.append(size)
    column = config["column_names"].index(COLUMN)
    place += sum(sizes[:column])
    return _decoded(data[place : place + sizes[column]], config["column_encodings"][column], dtype)


def _decoded(data: bytes, encoding: str, dtype: np.dtype[Any] | None) -> npt.NDArray[Any]:
    name, *parts = encoding.split(":")
    if name == "bytes":
        if dtype is None:
            raise UserError(
                "the rows are plain bytes and do not say their dtype",
                hint="--dtype int64, or as it was written",
            )
        return np.frombuffer(data, dtype)
    if name != "ndarray" or not parts:
        raise UserError(f"rows of the encoding {encoding} are not read; ndarray:<dtype> and bytes are")
    start = 0
    if len(parts) == 1:  # the shape is in the row: a byte of axes and width, then a number for each axis
        width = np.dtype(DYNAMIC_SHAPES[data[0] & 3]).itemsize
        start = 1 + (data[0] >> 2) * width
    return np.frombuffer(data[start:], np.dtype(parts[0]).newbyteorder("<"))
