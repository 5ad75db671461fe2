from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters, needed_fields
from dataprep.steps.exact_dedup import EXACT_DEDUP, ExactDedupParams, measure

TEXTS = Texts.from_strings(["a b", " a\t\nb\u3000", "a b", "ab", "A b"])
FIELDS = {
    "url": ["http://a.org/x", "https://www.a.org/x/?utm_source=y", "a.org/X", None, "/x"],
    "sha": ["1", "2", "2", "", None],
    "date": ["2024-01-01", "2023-12-31T23:59:59Z", "", None, "2024"],
    "link": ["http://m\u00fcller.de", "http://XN--MLLER-KVA.de/", "http://mu\u0308ller.de", "x", "x"],
}
BATCH = Batch.of(TEXTS, fields=FIELDS)


def groups(**params: Any) -> list[int]:
    """Which documents are alike, numbered; -1 where there is nothing to compare."""
    signals = measure(BATCH, ExactDedupParams(**params))
    present = signals.get("present", np.ones(len(BATCH), dtype=bool))
    seen: dict[tuple[int, ...], int] = {}
    return [
        seen.setdefault(tuple(row.tolist()), len(seen)) if there else -1
        for row, there in zip(signals["content_hash"], present.tolist(), strict=True)
    ]


def test_what_counts_as_equal() -> None:
    assert groups() == [0, 1, 0, 2, 3]
    assert groups(by="normalized_text") == [0, 0, 0, 1, 2]
    assert groups(by="url") == [0, 0, 1, -1, -1]
    assert groups(by="url", url_field="link") == [0, 0, 0, 1, 1]
    assert groups(by={"field": "sha"}) == [0, 1, 1, -1, -1]


def test_hash_of_the_text_is_the_public_one() -> None:
    assert (measure(BATCH, ExactDedupParams())["content_hash"] == hash128(TEXTS.data, TEXTS.offsets)).all()


def test_only_what_is_asked_for_is_measured() -> None:
    params = ExactDedupParams(keep=["longest"], within="source")
    assert measuring_parameters(EXACT_DEDUP, params) == {"by": "text"}
    assert EXACT_DEDUP.depends(params) == {}
    assert needed_fields(EXACT_DEDUP, params, ["url"]) == ()
    assert list(measure(BATCH, params)) == ["content_hash"]


def test_groups_are_those_of_a_field() -> None:
    group = measure(BATCH, ExactDedupParams(within={"field": "sha"}))["group"]
    assert group.dtype == np.uint64 and group.shape == (5,)
    assert group[1] == group[2] != group[0]
    assert group[3] == group[4] == 0  # those without a value are a group of their own


choices = st.fixed_dictionaries(
    {
        "by": st.sampled_from(["text", "url", {"field": "sha"}, {"field": "url"}]),
        "keep": st.lists(
            st.sampled_from(["longest", "source_priority", {"first": "date"}, {"last": "sha"}]),
            max_size=3,
            unique_by=str,
        ),
        "within": st.sampled_from(["corpus", "source", {"field": "date"}, {"field": "sha"}]),
    }
)


def key_of(params: ExactDedupParams) -> tuple[object, ...]:
    return measuring_parameters(EXACT_DEDUP, params), needed_fields(EXACT_DEDUP, params, ())


@given(choices, choices)
def test_parameters_with_one_key_measure_the_same_columns(one: Any, other: Any) -> None:
    first, second = ExactDedupParams(**one), ExactDedupParams(**other)
    mine, theirs = measure(BATCH, first), measure(BATCH, second)
    are_equal = list(mine) == list(theirs) and all((mine[name] == theirs[name]).all() for name in mine)
    assert are_equal or key_of(first) != key_of(second)


@given(choices)
def test_a_recipe_survives_the_way_to_a_worker(chosen: Any) -> None:
    params = ExactDedupParams(**chosen)
    assert ExactDedupParams.model_validate_json(params.model_dump_json()) == params


@pytest.mark.parametrize(
    "wrong",
    [
        {"by": "urls"},
        {"by": {"field": ""}},
        {"by": {"name": "x"}},
        {"url_field": "link"},
        {"keep": ["newest"]},
        {"keep": ["longest"] * 2},
        {"keep": ["longest", "shortest"]},
        {"keep": [{"first": "date"}, {"last": "date"}]},
        {"keep": [{"first": "date", "last": "date"}]},
        {"within": "x"},
        {"within": {"field": ["x"]}},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExactDedupParams(**wrong)
