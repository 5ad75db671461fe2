"""Good recipes: defaults, shorthands, the resolved form, digests. The bad are in test_recipe_errors.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dataprep.readers import ReadOptions
from dataprep.recipe import Recipe, load_recipe, recipe_of
from dataprep.recipe.checks import cross_checks
from dataprep.recipe.model import PROBE_BYTES
from dataprep.steps import STEPS
from manifests.errors import UserError
from manifests.fingerprint import canonical_json

ROOT = Path(__file__).resolve().parents[2]

SMALL = """\
corpus: demo
version: 1.0.0
sources:
  web: {path: "data/*.jsonl"}
tokenizer: {train: {vocab_size: 512}}
output: out/demo/
"""

LARGE = """\
corpus: demo
version: 1.0.0-rc.1
seed: 17
sources:
  web:
    {path: ["a/*.jsonl", "b/*.zst"], format: jsonl, text: content, id: url, exclude: ["a/x*"], license: MIT}
  code:
    max_bytes: 20MB
    inputs:
      - {path: "${python:stdlib}/**/*.py", format: text}
      - {path: "${python:stdlib}/**/*.py", format: docstrings, exclude: ["**/test/**"]}
steps:
  - normalize:
  - gopher_quality: {only: [web], min_words: 10, max_removed: 1}
  - gopher_quality: {except: [web], min_words: 3}
  - exact_dedup: {within: source}
tokenizer: {file: tokenizer.json, special_tokens: parse, append_eos: false}
holdout: {documents: 0.01}
shards: {tokens: 1.5B}
failure_budget: {records: 0, record_floor: 0}
max_document_bytes: 1MiB
exclude: ["a/lost.jsonl"]
output: out/demo
work: /scratch/demo
"""


FIELDS = """\
corpus: demo
version: 1.0.0
sources:
  talks:
    {path: "t/*.csv", text: "{title}\\n{meta.body?}", carry: [url, date], encoding: Latin-1, sample: 2.5%}
  code:
    max_tokens: 5M
    inputs:
      - {path: a.py, format: text}
      - {path: b.jsonl, carry: [url], encoding: UTF8, id: meta.id}
steps:
  - where: {fields: {date: {from: "2020"}, url: {matches: "^https"}}, only: [talks]}
  - exclude: {urls_file: lists/urls.txt, ids: ["1"], only: [talks]}
tokenizer: {train: {vocab_size: 512}}
output: out/demo/
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Recipe]:
    def loader(text: str, *sets: str) -> Recipe:
        (tmp_path / "recipe.yaml").write_text(text)
        return load_recipe(tmp_path / "recipe.yaml", sets)

    return loader


def test_defaults(load: Callable[..., Recipe]) -> None:
    recipe = load(SMALL)
    assert recipe.seed == 0
    assert recipe.steps == ()
    (web,) = recipe.sources["web"].inputs
    assert (web.path, web.format, web.text, web.id, web.exclude) == (
        ("data/*.jsonl",),
        "auto",
        "text",
        None,
        (),
    )
    assert recipe.sources["web"].max_bytes is None
    assert recipe.tokenizer.train is not None
    assert recipe.tokenizer.sample_bytes == 50_000_000
    assert recipe.append_eos is True
    assert recipe.tokenizer.special_tokens == "text"
    assert recipe.holdout.documents == 0
    assert (recipe.shards.tokens, recipe.shards.pack) == (100_000_000, "concat")
    budget = recipe.failure_budget
    assert (budget.records, budget.record_floor, budget.files, budget.file_floor) == (0.001, 10, 0.001, 1)
    assert recipe.max_document_bytes == 100 * 2**20
    assert recipe.exclude == ()
    assert recipe.work_folder == "out/demo.work"


def test_everything_said(load: Callable[..., Recipe]) -> None:
    recipe = load(LARGE)
    assert list(recipe.sources) == ["web", "code"]
    (web,) = recipe.sources["web"].inputs
    assert web.path == ("a/*.jsonl", "b/*.zst")
    assert (web.format, web.text, web.id, web.exclude) == ("jsonl", "content", "url", ("a/x*",))
    code = recipe.sources["code"]
    assert [each.format for each in code.inputs] == ["text", "docstrings"]
    assert code.max_bytes == 20_000_000
    assert [each.name for each in recipe.steps] == [
        "normalize",
        "gopher_quality",
        "gopher_quality",
        "exact_dedup",
    ]
    normalize, quality, other, dedup = recipe.steps
    assert isinstance(normalize.parameters, STEPS["normalize"].params)
    assert normalize.max_removed is None
    assert (quality.only, quality.except_, quality.max_removed) == (("web",), None, 1.0)
    assert (other.only, other.except_, other.max_removed) == (None, ("web",), 0.9)
    assert dedup.parameters.model_dump()["within"] == "source"
    assert recipe.tokenizer.file == "tokenizer.json"
    assert recipe.tokenizer.sample_bytes == PROBE_BYTES
    assert recipe.append_eos is False
    assert recipe.shards.tokens == 1_500_000_000
    assert recipe.failure_budget.records == 0.0
    assert recipe.max_document_bytes == 2**20
    assert recipe.work_folder == "/scratch/demo"


