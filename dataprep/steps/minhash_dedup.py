"""minhash_dedup: of documents that are nearly the same, the best one stays.

This file measures the MinHash signature. Which documents may be similar is in `dataprep/decide/bands.py`,
whether they are in `decide/pairs.py` and `decide/verify.py`, who stays in `decide/independent.py`, and the
tasks that do it in `dataprep/stages/near.py`. What it all means is in docs/concepts/near-duplicates.md.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from dataprep.batch import Batch
from dataprep.decide.bands import BUCKET_LIMIT, MOST_BANDS, best_bands
from dataprep.kernels.minhash import signatures
from dataprep.kernels.shingles import Shingling
from dataprep.steps.base import Decision, Signals, unicode_version
from dataprep.steps.ranking import DedupParams, ranking_columns, ranking_measured


class MinhashDedupParams(DedupParams):
    """`threshold`: of the Jaccard similarity of the sets of shingles. `bands` and `rows`: of a signature; by
    default the best for the threshold. `verify`: whether candidates whose estimate is near the threshold are
    settled by the texts. The rest is as for exact_dedup."""

    ngram: Annotated[int, Field(ge=1, le=100)] = 5
    unit: Literal["words", "characters"] = "words"
    normalization: Literal["plain", "datatrove"] = "plain"
    permutations: Annotated[int, Field(ge=16, le=1024)] = 112
    threshold: Annotated[float, Field(ge=0.01, le=1)] = 0.75
    bands: Annotated[int, Field(ge=1, le=MOST_BANDS)] | None = None
    rows: Annotated[int, Field(ge=1)] | None = None
    bucket_limit: Annotated[int, Field(ge=1, le=10_000)] = BUCKET_LIMIT
    verify: Literal["exact", "estimate"] = "exact"

    @model_validator(mode="after")
    def _bands_fit(self) -> MinhashDedupParams:
        if (self.bands is None) != (self.rows is None):
            raise ValueError("bands and rows go together: give both or neither")
        if self.bands is not None and self.rows is not None and self.bands * self.rows > self.permutations:
            raise ValueError(
                f"{self.bands} bands of {self.rows} rows need more than {self.permutations} permutations"
            )
        return self

    @property
    def shingling(self) -> Shingling:
        return Shingling(self.ngram, self.unit, self.normalization)

    @property
    def banding(self) -> tuple[int, int]:
        """(bands, rows)."""
        if self.bands is not None and self.rows is not None:
            return self.bands, self.rows
        return best_bands(self.threshold, self.permutations)

    @property
    def threshold_ppm(self) -> int:
        return round(self.threshold * 1_000_000)


def ranking_fields(params: MinhashDedupParams) -> tuple[str, ...]:
    return params.ranking_fields


def measure(batch: Batch, params: MinhashDedupParams) -> Signals:
    """`signature` uint32[n, permutations]; `flags` uint8[n]: SHORT, WORDLESS or 0 (`kernels/shingles.py`);
    `sole` uint64[n]: the hash of the only shingle, or 0; and the columns of `ranking_columns`."""
    found, flags, sole = signatures(
        batch.texts.data, batch.texts.offsets, params.shingling, params.permutations
    )
    return {"signature": found, "flags": flags, "sole": sole, **ranking_columns(batch, params)}


MINHASH_DEDUP = Decision(
    name="minhash_dedup",
    version=1,
    params=MinhashDedupParams,
    measure=measure,
    measuring=frozenset({"ngram", "unit", "normalization", "permutations"}),
    also_measuring=ranking_measured,
    depends=unicode_version,
    needs=ranking_fields,
)
