from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.recipe import Recipe, recipe_of
from dataprep.steps import find_step, step_of
from dataprep.steps.base import Edit, Signals, measuring_parameters, rewrites
from dataprep.steps.own import own_step
from dataprep.steps.own_params import OwnParams
from manifests.errors import UserError
from tests.dataprep.steps import own_examples
from tests.dataprep.test_recipe import SMALL

HERE = "tests.dataprep.steps.own_examples"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    own_examples.SEEN.clear()
    yield


def step(function: str) -> Edit:
    found = own_step(f"{HERE}:{function}")
    assert found is not None
    return found


def params(does: str, **options: Any) -> OwnParams:
    return OwnParams.model_validate({"version": 1, "does": does, **options})


def batch_of(texts: Sequence[str], ids: Sequence[str | None] | None = None, **fields: Any) -> Batch:
    return Batch.of(Texts.from_strings(texts), ids, fields)


def edited(
    function: str, does: str, texts: Sequence[str] | Batch, **options: Any
) -> tuple[list[str], Signals, OwnParams]:
    batch = texts if isinstance(texts, Batch) else batch_of(texts)
    given = params(does, **options)
    found, signals = step(function).edit(batch, given)
    return found.to_strings(), signals, given


def reasons(function: str, does: str, texts: Sequence[str] | Batch, **options: Any) -> list[list[str]]:
    _, signals, given = edited(function, does, texts, **options)
    found = step(function).checks(signals, given)
    return [[check.reason for check in found if check.dropped[row]] for row in range(len(texts))]


# --- what functions may do ----------------------------------------------------------------------------------
def test_a_transform(capsys: pytest.CaptureFixture[str]) -> None:
    assert edited("shout", "transform", ["a", ""], **{"with": {"mark": "?"}})[0] == ["A?", "?"]
    assert reasons("shout", "transform", ["a", ""]) == [[], []]
    assert capsys.readouterr().out == ""


def test_texts_that_stay_are_not_copied() -> None:
    batch = batch_of(["a", "b"])
    assert step("same").edit(batch, params("transform"))[0] is batch.texts
    assert step("keep").edit(batch_of(["none"]), params("drop"))[1]["reason"].to_pylist() == [None]


def test_a_drop() -> None:
    texts = ["none", "false", "empty", "true", "dropped"]
    assert reasons("keep", "drop", texts) == [[], [], [], ["dropped"], ["dropped"]]
    options = {"with": {"limit": 4}, "reasons": ["x", "too_short"]}
    assert reasons("short", "drop", ["abc", "abcd"], **options) == [["too_short"], []]


def test_a_score() -> None:
    texts = ["", "a", "abcd"]
    assert edited("length", "score", texts)[1]["score_ppm"].tolist() == [0, 250_000, 1_000_000]
    limits = {"min_score": 0.25, "max_score": 0.5}
    assert reasons("length", "score", texts, **limits) == [["low_score"], [], ["high_score"]]
    assert reasons("length", "score", texts) == [[], [], []]


def test_batches() -> None:
    assert edited("upper_batch", "transform", ["a", "", "\xe9"], input="batch")[0] == ["A", "", "\xc9"]
    assert reasons("odd_lengths", "drop", ["a", "ab"], input="batch") == [["dropped"], []]
    _, signals, _ = edited("half_lengths", "score", ["a", "ab"], input="batch")
    assert signals["score_ppm"].tolist() == [500_000, 1_000_000]


def test_a_batch_has_ids_and_fields() -> None:
    batch = batch_of(["x", "y"], ["1", None], url=["u", None])
    names = {"names": ["text", "id", "url"]}
    options = {"input": "batch", "fields": ["url"], "with": names}
    assert edited("of_fields", "transform", batch, **options)[0] == ["1/x", "None/y"]
    assert step("of_fields").needs(params("transform", **options)) == ("url",)


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=8),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_any_text_goes_through_unharmed(texts: list[str], before: int, after: int) -> None:
    padded = Texts.from_strings(["x"] * before + texts + ["y"] * after)
    batch = Batch.of(padded.slice(before, before + len(texts)))
    assert edited("shout", "transform", batch)[0] == [text.upper() + "!" for text in texts]
    upper = pc.utf8_upper(pa.array(texts, pa.string())).to_pylist()
    assert edited("upper_batch", "transform", batch, input="batch")[0] == upper


