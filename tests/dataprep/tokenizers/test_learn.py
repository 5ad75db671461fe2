"""A tokenizer from a weighted sample: the same bytes for the same texts, and figures that can be
recomputed."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tokenizers import Tokenizer

from dataprep.kernels.texts import Texts
from dataprep.tokenizers import describe
from dataprep.tokenizers.files import read_tokenizer
from dataprep.tokenizers.learn import TRAINED, TokenizerTraining, learn, print_learned
from dataprep.tokenizers.sampling import Sample, beginnings, key_for, keys_of
from manifests.errors import UserError

PROSE = [
    f"The river number {number} turns the wheel of the mill, and the miller sleeps." for number in range(300)
]
CODE = [f"def function_{number}(argument):\n    return argument + {number}\n" for number in range(300)]
TRAINING = TokenizerTraining(vocab_size=400, sample_bytes=20_000, weights={"code": 3})


def write(folder: Path, name: str, texts: list[str], files: int = 1) -> str:
    for number in range(files):
        lines = [json.dumps({"text": text}) + "\n" for text in texts[number::files]]
        (folder / f"{name}-{number}.jsonl").write_text("".join(lines))
    return str(folder / f"{name}-*.jsonl")


def train(folder: Path, files: int = 1, reverse: bool = False, **options: Any) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    step = -1 if reverse else 1
    patterns = {
        "prose": [write(folder, "prose", PROSE[::step], files)],
        "code": [write(folder, "code", CODE[::step], files)],
    }
    return learn(patterns, folder / "tokenizer.json", options.pop("training", TRAINING), **options)


def test_the_same_texts_give_the_same_bytes(tmp_path: Path) -> None:
    reports = [train(tmp_path / "a"), train(tmp_path / "b", files=3), train(tmp_path / "c", reverse=True)]
    assert reports[0] == reports[1] == reports[2]
    assert (tmp_path / "a/tokenizer.json").read_bytes() == (tmp_path / "c/tokenizer.json").read_bytes()
    assert json.loads((tmp_path / "a/tokenizer.report.json").read_text()) == reports[0]
    other = train(tmp_path / "d", training=TokenizerTraining(400, 20_000, {"code": 3}, seed=1))
    assert other["sources"] != reports[0]["sources"] or other["tokenizer"] != reports[0]["tokenizer"]


def test_weights_are_shares_of_bytes(tmp_path: Path) -> None:
    report = train(tmp_path / "a", training=TokenizerTraining(300, 8000, {"code": 3}))
    prose, code = report["sources"]["prose"], report["sources"]["code"]
    assert (prose["asked_bytes"], code["asked_bytes"]) == (2000, 6000)
    assert 0 <= prose["sampled_bytes"] - 2000 < 100 and 0 <= code["sampled_bytes"] - 6000 < 100
    assert prose["documents"] == code["documents"] == 300 and prose["held_out_documents"] > 5


def test_figures_are_of_texts_that_were_not_trained_on(tmp_path: Path) -> None:
    report = train(tmp_path / "a")
    tokenizer = Tokenizer.from_file(str(tmp_path / "a/tokenizer.json"))
    assert tokenizer.get_vocab_size() == report["tokenizer"]["vocab_size"] <= 400
    key = key_for(0)
    for name, texts in (("prose", PROSE), ("code", CODE)):
        kept = Texts.from_strings(texts)
        apart = keys_of(kept, key)[:, 0] >= 15 << 60
        held_out = [text for text, is_apart in zip(texts, apart, strict=True) if is_apart]
        figures = report["measured"][TRAINED][name]
        assert figures["bytes"] == sum(len(text.encode()) for text in held_out)
        assert figures["on"] == "held out"
        assert figures["tokens"] == sum(len(tokenizer.encode(text).ids) for text in held_out)
        assert figures["bytes_per_token"] == round(figures["bytes"] / figures["tokens"], 4) > 1.5


def test_beside_another_tokenizer(tmp_path: Path) -> None:
    train(tmp_path / "small", training=TokenizerTraining(260, 20_000))
    other = tmp_path / "small" / "tokenizer.json"
    report = train(tmp_path / "a", compare=[other])
    mine, theirs = report["measured"][TRAINED], report["measured"][str(other)]
    assert all(mine[name]["bytes"] == theirs[name]["bytes"] for name in mine)
    assert all(mine[name]["bytes_per_token"] > theirs[name]["bytes_per_token"] for name in mine)


def test_a_unigram_vocabulary(tmp_path: Path) -> None:
    """The same bytes however the files are cut and ordered; and what `read_tokenizer` reads."""
    pytest.importorskip("sentencepiece")
    training = TokenizerTraining(400, 20_000, {"code": 3}, model="unigram")
    reports, models = [], []
    for name, options in (("a", {}), ("b", {"files": 3}), ("c", {"reverse": True})):
        (tmp_path / name).mkdir()
        step = -1 if "reverse" in options else 1
        patterns = {
            source: [write(tmp_path / name, source, texts[::step], int(options.get("files", 1)))]
            for source, texts in (("prose", PROSE), ("code", CODE))
        }
        reports.append(learn(patterns, tmp_path / name / "t.model", training))
        models.append((tmp_path / name / "t.model").read_bytes())
    assert models[0] == models[1] == models[2]
    assert reports[0] == reports[1] == reports[2]
    assert json.loads((tmp_path / "a/t.report.json").read_text()) == reports[0]
    report = reports[0]
    assert report["library"] == {"sentencepiece": version("sentencepiece")}
    facts = describe(read_tokenizer(tmp_path / "a" / "t.model"))
    assert facts.vocab_size == report["tokenizer"]["vocab_size"] <= 400
    assert facts.digest == report["tokenizer"]["digest"]
    bpe = train(tmp_path / "bpe", training=replace(training, model="bpe"), compare=[tmp_path / "a/t.model"])
    assert bpe["measured"][str(tmp_path / "a/t.model")] == report["measured"][TRAINED]


def test_figures_of_each_language(tmp_path: Path) -> None:
    """Those of a source add up to its own; records that name none have a row, too."""
    words = {"en": "the river turns the wheel", "de": "das Wasser l\xe4uft zum Rad", None: "0101 1100"}
    records = [
        {"text": f"{number} {words[language]} {number}", "meta": {"lang": language}}
        for number in range(400)
        for language in words
    ]
    reports = []
    for name, rows in (("a", records), ("b", records[::-1])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "web.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / name / "note.txt").write_text("the river and the mill " * 9)
        reports.append(
            learn(
                {"web": [str(tmp_path / name / "web.jsonl")], "notes": [str(tmp_path / name / "note.txt")]},
                tmp_path / name / "t.json",
                TokenizerTraining(300, languages={"web": "meta.lang"}),
            )
        )
    assert reports[0] == reports[1]
    web = reports[0]["measured"][TRAINED]["web"]
    assert list(web["languages"]) == ["(none)", "de", "en"] and web["on"] == "held out"
    for count in ("bytes", "tokens"):
        assert sum(each[count] for each in web["languages"].values()) == web[count]
    tokenizer = Tokenizer.from_file(str(tmp_path / "a/t.json"))
    kept = Texts.from_strings([row["text"] for row in records if row["meta"]["lang"] == "de"])
    apart = kept.take(keys_of(kept, key_for(0))[:, 0] >= 15 << 60).to_strings()
    german = web["languages"]["de"]
    assert german["bytes"] == sum(len(text.encode()) for text in apart) > 0
    assert german["tokens"] == sum(len(tokenizer.encode(text).ids) for text in apart)
    assert german["bytes_per_token"] == round(german["bytes"] / german["tokens"], 4)
    assert "languages" not in reports[0]["measured"][TRAINED]["notes"]
    console = Console(width=120, record=True, file=io.StringIO())
    print_learned(reports[0], console)
    shown = console.export_text()
    assert f"  de {' ' * 4}" in shown and f"{german['bytes_per_token']:.3f}" in shown


def test_equal_texts_of_two_languages_do_not_depend_on_the_order(tmp_path: Path) -> None:
    rows = [("de", "Rad"), ("en", "Rad"), ("en", "Wheel")] * 40
    found = []
    for batch in (rows, rows[::-1]):
        texts, sample = Texts.from_strings([text for _, text in batch]), Sample(200)
        sample.offer(texts, keys_of(texts, key_for(0)), np.array([language for language, _ in batch]))
        found.append(list(zip(sample.labels().tolist(), sample.texts(), strict=True)))
    assert found[0] == found[1]


def test_few_texts_are_measured_on_the_sample(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the river and the mill and the river")
    report = learn({"web": [str(tmp_path / "a.txt")]}, tmp_path / "t.json", TokenizerTraining(300))
    assert report["measured"][TRAINED]["web"]["on"] in ("sample", "held out")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"weights": {"wbe": 1.0}}, "a weight for wbe, which is no source"),
        ({"weights": {"prose": 0.0}}, "the weight of prose is 0.0"),
        ({"vocab_size": 100}, "a vocabulary of 100 cannot hold"),
        ({"languages": {"wbe": "lang"}}, "a language field for wbe, which is no source"),
        ({"model": "wordpiece"}, "there is no model 'wordpiece'"),
        ({"model": "unigram"}, "a unigram vocabulary is no .json file"),
    ],
)
def test_what_is_refused(change: dict[str, Any], what: str, tmp_path: Path) -> None:
    pattern = write(tmp_path, "prose", PROSE)
    training = TokenizerTraining(**{"vocab_size": 300, **change})
    with pytest.raises(UserError, match=what):
        learn({"prose": [pattern]}, tmp_path / "t.json", training)
    with pytest.raises(UserError, match="nothing to train on"):
        learn({}, tmp_path / "t.json", TRAINING)
    assert not (tmp_path / "t.json").exists()


@given(
    texts=st.lists(st.text(max_size=20), max_size=40),
    budget=st.integers(1, 200),
    cuts=st.lists(st.integers(0, 40), max_size=5),
)
def test_a_sample_ignores_how_texts_come(texts: list[str], budget: int, cuts: list[int]) -> None:
    key = key_for(3)

    def sampled(rows: list[str], borders: list[int]) -> list[bytes]:
        sample = Sample(budget)
        for start, stop in zip([0, *borders], [*borders, len(rows)], strict=True):
            batch = Texts.from_strings(rows[start:stop])
            sample.offer(batch, keys_of(batch, key))
        return list(sample.texts())

    found = sampled(texts, sorted(min(cut, len(texts)) for cut in cuts))
    assert found == sampled(texts[::-1], [])
    # The slow twin: sort by key, take until the budget is reached.
    everything = Texts.from_strings(texts)
    keys = keys_of(everything, key)
    order = sorted(range(len(texts)), key=lambda row: tuple(keys[row].tolist()))
    wanted, size = [], 0
    for row in order:
        if size < budget:
            wanted.append(texts[row].encode())
            size += len(wanted[-1])
    assert [text for text in found if text] == [text for text in wanted if text]


@given(texts=st.lists(st.text(max_size=20), max_size=8), limit=st.integers(1, 12))
def test_beginnings_are_whole_characters(texts: list[str], limit: int) -> None:
    for text, found in zip(texts, beginnings(Texts.from_strings(texts), limit), strict=True):
        data = text.encode()
        assert data.startswith(found) and len(found) <= limit
        assert found == data or len(found) > limit - 4
        found.decode()


@pytest.mark.slow
@pytest.mark.parametrize(("model", "suffix"), [("bpe", ".json"), ("unigram", ".model")])
def test_two_processes(model: str, suffix: str, tmp_path: Path) -> None:
    """Through the command line: the same file, byte for byte."""
    if model == "unigram":
        pytest.importorskip("sentencepiece")
    pattern = write(tmp_path, "prose", PROSE)
    for name in ("one", "two"):
        command = ["train-tokenizer", "--output", f"{name}{suffix}", "--source", f"prose={pattern}"]
        command += ["--vocab-size", "300", "--sample", "10kB", "--model", model]
        command += ["--language-field", "prose=lang"]
        command += ["--compare", f"one{suffix}"] if name == "two" else []
        done = subprocess.run(
            [sys.executable, "-m", "dataprep", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"},
        )
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()
    assert "prose" in done.stdout and f"one{suffix}" in done.stdout and "(none)" in done.stdout
    assert np.isclose(*[each["prose"]["bytes_per_token"] for each in _measured(tmp_path / "two.report.json")])


def _measured(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text())["measured"].values())