def test_fields_of_records(load: Callable[..., Recipe]) -> None:
    recipe = load(FIELDS)
    talks, code = recipe.sources.values()
    assert recipe.read_options(talks, talks.inputs[0]) == ReadOptions(
        text="{title}\n{meta.body?}", carry=("url", "date"), encoding="latin-1", sample=0.025
    )
    assert [recipe.read_options(code, each) for each in code.inputs] == [
        ReadOptions(members="text"),
        ReadOptions(id="meta.id", carry=("url",)),
    ]
    assert (code.sample, code.max_tokens) == (1.0, 5_000_000)
    assert talks.inputs[0].encoding == "iso8859-1" and code.inputs[1].encoding == "utf-8"
    resolved = recipe.resolved()
    assert resolved["steps"][0]["where"]["fields"]["date"]["from"] == "2020-01-01"
    del resolved["step_versions"], resolved["source_order"]
    assert recipe_of({**resolved, "output": "x"}).digest() == recipe.digest()


def test_a_quick_look_is_a_recipe_with_a_smaller_sample(load: Callable[..., Recipe]) -> None:
    recipe = load(FIELDS)
    look = recipe.sampled(0.1)
    assert (look.output, look.work_folder) == ("out/demo.sample", "out/demo.work")
    assert [source.sample for source in look.sources.values()] == [0.025 * 0.1, 0.1]
    assert look.place("output") == recipe.place("output") is not None
    assert look.digest() != recipe.digest() == load(FIELDS).digest()
    assert look.steps == recipe.steps