def test_nothing_is_called_for_no_documents() -> None:
    for does, options in (("transform", {}), ("drop", {}), ("score", {})):
        texts, signals, _ = edited("words", does, [], **options)
        assert texts == [] and all(len(column) == 0 for column in signals.values())
    assert signals["score_ppm"].dtype == np.int64


# --- what they may not --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("does", "text", "message"),
    [
        ("transform", "bad", r"own_examples:words raised ValueError: a bad word \(.*own_examples.py:\d+\)"),
        ("transform", "offline", "raised ConnectionError: no network"),
        ("transform", "none", "returned None, expected the new text"),
        ("transform", "number", "returned a value of type int, expected the new text"),
        ("transform", "bytes", "returned a value of type bytes"),
        ("transform", "surrogate", r"returned text with a lone surrogate \(U\+D800\)"),
        ("drop", "number", "returned a value of type int, expected None, True, False or a reason"),
        ("drop", "droped", 'returned the reason "droped"; did you mean "dropped"'),
        ("score", "none", "returned None, expected a number"),
        ("score", "a word", "returned a value of type str, expected a number"),
        ("score", "nan", "returned nan, expected a number between"),
    ],
)
def test_a_wrong_answer_stops_the_run_and_names_the_document(does: str, text: str, message: str) -> None:
    good = {"transform": "a", "drop": "dropped", "score": "number"}[does]
    with pytest.raises(UserError, match=message) as caught:
        edited("words", does, batch_of([good, text, "z" * 99], ["1", "two", None]))
    assert caught.value.where is not None
    assert caught.value.where.startswith('document "two" (raw hash ')
    assert caught.value.where.endswith(f'which begins "{text}"')


def test_a_document_without_an_id_is_named_by_its_hash() -> None:
    batch = batch_of(["bad"])
    with pytest.raises(UserError) as caught:
        edited("words", "transform", batch)
    assert f"a document (raw hash {int(batch.raw_hash[0, 0]):016x}" in str(caught.value.where)


def test_failures_may_drop() -> None:
    texts, signals, _ = edited("words", "transform", ["a", "bad", "none"], on_error="drop")
    assert texts == ["a", "bad", "none"]
    assert signals["error"].to_pylist() == [None, "ValueError", "unusable answer"]
    assert reasons("words", "transform", ["a", "bad"], on_error="drop") == [[], ["failed"]]
    options = {"min_score": 9, "on_error": "drop"}
    assert reasons("words", "score", ["number", "bad"], **options) == [["low_score"], ["failed"]]
    with pytest.raises(UserError, match=r"failed on 2 documents \(ValueError, unusable answer\)"):
        step("words").checks(signals, params("transform"))


@pytest.mark.parametrize(("does", "text"), [("transform", "offline"), ("drop", "unheard_of")])
def test_faults_of_the_machine_and_mistakes_never_drop(does: str, text: str) -> None:
    with pytest.raises(UserError) as caught:
        edited("words", does, [text], on_error="drop")
    assert "on_error" not in str(caught.value.hint)


