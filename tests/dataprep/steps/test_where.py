from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters, needed_fields
from dataprep.steps.where import WHERE, WhereParams
from tests.dataprep.kernels.strategies import texts
from tests.reference import where as twin

values = st.one_of(
    st.none(),
    texts,
    st.integers(-20, 20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.dates().map(str),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.sampled_from(
        ["a", "b", "true", "1", "1.0", "1e400", "-0", "+1", "1.", " 1", "\u0661", "2020", "2020-02", "2020-2",
         "2020-02-31", "2020-99", "2020-00-10", "0000", "2021-02-29", "2020-02-29T1", "1900-02-29",
         "2000-02-29", "20200101", "2020-01-01x", "2020-01-01 10:00", "2020-01-01T\n"]
    ),
)  # fmt: skip


def crossed(condition: dict[str, Any]) -> bool:
    """Whether its limits leave nothing."""
    numbers, times = {"min", "max"} <= set(condition), {"from", "before"} <= set(condition)
    return (numbers and condition["min"] > condition["max"]) or (
        times and condition["from"] >= condition["before"]
    )


listed = st.lists(st.sampled_from(["a", "1", 1, 1.0, True, "true", "2020"]), min_size=1, max_size=3)
dates = st.dates().map(str) | st.just("2020-01-01")
conditions = st.one_of(
    st.just({"present": False}),
    st.fixed_dictionaries(
        {},
        optional={
            "in": listed,
            "not_in": listed,
            "min": st.floats(-20, 20) | st.integers(-20, 20),
            "max": st.floats(-20, 20),
            "from": dates,
            "before": dates,
            "matches": st.sampled_from(["^a", "[0-9]+", "(?i)A", "b$", ""]),
            "present": st.just(True),
        },
    ).filter(lambda condition: bool(condition) and not crossed(condition)),
)


def params_of(**data: Any) -> WhereParams:
    return WhereParams.model_validate_json(json.dumps(data))


def dropped(params: WhereParams, **fields: list[str | None]) -> dict[str, list[bool]]:
    count = len(next(iter(fields.values())))
    batch = Batch.of(Texts.from_strings(["x"] * count), fields=fields)
    return {
        check.reason: check.dropped.tolist() for check in WHERE.checks(WHERE.measure(batch, params), params)
    }


@given(st.lists(values, max_size=8), conditions, st.sampled_from(["drop", "keep"]))
def test_equals_the_slow_twin(column: list[str | None], condition: dict[str, Any], missing: str) -> None:
    params = params_of(fields={"f": condition}, missing=missing)
    bounds = params.fields["f"].model_dump(mode="json")
    expected = [twin.fails(value, bounds, missing) for value in column]
    assert dropped(params, f=column) == {"where_f": expected}
    # a slice of a longer column, as the columns of a split are
    batch = Batch.of(Texts.from_strings(["x"] * len(column)), fields={"f": column})
    padded = Batch.of(Texts.from_strings(["x"] * (len(column) + 2)), fields={"f": ["a", *column, "b"]})
    signals = {"f": padded.fields["f"].slice(1, len(column))}
    assert signals["f"].equals(batch.fields["f"])
    (check,) = WHERE.checks(signals, params)
    assert check.dropped.tolist() == expected


def test_every_field_has_a_reason() -> None:
    params = params_of(
        fields={
            "License": {"in": ["MIT"]},
            "meta.score": {"min": 3},
            "meta score": {"max": 5},
            "\u65e5": {"present": True},
        }
    )
    found = dropped(
        params,
        **{
            "License": ["MIT", "MIT", None],
            "meta.score": ["3", "2.5", "x"],
            "meta score": ["5", "5.5", "4"],
            "\u65e5": [None, "", "x"],
        },
    )
    assert found == {
        "where_license": [False, False, True],
        "where_meta_score": [False, True, False],
        "where_meta_score_2": [False, True, True],
        "where_field": [True, False, False],
    }


def test_missing_is_what_the_recipe_says() -> None:
    column = [None, "none", "3", "4"]
    for missing, first_two in (("drop", True), ("keep", False)):
        params = params_of(fields={"n": {"min": 4}}, missing=missing)
        assert dropped(params, n=column) == {"where_n": [first_two, first_two, True, False]}


def test_what_is_in_no_calendar_is_no_date() -> None:
    column = ["2020-99", "2020-02-31", "2021-02-29", "2020-02-29", "2020-12-31T23:59:60Z", "0000-01-01"]
    for missing, none in (("drop", True), ("keep", False)):
        params = params_of(fields={"date": {"from": "2020", "before": "2022"}}, missing=missing)
        assert dropped(params, date=column) == {"where_date": [none, none, none, False, False, none]}


def test_conditions_measure_nothing_again() -> None:
    few, many = params_of(fields={"a": {"min": 1}}), params_of(fields={"a": {"max": 2}}, missing="keep")
    assert measuring_parameters(WHERE, few) == measuring_parameters(WHERE, many) == {}
    assert needed_fields(WHERE, params_of(fields={"b": {"min": 1}, "a": {"min": 1}}), ()) == ("a", "b")


def test_what_drops_is_told() -> None:
    condition = {
        "in": ["a", 1], "not_in": ["b"], "min": 1, "max": 2.5, "from": "2020", "before": "2021-02",
        "matches": "^x", "present": True,
    }  # fmt: skip
    batch = Batch.of(Texts.from_strings(["x"]), fields={"f": ["a"]})
    (check,) = WHERE.checks(
        WHERE.measure(batch, params_of(fields={"f": condition})), params_of(fields={"f": condition})
    )
    assert check.drops == (
        "not a or 1; b; < 1.0; > 2.5; before 2020-01-01; 2021-02-01 or later; without a match of ^x; missing"
    )
    assert check.values.to_pylist() == ["a"]


def test_parameters_are_written_as_they_are_read() -> None:
    params = params_of(fields={"f": {"in": ["a", 1, 1.5, True], "from": "2020-03"}})
    written = params.model_dump(mode="json")
    assert written["fields"]["f"]["from"] == "2020-03-01" and written["fields"]["f"]["in"] == [
        "a",
        1,
        1.5,
        True,
    ]
    assert params_of(**written) == params


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({}, "asks nothing"),
        ({"min": None}, "asks nothing"),
        ({"in": []}, "at least 1"),
        ({"in": "MIT"}, "valid array"),
        ({"min": "3"}, "valid number"),
        ({"from": "01.02.2020"}, "expected a date"),
        ({"from": "2020-02-30"}, "expected a date"),
        ({"from": "2020-01-01T10:00"}, "expected a date"),
        ({"matches": "("}, "no regular expression of RE2"),
        ({"matches": "(?=x)"}, "no regular expression of RE2"),
        ({"present": False, "min": 1}, "anything else"),
        ({"equals": "x"}, "Extra inputs"),
        ({"min": 5, "max": 1}, "min 5 is above max 1, so nothing would stay"),
        ({"from": "2024", "before": "2024-01-01"}, "no date is 2024-01-01 or later and before 2024-01-01"),
    ],
)
def test_conditions_that_are_none(condition: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        params_of(fields={"f": condition})


def test_at_least_one_field() -> None:
    with pytest.raises(ValidationError):
        params_of(fields={})
