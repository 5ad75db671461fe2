"""Documents with tokens, as WRITE would hand them to run files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from dataprep.runs import INPUT_SCHEMA, RunFacts, write_run

Document = dict[str, Any]

# Few keys, ids and paths, so that ties of every length occur; buckets at both ends and in the middle.
KEYS = [bytes([high, 7, *[0] * 13, low]) for high in (0, 128, 255) for low in (0, 1)]


def document(number: int, key: bytes, tokens: Sequence[int], **fields: Any) -> Document:
    return {
        "subset": "train",
        "key": key,
        "id": f"id-{number}",
        "source": "web",
        "path": "a.jsonl",
        "position": number,
        "content_hash": number.to_bytes(16, "little"),
        "text_bytes": 3 * len(tokens),
        "fields": [("url", f"u{number}")] if number % 2 else None,
        "cluster_size": 1 + number % 3,
        "tokens": list(tokens),
        **fields,
    }


@st.composite
def document_lists(draw: st.DrawFn, max_size: int = 24) -> list[Document]:
    """Documents that differ at least in their position."""
    documents = []
    for number in range(draw(st.integers(0, max_size))):
        one = document(
            number,
            draw(st.sampled_from(KEYS) | st.binary(min_size=16, max_size=16)),
            draw(st.lists(st.integers(0, 65535), min_size=1, max_size=5)),
            subset=draw(st.sampled_from(["train", "train", "holdout"])),
            id=draw(st.none() | st.sampled_from(["", "b", "a", "\xe9"])),
            path=draw(st.sampled_from(["b.jsonl", "a.jsonl"])),
            source=draw(st.sampled_from(["web", "books"])),
        )
        documents.append(one)
    return documents


def table_of(documents: Sequence[Document]) -> pa.Table:
    rows = [{name: each[name] for name in INPUT_SCHEMA.names} for each in documents]
    return pa.Table.from_pylist(rows, schema=INPUT_SCHEMA)


def flat(documents: Sequence[Document]) -> tuple[np.ndarray, np.ndarray]:
    tokens = [token for each in documents for token in each["tokens"]]
    lengths = [len(each["tokens"]) for each in documents]
    return np.array(tokens, dtype=np.uint32), np.array(lengths, dtype=np.int64)


def write(directory: Path, documents: Sequence[Document], dtype: str = "uint16") -> RunFacts:
    directory.mkdir()
    return write_run(directory, table_of(documents), *flat(documents), np.dtype(dtype))