def test_a_batch_that_fails_is_asked_about_one_by_one() -> None:
    texts, signals, _ = edited("fails_on_bad", "transform", ["a", "bad", "b"], input="batch", on_error="drop")
    assert texts == ["a", "bad", "b"] and signals["error"].to_pylist() == [None, "ValueError", None]
    with pytest.raises(UserError, match="raised ValueError") as caught:
        edited("fails_on_bad", "transform", batch_of(["a", "bad"], ["x", "y"]), input="batch")
    assert 'document "y"' in str(caught.value.where)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("one_less", "returned 0 values for 1 documents"),
        ("a_list", "returned a value of type list, expected a pyarrow array"),
        ("only_many", "raised RuntimeError: too many .* for 2 documents together, and for none alone"),
    ],
)
def test_wrong_batches(function: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        edited(function, "transform", ["a", "b"], input="batch")


@pytest.mark.parametrize(
    ("function", "does", "options"),
    [
        ("counter", "transform", {}),
        ("chance", "score", {}),
        ("first_seen", "drop", {}),
        ("mean_of_batch", "score", {"input": "batch"}),
    ],
)
def test_an_answer_that_depends_on_more_than_its_document(
    function: str, does: str, options: dict[str, Any]
) -> None:
    with pytest.raises(UserError, match="gave two answers for one document"):
        edited(function, does, ["a", "bcdefghij"], **options)


def test_scores_of_batches_may_differ_by_rounding() -> None:
    _, signals, _ = edited("rounded_by_size", "score", ["abc"] * 5, input="batch")
    assert signals["score_ppm"].tolist() == [1_000_010] * 5


# --- keys ---------------------------------------------------------------------------------------------------
def test_what_calls_the_function_is_in_the_key_and_nothing_else() -> None:
    one = params("drop", **{"with": {"limit": 3}})
    more = params("drop", reasons=["a"], on_error="drop", **{"with": {"limit": 3}})
    record = step("short")
    assert measuring_parameters(record, one) == measuring_parameters(record, more)
    wanted = {"with": {"limit": 3}, "version": 1, "does": "drop", "input": "text", "fields": []}
    assert measuring_parameters(record, one) == wanted
    assert record.depends(one) == {"unicode": unicodedata.unidata_version}
    assert rewrites(record, params("transform")) and not rewrites(record, one)


def test_documents_that_were_not_measured_have_nothing_wrong() -> None:
    nulls = pa.nulls(2, pa.string())
    for does in ("transform", "drop", "score"):
        signals: Signals = {"reason": nulls, "error": nulls, "score_ppm": np.zeros(2, dtype=np.int64)}
        for on_error in ("stop", "drop"):
            limits = {"min_score": 1} if does == "score" else {}
            found = step("words").checks(signals, params(does, on_error=on_error, **limits))
            assert not any(check.dropped.any() for check in found if check.reason != "low_score")


def test_a_reason_may_join_or_change_its_name_and_not_leave() -> None:
    _, signals, _ = edited("keep", "drop", ["true", "none"])
    (check,) = step("keep").checks(signals, params("drop", reasons=["spam"]))
    assert (check.reason, check.dropped.tolist()) == ("spam", [True, False])
    _, signals, _ = edited("short", "drop", ["abc"], reasons=["too_short"], **{"with": {"limit": 4}})
    found = step("short").checks(signals, params("drop", reasons=["other", "too_short"]))
    assert [(check.reason, check.dropped.tolist()) for check in found] == [
        ("other", [False]),
        ("too_short", [True]),
    ]
    with pytest.raises(UserError, match='gave "too_short" as a reason'):
        step("short").checks(signals, params("drop", reasons=["other"]))


# --- planning -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "arguments", "message", "hint"),
    [
        ("no_such_package.steps:f", {}, "there is no module no_such_package", "looked in first"),
        ("tests.no_such_module:f", {}, "there is no module tests.no_such_module", "PYTHONPATH"),
        (f"{HERE}:shuot", {}, 'has no function shuot; did you mean "shout"', "own_examples.py"),
        (f"{HERE}:NOT_A_FUNCTION", {}, "is of type int, not a function", ""),
        (f"{HERE}:later", {}, "is a coroutine function", ""),
        (f"{HERE}:shout", {"mrak": "?"}, "unexpected keyword argument 'mrak'", "mark: 'str' = '!'"),
        (f"{HERE}:short", {}, "missing a required argument: 'limit'", "limit"),
    ],
)
def test_planning_finds_what_is_wrong_with_a_function(
    name: str, arguments: dict[str, Any], message: str, hint: str
) -> None:
    found = step_of(name)
    with pytest.raises(UserError, match=message) as caught:
        found.depends(params("transform", **{"with": arguments}))
    assert caught.value.where == f"step {name}"
    assert hint in (caught.value.hint or "")


