"""Runs whose steps edit and drop, are expensive, or route: who sees what, what runs again, what comes out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dataprep.cache import Cache
from dataprep.columnfile import read_columns, write_columns
from dataprep.kernels.texts import Texts
from dataprep.recipe import recipe_of
from dataprep.run import RunResult, run
from dataprep.stages.rewrites import RewriteWriter
from dataprep.stages.walk import COLUMNS, REWRITES
from dataprep.steps import STEPS
from dataprep.views.explain import explain_document
from manifests.corpus import open_corpus
from manifests.errors import UserError
from tests.dataprep.stages.fake_steps import FAKE, SEEN
from tests.e2e.corpora import digests

TEXTS = [
    "short",
    "# note\nA first text",
    "B second\n# note\ntext",
    "a word to drop here",
    "A first text",
    "Zz",
]


@pytest.fixture(autouse=True)
def fake_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, step in FAKE.items():
        monkeypatch.setitem(STEPS, name, step)
    SEEN.clear()
    yield
    SEEN.clear()


def write(folder: Path, texts: list[str] = TEXTS) -> None:
    lines = [json.dumps({"text": text, "id": str(index)}) for index, text in enumerate(texts)]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")


def recipe_data(folder: Path, steps: list[Any], source: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "corpus": "small",
        "version": "1.0.0",
        "sources": {"web": {"path": str(folder / "in.jsonl"), "id": "id", **(source or {})}},
        "steps": steps,
        "tokenizer": {"train": {"vocab_size": 257}, "engine": "tokenizers"},
        "output": str(folder / "out"),
    }


def go(folder: Path, steps: list[Any], source: dict[str, Any] | None = None, **changes: Any) -> RunResult:
    return run(recipe_of(recipe_data(folder, steps, source) | changes), workers=0)


def texts_of(folder: Path, source: str = "web") -> dict[str, str]:
    """Id -> text of all documents of the corpus, decoded from their tokens."""
    from tokenizers import Tokenizer

    corpus = open_corpus(folder / "out")
    tokenizer = Tokenizer.from_file(str(folder / "out" / "tokenizer.json"))
    found = {}
    for shard in corpus.shards_of(source, "train"):
        table = pq.read_table(folder / "out" / f"{shard.name}.documents.parquet")
        reader = corpus.reader(shard)
        for index, name in enumerate(table.column("id").to_pylist()):
            tokens = reader.document(index).tolist()
            found[name] = tokenizer.decode(tokens[:-1])
    return dict(sorted(found.items()))


def seen(name: str) -> list[str]:
    return [text for step, texts in SEEN if step == name for text in texts]


def row(result: RunResult, stage: str, source: str = "web") -> dict[str, Any]:
    rows = result.report["funnel"]
    return next(each for each in rows if each["stage"] == stage and each["source"] == source)


def test_an_edit_rewrites_and_drops(tmp_path: Path) -> None:
    write(tmp_path)
    result = go(tmp_path, [{"uncomment": {}}, {"shout": {}}])
    assert row(result, "uncomment")["dropped"] == {"bad_word": 1}
    assert texts_of(tmp_path) == {
        "0": "SHORT", "1": "A FIRST TEXT", "2": "B SECOND\nTEXT", "4": "A FIRST TEXT", "5": "ZZ",
    }  # fmt: skip


def test_a_threshold_of_an_edit_measures_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    go(tmp_path, [{"uncomment": {}}])
    result = go(tmp_path, [{"uncomment": {"max_lines": 0}}])
    assert "measure" not in result.tasks_run
    assert row(result, "uncomment")["dropped"] == {"bad_word": 1, "too_many_lines": 1}


@pytest.mark.parametrize("slow", ["slow_uncomment", "slow_shout", "label"])
def test_an_expensive_step_sees_what_its_gates_kept(tmp_path: Path, slow: str) -> None:
    write(tmp_path)
    name = {"slow_uncomment": "uncomment", "slow_shout": "shout", "label": "label"}[slow]
    result = go(tmp_path, [{"length": {"min_length": 6}}, {slow: {}}])
    assert seen(name) == [text for text in TEXTS if len(text) >= 6]
    if slow != "slow_shout":
        assert row(result, slow)["joint"]["not_measured"] == 2
        assert "not_measured" not in row(result, slow)["dropped"]


def test_what_an_expensive_step_rewrote_is_kept(tmp_path: Path) -> None:
    write(tmp_path)
    go(tmp_path, [{"length": {"min_length": 6}}, {"slow_uncomment": {}}, {"slow_shout": {}}])
    # Once in MEASURE; the sample, the tokens and a later step read what was kept.
    assert len(seen("uncomment")) == len(seen("shout")) + 1 == 4  # one holds a bad word
    assert texts_of(tmp_path) == {"1": "A FIRST TEXT", "2": "B SECOND\nTEXT", "4": "A FIRST TEXT"}
    SEEN.clear()
    go(tmp_path, [{"length": {"min_length": 6}}, {"slow_uncomment": {}}, {"slow_shout": {}}, {"label": {}}])
    assert seen("uncomment") == seen("shout") == []
    assert sorted(seen("label")) == ["A FIRST TEXT", "A FIRST TEXT", "B SECOND\nTEXT"]


def test_a_gate_that_changes_makes_an_expensive_step_look_again(tmp_path: Path) -> None:
    write(tmp_path)
    go(tmp_path, [{"length": {"min_length": 6}}, {"slow_uncomment": {}}])
    SEEN.clear()
    result = go(tmp_path, [{"length": {"min_length": 3}}, {"slow_uncomment": {}}])
    assert result.tasks_run["measure"] == 1
    assert seen("length") == []  # its signals are there
    assert "short" in seen("uncomment")
    assert sorted(texts_of(tmp_path)) == ["0", "1", "2", "4"]


@pytest.mark.parametrize("slow", ["slow_last_line", "slow_uncomment", "label"])
def test_a_gate_that_moves_makes_an_expensive_step_look_again(tmp_path: Path, slow: str) -> None:
    """Above a transform a gate judges another text, though the step below sees the same one."""
    write(tmp_path, ["long enough\nno", "no\nlong enough", "both are long\nboth are long"])
    gate: Any = {"length": {"min_length": 6}}
    go(tmp_path, [gate, {"last_line": {}}, {slow: {}}])
    assert list(texts_of(tmp_path)) == ["0", "1", "2"]
    result = go(tmp_path, [{"last_line": {}}, gate, {slow: {}}])
    assert list(texts_of(tmp_path)) == ["1", "2"]
    if slow != "slow_last_line":
        assert row(result, slow)["joint"] == {"not_measured": 1}
    go(tmp_path, [gate, {"last_line": {}}, {slow: {}}])
    assert texts_of(tmp_path) == {"0": "no", "1": "long enough", "2": "both are long"}


def test_steps_below_an_expensive_one_run_without_it(tmp_path: Path) -> None:
    """A missing gate column and a missing final set are made from what is kept."""
    write(tmp_path)
    steps: list[Any] = [{"slow_uncomment": {}}, {"length": {}}]
    go(tmp_path, steps)
    SEEN.clear()
    go(tmp_path, [*steps, {"shout": {}}])
    assert seen("uncomment") == []
    assert texts_of(tmp_path)["2"] == "B SECOND\nTEXT"


def test_texts_that_were_damaged_since_are_made_again_before_a_step_looks_at_them(tmp_path: Path) -> None:
    write(tmp_path)
    steps: list[Any] = [{"length": {"min_length": 6}}, {"slow_uncomment": {}}]
    go(tmp_path, steps)
    (path,) = (tmp_path / "out.work" / "measure").rglob(REWRITES)
    size_bytes = path.stat().st_size
    writer = RewriteWriter(path)
    writer.add(np.array([1, 2]), Texts.from_strings(["A wrong text", "B second\ntext"]))
    writer.close()
    assert path.stat().st_size == size_bytes
    SEEN.clear()
    go(tmp_path, [*steps, {"label": {}}])
    assert sorted(seen("label")) == ["A first text", "A first text", "B second\ntext"]
    assert texts_of(tmp_path) == {"1": "A first text", "2": "B second\ntext", "4": "A first text"}


def test_gates_that_were_damaged_since_are_measured_again_before_a_step_looks(tmp_path: Path) -> None:
    write(tmp_path)
    gate = {"length": {"min_length": 6}}
    go(tmp_path, [gate])
    paths = (tmp_path / "out.work" / "measure").rglob(COLUMNS)
    (path,) = (each for each in paths if "characters" in read_columns(each))
    write_columns(path, {"characters": np.arange(6)})
    SEEN.clear()
    go(tmp_path, [gate, {"label": {}}])
    assert len(seen("length")) == 6
    assert len(seen("label")) == 4
    assert sorted(texts_of(tmp_path)) == ["1", "2", "3", "4"]


def test_a_field_may_be_called_as_a_column_of_ours(tmp_path: Path) -> None:
    lines = [json.dumps({"text": f"text {n}", "id": str(n), "measured": [0, 1, None][n]}) for n in range(3)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    source = {"carry": ["measured"]}
    steps = [{"where": {"fields": {"measured": {"min": 1}}}}, {"label": {}}]
    result = go(tmp_path, steps, source)
    assert row(result, "where")["dropped"] == {"where_measured": 2}
    assert row(result, "label")["joint"] == {"not_measured": 2}
    for name, value in (("0", "0"), ("2", None)):
        (found,) = explain_document(recipe_of(recipe_data(tmp_path, steps, source)), name)["documents"]
        assert found["signals"] == {"where": {"measured": value}, "label": None}
        assert [check["dropped"] for check in found["checks"]] == [True]


@pytest.mark.slow
def test_a_run_that_ends_before_any_of_its_commits_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also between two column sets of one split, when those above a step are there and its own are not."""
    write(tmp_path)
    steps = [{"length": {"min_length": 3}}, {"slow_uncomment": {}}, {"shout": {}}, {"slow_length": {}}]
    commit, left = Cache.commit, 10**6

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return commit(*args, **options)

    monkeypatch.setattr(Cache, "commit", counted)
    go(tmp_path, steps)
    expected = digests(tmp_path / "out")
    commits = 10**6 - left
    assert commits == 11
    for number in range(commits):
        shutil.rmtree(tmp_path / "out")
        shutil.rmtree(tmp_path / "out.work")
        left = number
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path, steps)
        left = 10**6
        SEEN.clear()
        go(tmp_path, steps)
        assert digests(tmp_path / "out") == expected
        assert 10**6 - left == commits - number
        assert bool(seen("uncomment")) == (number < 3)


