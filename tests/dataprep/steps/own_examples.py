"""Functions that the tests of own steps name in recipes: good ones and bad ones."""

from __future__ import annotations

import random
import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

SEEN: list[str] = []
NOT_A_FUNCTION = 5


def shout(text: str, *, mark: str = "!") -> str:
    print("shouting")
    return text.upper() + mark


def same(text: str) -> str:
    return text


def keep(text: str) -> Any:
    return {"none": None, "false": False, "empty": "", "true": True}.get(text, text)


def short(text: str, *, limit: int) -> str | None:
    return "too_short" if len(text) < limit else None


def length(text: str) -> float:
    return len(text) / 4


def words(text: str) -> Any:
    """Fails on "bad", and answers what it is told to."""
    if text == "bad":
        raise ValueError("a bad\nword")
    if text == "exit":
        sys.exit(0)
    if text == "offline":
        raise ConnectionError("no network")
    answers = {"surrogate": "\ud800", "none": None, "number": 5, "bytes": b"x", "nan": float("nan")}
    return answers.get(text, text)


def counter(text: str) -> str:
    SEEN.append(text)
    return str(len(SEEN))


def chance(text: str) -> float:
    return random.random()


def in_list(text: str, *, seen: list[str]) -> bool:
    """Remembers in what the recipe gave it."""
    seen.append(text)
    return text in seen[:-1]


def first_seen(text: str) -> bool:
    known = text in SEEN
    SEEN.append(text)
    return known


def upper_batch(batch: pa.RecordBatch) -> pa.Array:
    return pc.utf8_upper(batch["text"])


def of_fields(batch: pa.RecordBatch, *, names: list[str]) -> pa.Array:
    assert batch.schema.names == names
    assert batch.schema.field("text").type == pa.large_string()
    ids, texts = batch["id"].to_pylist(), batch["text"].to_pylist()
    return pa.array([f"{one}/{text}" for one, text in zip(ids, texts, strict=True)])


def odd_lengths(batch: pa.RecordBatch) -> pa.Array:
    return pc.equal(pc.bit_wise_and(pc.utf8_length(batch["text"]), 1), 1)


def half_lengths(batch: pa.RecordBatch) -> pa.ChunkedArray:
    return pa.chunked_array([pc.divide(pc.cast(pc.utf8_length(batch["text"]), pa.float64()), 2)])


def fails_on_bad(batch: pa.RecordBatch) -> pa.Array:
    return pa.array([words(text.as_py()) for text in batch["text"]])


def rounded_by_size(batch: pa.RecordBatch) -> pa.Array:
    """As sums of floats are: a little different in another batch."""
    return pa.array([1 + 2e-6 * len(batch)] * len(batch))


def mean_of_batch(batch: pa.RecordBatch) -> pa.Array:
    return pa.array([pc.mean(pc.utf8_length(batch["text"])).as_py()] * len(batch))


def only_many(batch: pa.RecordBatch) -> pa.Array:
    if len(batch) > 1:
        raise RuntimeError("too many")
    return batch["text"]


def one_less(batch: pa.RecordBatch) -> pa.Array:
    return batch["text"][1:]


def a_list(batch: pa.RecordBatch) -> list[str]:
    return batch["text"].to_pylist()


async def later(text: str) -> str:
    return text
