"""exact_dedup: keeps one of the documents whose text is the same, byte for byte or but for white space.

This file measures the 128-bit content hash; which copy stays is decided over all documents in
`dataprep/decide/exact.py`. Near duplicates are another step.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from dataprep.batch import Batch
from dataprep.kernels.hashing import hash128, hash_normalized
from dataprep.steps.base import Decision, Params, Signals

RankKey = Literal["source_priority", "longest"]


class ExactDedupParams(Params):
    """`by`: what must be equal. `keep`: rank of the copies, first key first; ties fall to the raw hash.
    `within`: whether a document may be a duplicate of one of another source."""

    by: Literal["text", "normalized_text"] = "text"
    keep: Annotated[tuple[RankKey, ...], Field(strict=False)] = ("source_priority", "longest")
    within: Literal["source", "corpus"] = "corpus"

    @field_validator("keep")
    @classmethod
    def _each_once(cls, keep: tuple[RankKey, ...]) -> tuple[RankKey, ...]:
        if len(set(keep)) != len(keep):
            raise ValueError("names a key twice")
        return keep


def measure(batch: Batch, params: ExactDedupParams) -> Signals:
    """`content_hash` uint64[n, 2] of each text, as the transforms above the step left it."""
    digest = hash128 if params.by == "text" else hash_normalized
    return {"content_hash": digest(batch.texts.data, batch.texts.offsets)}


EXACT_DEDUP = Decision(
    name="exact_dedup", version=1, params=ExactDedupParams, measure=measure, measuring=frozenset({"by"})
)