def test_everything_is_dropped_by_a_gate(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(UserError, match="no document is left"):
        go(tmp_path, [{"length": {"min_length": 99}}, {"slow_uncomment": {}}, {"label": {}}])
    assert seen("uncomment") == seen("label") == []


ROUTE = {"by": "label.initial", "to": {"web_a": ["A"], "web_b": ["B", "b"]}}


def test_routing_by_a_label(tmp_path: Path) -> None:
    write(tmp_path)
    result = go(tmp_path, [{"uncomment": {}}, {"label": {}}], {"route": ROUTE, "license": "CC0-1.0"})
    assert list(texts_of(tmp_path, "web_a")) == ["1", "4"]
    assert list(texts_of(tmp_path, "web_b")) == ["2"]
    assert list(texts_of(tmp_path, "web")) == ["0", "5"]
    assert row(result, "routed")["moved"] == {"web_a": 2, "web_b": 1}
    assert row(result, "train", "web_a")["documents"] == 2
    manifest = open_corpus(tmp_path / "out").manifest
    assert list(manifest.sources) == ["web_a", "web_b", "web"]
    assert {source.license for source in manifest.sources.values()} == {"CC0-1.0"}


def test_routing_by_bins_drops_the_rest(tmp_path: Path) -> None:
    write(tmp_path)
    route = {
        "by": "length.characters",
        "to": {"short": {"below": 6}, "middle": {"from": 6, "below": 15}},
        "rest": "drop",
    }
    result = go(tmp_path, [{"length": {}}], {"route": route})
    assert list(texts_of(tmp_path, "short")) == ["0", "5"]
    assert list(texts_of(tmp_path, "middle")) == ["4"]
    assert row(result, "route")["dropped"] == {"not_routed": 3}
    assert list(open_corpus(tmp_path / "out").manifest.sources) == ["short", "middle"]


def test_routing_by_a_field(tmp_path: Path) -> None:
    lines = [json.dumps({"text": text, "id": f"{n}", "kind": "xy"[n % 2]}) for n, text in enumerate(TEXTS)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    source = {"carry": ["kind"], "route": {"by": "where.kind", "to": {"other": ["y"]}}}
    go(tmp_path, [{"where": {"fields": {"kind": {"present": True}}}}], source)
    assert list(texts_of(tmp_path, "other")) == ["1", "3", "5"]


def test_a_route_that_changes_measures_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    steps = [{"uncomment": {}}, {"label": {}}]
    go(tmp_path, steps, {"route": ROUTE})
    result = go(tmp_path, steps, {"route": ROUTE | {"to": {"web_a": ["B"], "web_b": ["A"]}}})
    assert "measure" not in result.tasks_run
    assert list(texts_of(tmp_path, "web_a")) == ["2"]


def test_a_source_before_a_routed_one_writes_nothing_again(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "other.txt").write_text("another text")
    web = {"path": str(tmp_path / "in.jsonl"), "id": "id", "route": ROUTE}
    tokenizer = {"file": str(tmp_path / "tokenizer.json"), "engine": "tokenizers"}
    go(tmp_path, [])
    (tmp_path / "tokenizer.json").write_bytes((tmp_path / "out" / "tokenizer.json").read_bytes())
    steps = [{"label": {"only": ["web"]}}]
    go(tmp_path, steps, sources={"web": web}, tokenizer=tokenizer)
    before = texts_of(tmp_path, "web_a")
    both = {"more": {"path": str(tmp_path / "other.txt")}, "web": web}
    result = go(tmp_path, steps, sources=both, tokenizer=tokenizer)
    assert result.tasks_run["write"] == 1
    assert texts_of(tmp_path, "web_a") == before
    assert list(open_corpus(tmp_path / "out").manifest.sources) == ["more", "web_a", "web_b", "web"]


@pytest.mark.parametrize(
    ("route", "complaint"),
    [
        (
            {"by": "label.initials", "to": {"a": ["A"]}},
            'no signal "initials" of label; did you mean',
        ),
        ({"by": "labels.initial", "to": {"a": ["A"]}}, 'no step "labels"; did you mean "label"'),
        ({"by": "initial", "to": {"a": ["A"]}}, 'expected "step.signal"'),
        ({"by": "label.initial", "to": {"a": {"below": 3}}}, "label.initial needs a list of labels"),
        ({"by": "length.characters", "to": {"a": ["A"]}}, "needs from: and below: of a number"),
        ({"by": "label.initial", "to": {"web": ["A"]}}, '"web" is a source already'),
        ({"by": "shout.x", "to": {"a": ["A"]}}, 'no signal "x" of shout'),
        ({"by": "exact_dedup.content_hash", "to": {"a": ["A"]}}, "exact_dedup.content_hash is a hash"),
    ],
)
def test_routes_that_lead_nowhere(tmp_path: Path, route: dict[str, Any], complaint: str) -> None:
    write(tmp_path)
    with pytest.raises(UserError) as refused:
        steps = [{"length": {}}, {"label": {}}, {"shout": {}}, {"exact_dedup": {}}]
        go(tmp_path, steps, {"route": route})
    assert complaint in str(refused.value)


def test_max_tokens(tmp_path: Path) -> None:
    write(tmp_path, [f"text number {index}" for index in range(200)])
    whole = go(tmp_path, [])
    tokens = row(whole, "train")["tokens"]
    result = go(tmp_path, [], {"max_tokens": tokens // 2})
    assert "write" not in result.tasks_run
    capped = row(result, "train")
    assert tokens // 2 - 20 < capped["tokens"] <= tokens // 2
    assert row(result, "max_tokens")["dropped"] == {"max_tokens": 200 - capped["documents"]}
    assert set(texts_of(tmp_path).values()) < {f"text number {index}" for index in range(200)}