def test_paths_stay_as_written_wherever_the_recipe_is(
    load: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They count from the current folder, and validation looks at no file but the recipe."""
    first = load(SMALL)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    second = load_recipe("../recipe.yaml")
    assert first == second
    assert second.sources["web"].inputs[0].path == ("data/*.jsonl",)
    assert second.output == "out/demo/"
    assert second.place("output") == "../recipe.yaml:6"


def test_a_recipe_is_frozen(load: Callable[..., Recipe]) -> None:
    recipe = load(SMALL)
    with pytest.raises(ValidationError, match="frozen"):
        recipe.seed = 3  # type: ignore[misc]


def test_resolved_is_plain_complete_and_a_recipe_again(load: Callable[..., Recipe]) -> None:
    recipe = load(LARGE)
    resolved = recipe.resolved()
    canonical_json(resolved)
    assert json.loads(json.dumps(resolved)) == resolved
    assert resolved["step_versions"] == {each.name: STEPS[each.name].version for each in recipe.steps}
    assert resolved["steps"][0] == {
        "normalize": {"unicode": "NFC", "newlines": True, "strip_control": True, "only": None, "except": None}
    }
    assert resolved["sources"]["web"]["max_bytes"] is None
    assert not {"output", "work"} & set(resolved)
    assert resolved["source_order"] == ["web", "code"]
    del resolved["step_versions"], resolved["source_order"]
    again = recipe_of({**resolved, "output": "elsewhere"})
    assert again.resolved() == recipe.resolved()
    assert again.digest() == recipe.digest()
    assert load(yaml.safe_dump({**resolved, "output": "x"}, sort_keys=False)).digest() == recipe.digest()


def test_the_shorthand_is_one_input(load: Callable[..., Recipe]) -> None:
    long = SMALL.replace('{path: "data/*.jsonl"}', '{inputs: [{path: "data/*.jsonl"}]}')
    assert load(long).digest() == load(SMALL).digest()


@pytest.mark.parametrize(
    "change",
    [
        "version=1.0.1", "seed=1", "corpus=other", "sources.web.max_bytes=1MB", "sources.web.license=BSD",
        "steps.1.gopher_quality.min_words=11", "steps.normalize.unicode=NFKC", "tokenizer.file=other.json",
        "tokenizer.append_eos=true", "holdout.documents=0.02", "shards.tokens=1M", "exclude=[]",
        "max_document_bytes=2MiB",
    ],
)  # fmt: skip
def test_what_is_in_the_digest(load: Callable[..., Recipe], change: str) -> None:
    assert load(LARGE, change).digest() != load(LARGE).digest()


@pytest.mark.parametrize(
    "change", ["output=elsewhere", "work=/tmp/w", "sources.code.max_bytes=20000kB", "seed=0x11"]
)
def test_what_is_not_in_the_digest(load: Callable[..., Recipe], change: str) -> None:
    assert load(LARGE, change).digest() == load(LARGE).digest()


def test_the_order_of_sources_is_in_the_digest_and_of_keys_is_not(load: Callable[..., Recipe]) -> None:
    head, tail = SMALL.replace("  web:", "  a: {path: x}\n  b: {path: y}\n  web:"), SMALL
    swapped = tail.replace("  web:", "  b: {path: y}\n  a: {path: x}\n  web:")
    assert load(head).digest() != load(swapped).digest()
    lines = SMALL.splitlines()
    moved = "\n".join([*lines[4:], *lines[:4]])
    assert load(moved).digest() == load(SMALL).digest()


def test_a_limit_may_be_a_percentage() -> None:
    def recipe(limit: Any, share: Any) -> Recipe:
        steps = [
            {"gopher_quality": {"max_removed": limit, "max_bullet_lines_ratio": limit}},
            {"gopher_repetition": {"max_top_2_gram": limit}},
            {"language": {"min_score": limit, "min_margin": limit}},
            {"c4_bad_words": {"words": ["a"], "keep_fraction": limit}},
        ]
        data: dict[str, Any] = {
            "corpus": "a",
            "version": "1.0.0",
            "sources": {"web": {"path": "a.jsonl"}},
            "steps": steps,
            "tokenizer": {"train": {"vocab_size": 300}},
            "holdout": {"documents": share},
            "failure_budget": {"records": share, "files": share},
            "output": "out",
        }
        return recipe_of(data)

    assert recipe("95%", "0.1%").digest() == recipe(0.95, 0.001).digest()
    with pytest.raises(UserError, match="expected a number of at most 1"):
        recipe("101%", 0)
    with pytest.raises(UserError, match="expected a number, found the text"):
        recipe("0.95", 0)


def test_places(load: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = load(LARGE, "steps.exact_dedup.by=normalized_text")
    file = tmp_path / "recipe.yaml"
    assert recipe.place("sources", "code", "inputs", 1, "path") == f"{file}:11"
    assert recipe.place("steps", 2) == f"{file}:15"
    assert recipe.place("steps", 3, "exact_dedup", "by") == "--set steps.exact_dedup.by=normalized_text"
    assert recipe_of(yaml.safe_load(SMALL)).place("output") is None


SHIPPED = [path for path in sorted((ROOT / "recipes").glob("*.yaml")) if not path.name.startswith("train_")]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_recipe_we_ship(path: Path) -> None:
    recipe = load_recipe(path)
    assert recipe.digest() == load_recipe(path).digest()


def test_mistakes_in_fields_do_not_hide_those_between_fields(load: Callable[..., Recipe]) -> None:
    with pytest.raises(UserError) as caught:
        load(LARGE, "seed=x", "steps.1.gopher_quality.only=[wbe]", "work=out/demo/w")
    assert [line.split(": ")[1] for line in str(caught.value.where).splitlines()] == [
        "seed",
        "steps.1.gopher_quality.only.0",
        "work",
    ]


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "web", "x", "1.0", "20MB", "text", "a/b", ".", "normalize", "http://x"]),
    st.text(max_size=5),
)
_WORDS = "inputs path format only except max_removed train file vocab_size documents web min_words keep"
_KEYS = st.sampled_from([*Recipe.model_fields, *STEPS, *_WORDS.split()])
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=3), st.lists(st.tuples(_KEYS, _VALUES), max_size=2))
def test_any_values_are_a_recipe_or_refused(changes: dict[str, Any], nested: list[tuple[str, Any]]) -> None:
    data: dict[str, Any] = {**yaml.safe_load(LARGE), **changes}
    for key, value in nested:
        for holder in ("tokenizer", "holdout", "sources", "shards"):
            if isinstance(data.get(holder), dict):
                data[holder] = {**data[holder], key: value}
    cross_checks(data)
    try:
        recipe = recipe_of(data)
    except UserError as error:
        assert error.where
        return
    canonical_json(recipe.resolved())
    assert recipe.work_folder