def test_a_function_without_a_signature() -> None:
    step_of("builtins:ascii").depends(params("transform"))
    step_of("builtins:str").depends(params("transform"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import absent_dependency",
            "importing {} raised ModuleNotFoundError: No module named 'absent_dependency'",
        ),
        ("1 / 0", "importing {} raised ZeroDivisionError: division by zero"),
        ("def f(:", "importing {} raised SyntaxError"),
        ("import sys; sys.exit(3)", "importing {} raised SystemExit: 3"),
    ],
)
def test_a_module_that_does_not_load(
    source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"broken_{source.encode().hex()}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(UserError, match=message.format(name)):
        step_of(f"{name}:f").depends(params("transform"))


def test_modules_of_the_current_folder_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_corpus_here.py").write_text("print('loading')\ndef f(text): return text + '.'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = "my_corpus_here:f"
    step_of(name).depends(params("transform"))
    found = own_step(name)
    assert found is not None
    assert found.edit(batch_of(["a"]), params("transform"))[0].to_strings() == ["a."]
    assert capsys.readouterr().out == ""


# --- in a recipe --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["a:b", "a.b_2:C", "_a.b:_c"])
def test_names(name: str) -> None:
    assert find_step(name) is own_step(name) is not None
    assert step_of(name).name == name


@pytest.mark.parametrize(
    "name", ["a", "a.b", "a:", ":b", "a:b:c", "a.:b", "1a:b", "a b:c", "a:b.c", "\xe9:b", "a:b\n"]
)
def test_no_names(name: str) -> None:
    assert find_step(name) is None
    with pytest.raises(KeyError):
        step_of(name)


def recipe_with(entry: str) -> Recipe:
    return recipe_of({**yaml.safe_load(SMALL), "steps": yaml.safe_load(entry)})


def test_a_recipe_names_functions_and_imports_none() -> None:
    entry = """
    - no.such.module:f: {version: 3, does: transform, with: {factor: 2, list: [1.5, null]}, only: [web]}
    - no.such.module:f: {version: 3, does: drop, reasons: [a, b], max_removed: 0.5}
    """
    recipe = recipe_with(entry)
    first = recipe.steps[0]
    assert (first.name, first.only) == ("no.such.module:f", ("web",))
    resolved = recipe.resolved()
    assert resolved["steps"][0]["no.such.module:f"]["with"] == {"factor": 2, "list": [1.5, None]}
    assert resolved["step_versions"] == {"no.such.module:f": 1}
    again = {key: value for key, value in resolved.items() if key not in ("step_versions", "source_order")}
    assert recipe_of({**again, "output": "x"}).digest() == recipe.digest()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{does: drop}", 'f: the key "version" is missing'),
        ("{version: 1}", 'f: the key "does" is missing'),
        ("{version: 1.0, does: drop}", "version: expected a whole number"),
        ("{version: 0, does: drop}", "version: expected a number of at least 1"),
        ("{version: 1, does: filter}", "does: expected one of transform, drop, score"),
        ("{version: 1, does: drop, wiht: {}}", 'unknown parameter of a.b:f; did you mean "with"'),
        ("{version: 1, does: drop, with_: {}}", 'unknown parameter of a.b:f; did you mean "with"'),
        ("{version: 1, does: drop, with: [1]}", "with: expected a mapping"),
        ("{version: 1, does: transform, reasons: [a]}", "reasons: only does: drop has it"),
        ("{version: 1, does: drop, min_score: 1}", "min_score: only does: score has it"),
        ("{version: 1, does: drop, fields: [url]}", "fields: only input: batch has it"),
        ("{version: 1, does: drop, input: batch, fields: [id]}", 'every batch has a column "id"'),
        ("{version: 1, does: drop, input: batch, fields: [a, a]}", "lists a field twice"),
        ("{version: 1, does: drop, reasons: []}", "reasons: expected at least one entry"),
        ("{version: 1, does: drop, reasons: [Too Short]}", 'expected words such as "too_short"'),
        ("{version: 1, does: drop, reasons: [failed]}", '"failed" has a meaning of its own'),
        ("{version: 1, does: drop, reasons: [a, a]}", "lists a reason twice"),
        ("{version: 1, does: score, min_score: 2, max_score: 1}", "min_score 2 is above max_score 1"),
    ],
)
def test_wrong_options_are_refused(options: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        recipe_with(f"- a.b:f: {options}")
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["a.b.f", "a.b:f:g", "a-b.c:f"])
def test_wrong_names_are_told_the_form(name: str) -> None:
    with pytest.raises(UserError, match=r"a step of your own is named package\.module:function"):
        recipe_with(f'- "{name}": {{version: 1, does: drop}}')
