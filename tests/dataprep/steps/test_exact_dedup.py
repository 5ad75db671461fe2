from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.exact_dedup import EXACT_DEDUP, ExactDedupParams, measure

TEXTS = Texts.from_strings(["a b", " a\t\nb\u3000", "a b", "ab", "A b"])
BATCH = Batch.of(TEXTS)


def groups(params: ExactDedupParams) -> list[int]:
    seen: dict[tuple[int, ...], int] = {}
    return [seen.setdefault(tuple(row.tolist()), len(seen)) for row in measure(BATCH, params)["content_hash"]]


def test_what_counts_as_equal() -> None:
    assert groups(ExactDedupParams()) == [0, 1, 0, 2, 3]
    assert groups(ExactDedupParams(by="normalized_text")) == [0, 0, 0, 1, 2]


def test_hash_of_the_text_is_the_public_one() -> None:
    assert (measure(BATCH, ExactDedupParams())["content_hash"] == hash128(TEXTS.data, TEXTS.offsets)).all()


def test_only_by_is_measured() -> None:
    params = ExactDedupParams(keep=["longest"], within="source")
    assert measuring_parameters(EXACT_DEDUP, params) == {"by": "text"}
    assert EXACT_DEDUP.depends(params) == {}


@pytest.mark.parametrize(
    "wrong", [{"by": "url"}, {"keep": ["shortest"]}, {"keep": ["longest"] * 2}, {"within": "x"}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExactDedupParams(**wrong)
