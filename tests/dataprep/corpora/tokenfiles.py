"""Token files as other tools leave them, written by hand from the published layouts."""

from __future__ import annotations

import csv
import functools
import gzip
import json
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from dataprep.tokenizers import describe, strip_special, train_bpe

TEXTS = [
    "The river turns the wheel, and the wheel turns the stone.",
    "Ein schöner Tag \u2014 中国 \U0001f600.",
    "a",
    "The mill by the river grinds the corn of the valley." * 40,
    "\n\n  indented\tand odd \x00 bytes",
    "<|endoftext|> is text here.",
    *(f"Document {number} of the river." for number in range(20)),
]


@functools.cache
def tokenizer_json(vocab_size: int = 500) -> str:
    return train_bpe(TEXTS * 3, vocab_size)


def write_tokenizer(folder: Path) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(tokenizer_json())
    return path


@functools.cache
def with_bos_json(token: str = "<s>") -> str:
    """The same vocabulary, with a begin-of-text token after the rest."""
    tokenizer = Tokenizer.from_str(tokenizer_json())
    tokenizer.add_special_tokens([token])
    made: str = tokenizer.to_str()
    return made


def eos_id() -> int:
    found = describe(tokenizer_json()).eos_id
    assert found is not None
    return found


def encoded(texts: Sequence[str] = TEXTS, eos: bool = True) -> list[list[int]]:
    tokenizer = Tokenizer.from_str(strip_special(tokenizer_json(), "text"))
    ids = [each.ids for each in tokenizer.encode_batch(list(texts), add_special_tokens=False)]
    return [[*row, eos_id()] for row in ids] if eos else ids


def flat(documents: Sequence[Sequence[int]]) -> list[int]:
    return [token for document in documents for token in document]


def write_megatron(
    prefix: Path,
    sequences: Sequence[Sequence[int]],
    dtype: str = "uint16",
    code: int | None = None,
    documents: Sequence[int] | None = None,
    lengths: Sequence[int] | None = None,
    pointers: Sequence[int] | None = None,
) -> Path:
    """`documents`: first sequence of each document, and the end. The rest overrides what is right."""
    codes = {
        "uint8": 1,
        "int8": 2,
        "int16": 3,
        "int32": 4,
        "int64": 5,
        "float64": 6,
        "float32": 7,
        "uint16": 8,
    }
    tokens = np.array(flat(sequences), dtype)
    prefix.with_suffix(".bin").write_bytes(tokens.tobytes())
    sizes = [len(sequence) for sequence in sequences] if lengths is None else list(lengths)
    starts = np.concatenate(([0], np.cumsum(sizes)))[:-1] * tokens.itemsize if pointers is None else pointers
    ends = list(range(len(sizes) + 1)) if documents is None else list(documents)
    prefix.with_suffix(".idx").write_bytes(
        b"MMIDIDX\x00\x00"
        + struct.pack("<QBQQ", 1, codes[dtype] if code is None else code, len(sizes), len(ends))
        + np.array(sizes, "<i4").tobytes()
        + np.array(starts, "<i8").tobytes()
        + np.array(ends, "<i8").tobytes()
    )
    return prefix.with_suffix(".bin")


def write_datatrove(path: Path, documents: Sequence[Sequence[int]], dtype: str = "uint16") -> Path:
    path.write_bytes(np.array(flat(documents), dtype).tobytes())
    ends = np.cumsum([len(document) for document in documents])
    path.with_name(path.name + ".index").write_bytes(np.array(ends, "<u8").tobytes())
    size = np.dtype(dtype).itemsize
    path.with_name(path.name + ".metadata").write_text(f"gpt2|{size}\n{int(ends[-1])}\n0 T")
    return path


def write_olmo(
    path: Path, documents: Sequence[Sequence[int]], dtype: str = "uint16", side: bool = False
) -> Path:
    path.write_bytes(np.array(flat(documents), dtype).tobytes())
    if side:
        with gzip.open(path.with_suffix(".csv.gz"), "wt", newline="") as stream:
            writer, start = csv.writer(stream), 0
            for number, document in enumerate(documents):
                writer.writerow([start, start + len(document), f"id{number}", "a.jsonl.gz", number + 1])
                start += len(document)
    return path


def write_mds(path: Path, rows: Sequence[Sequence[int]], encoding: str = "ndarray:int32") -> Path:
    """One column; rows of one length for an encoding with a shape."""
    parts = encoding.split(":")
    dtype = parts[1] if len(parts) > 1 else "int64"
    samples = []
    for row in rows:
        data = np.array(row, dtype).tobytes()
        if parts[0] == "ndarray" and len(parts) == 2:
            data = bytes([1 << 2 | 1]) + struct.pack("<H", len(row)) + data
        sized = len(parts) == 3
        samples.append(data if sized else struct.pack("<I", len(data)) + data)
    size = len(rows[0]) * np.dtype(dtype).itemsize if len(parts) == 3 else None
    config = json.dumps(
        {
            "version": 2,
            "format": "mds",
            "compression": None,
            "hashes": [],
            "size_limit": 1 << 26,
            "column_names": ["tokens"],
            "column_encodings": [encoding],
            "column_sizes": [size],
        }
    ).encode()
    begin = 4 + 4 * (len(rows) + 1) + len(config)
    offsets = np.array([begin, *(begin + np.cumsum([len(sample) for sample in samples]))], "<u4")
    path.write_bytes(struct.pack("<I", len(rows)) + offsets.tobytes() + config + b"".join(samples))
    return path
