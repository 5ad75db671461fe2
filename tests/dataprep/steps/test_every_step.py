"""What holds for every step: documents do not see each other, and only the parameters in the key are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from dataprep.steps.base import Decision, Transform
from tests.dataprep.steps.examples import DIGESTED, FIELDS, outcome_of, params_of, result_of, steps
from tests.dataprep.steps.test_golden import TEXTS

STRINGS = [*TEXTS.to_strings(), "The same line.\n" * 40, "\n\n\n", "a" * 300, "{ lorem ipsum javascript }"]


def batch_of(strings: list[str], first: int = 0) -> Batch:
    """Texts that are a slice of more bytes, with ids that count from `first` and the same fields each."""
    texts = Texts.from_strings(["before \u00e9", *strings, "after"]).slice(1, len(strings) + 1)
    fields = {name: [value] * len(strings) for name, value in FIELDS.items()}
    return Batch.of(texts, [str(first + index) for index in range(len(strings))], fields)


@pytest.mark.parametrize("name", steps())
def test_a_document_is_measured_alone(name: str) -> None:
    params = params_of(name)
    together = result_of(name, batch_of(STRINGS), params)
    for index, string in enumerate(STRINGS):
        for key, column in result_of(name, batch_of([string], index), params).items():
            assert column == together[key][index : index + 1], (key, string)


@pytest.mark.parametrize("name", steps())
def test_no_documents_give_columns_of_the_same_types(name: str) -> None:
    step, params = STEPS[name], params_of(name)
    nothing = batch_of([])
    if isinstance(step, Transform):
        assert len(step.apply(nothing, params)) == 0
        return
    empty = outcome_of(step, nothing, params)[1]
    some = outcome_of(step, batch_of(STRINGS), params)[1]
    kinds = {key: getattr(column, "dtype", None) or column.type for key, column in some.items()}
    assert {key: getattr(column, "dtype", None) or column.type for key, column in empty.items()} == kinds
    assert all(len(column) == 0 for column in empty.values())
    assert all(not (isinstance(kind, np.dtype) and kind.kind == "f") for kind in kinds.values())
    if not isinstance(step, Decision):
        assert all(check.dropped.shape == (0,) for check in step.checks(dict(empty), params))


class OnlyMeasuring:
    """Parameters that let only those be read that are in the key of what is measured."""

    def __init__(self, params: Any, names: frozenset[str]) -> None:
        self._params, self._names = params, names

    def __getattr__(self, name: str) -> Any:
        field = type(self._params).model_fields.get(name)
        if field is not None and (field.alias or name) not in self._names:
            raise AssertionError(f"{name} is read while measuring, and is not in the key")
        return getattr(self._params, name)


@pytest.mark.parametrize("name", [each for each in steps() if not isinstance(STEPS[each], Transform)])
def test_measuring_reads_only_what_is_in_its_key(name: str) -> None:
    step, params = STEPS[name], params_of(name)
    stopping = getattr(step, "stopping", frozenset())  # what is returned is the same whatever these are
    assert step.measuring | stopping <= {each.alias or key for key, each in step.params.model_fields.items()}
    guarded: Any = OnlyMeasuring(params, step.measuring | stopping | DIGESTED.get(name, set()))
    if name == "decontaminate":  # what the stages make of hits, `result_of` makes with it
        hits, columns = step.measure(batch_of(STRINGS), guarded)
        wanted, wanted_columns = step.measure(batch_of(STRINGS), params)
        assert np.array_equal(hits.grams, wanted.grams) and np.array_equal(hits.runs, wanted.runs)
        assert np.array_equal(columns["content_hash"], wanted_columns["content_hash"])
        return
    assert result_of(name, batch_of(STRINGS), guarded) == result_of(name, batch_of(STRINGS), params)


@pytest.mark.parametrize("name", steps())
@settings(max_examples=15)
@given(strings=st.lists(st.text(max_size=80), max_size=4))
def test_any_unicode(name: str, strings: list[str]) -> None:
    """No step fails or breaks UTF-8 on anything a reader lets in."""
    params = params_of(name)
    for key, column in result_of(name, batch_of(strings), params).items():
        assert len(column) == len(strings)
        if key == "text":
            for text in column:
                text.decode("utf-8")
