"""`dataprep train-tokenizer`: a vocabulary from a weighted sample of files, and how good it is.

The sample is the same whatever the order and the cut of the files (sampling.py), and training depends on
the sample alone (train.py, unigram.py), so the same texts, weights and seed give the same bytes. What a
tokenizer is worth is bytes per token on texts that it was not trained on, of each source and each language,
beside other tokenizers on the same texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dataprep.kernels.texts import Offsets, concat
from dataprep.narrate import Narrator
from dataprep.readers.listing import list_inputs
from dataprep.readers.texts import read_texts_with
from dataprep.tokenizers.backends import REFERENCE_BATCH_BYTES, batches, reference_name
from dataprep.tokenizers.encoder import Encoder
from dataprep.tokenizers.files import JSON_FILE, MODEL_FILE, Definition, read_tokenizer, stored
from dataprep.tokenizers.sampling import (
    HELD_OUT_FROM,
    Labels,
    Sample,
    beginnings,
    budgets,
    key_for,
    keys_of,
)
from dataprep.tokenizers.special import describe, strip_special
from dataprep.tokenizers.train import EOS_TOKEN, train_bpe
from dataprep.tokenizers.unigram import train_unigram
from manifests.errors import UserError
from manifests.files import write_atomic
from manifests.fingerprint import digest_bytes

MEASURED_BYTES = 1_000_000
"""Text of each source that bytes per token are counted on."""

TRAINED = "this one"

MODELS = {"bpe": JSON_FILE, "unigram": MODEL_FILE}
"""What can be trained, and what such a file is called in a corpus."""

NO_LANGUAGE = "(none)"
"""The language of a record that names none."""

LANGUAGE_LETTERS = 32
"""What counts of the name of a language; the field may turn out to hold something else."""


@dataclass(frozen=True, slots=True)
class TokenizerTraining:
    """Parameters of a training.

    vocab_size    ids, bytes and the end-of-text token included
    sample_bytes  text to train on, all sources together
    weights       source -> its share of the sample; 1 where none is given
    seed          of the choice of texts
    text          field of the records that holds the text
    eos           the end-of-text token
    model         "bpe", a byte-level tokenizer.json, or "unigram", a SentencePiece model
    languages     source -> field of its records that names the language, for figures of each
    """

    vocab_size: int
    sample_bytes: int = 100_000_000
    weights: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    text: str = "text"
    eos: str = EOS_TOKEN
    model: str = "bpe"
    languages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Source:
    sample: Sample
    held_out: Sample
    unread: int


def learn(
    patterns: Mapping[str, Sequence[str]],
    output: Path,
    training: TokenizerTraining,
    compare: Sequence[Path] = (),
    narrator: Narrator | None = None,
) -> dict[str, Any]:
    """Write a tokenizer to `output`, and what it was made of to `output` with the suffix .report.json; return
    the latter.

    patterns  source -> path patterns of its files
    compare   files of other tokenizers, measured on the same texts

    Memory: about six times the sample, and twenty times for a Unigram vocabulary. Raises UserError: no files,
    a damaged file, weights or languages of unknown sources, and what the training refuses.
    """
    _check(patterns, training, output)
    others = {str(path): read_tokenizer(path) for path in compare}
    shares = budgets([training.weights.get(name, 1.0) for name in patterns], training.sample_bytes)
    sources: dict[str, _Source] = {}
    for (name, each), budget in zip(patterns.items(), shares, strict=True):
        if narrator is not None:
            narrator.line(f"reading {name}")
        sources[name] = _sampled(name, each, budget, training)
    sample = concat([source.sample.texts() for source in sources.values()])
    if narrator is not None:
        narrator.line(f"training on {len(sample):,} texts, {sample.num_bytes:,} bytes")
    train = train_unigram if training.model == "unigram" else train_bpe
    definition = train(sample.to_strings(), training.vocab_size, training.eos)
    write_atomic(output, stored(definition))
    library = reference_name(definition)
    report = {
        "tokenizer": {
            "file": output.name,
            "digest": digest_bytes(stored(definition)),
            "vocab_size": describe(definition, eos=training.eos).vocab_size,
        },
        "training": asdict(training)
        | {"weights": dict(training.weights), "languages": dict(training.languages)},
        "library": {library: version(library)},
        "sources": {name: _described(source) for name, source in sources.items()},
        "measured": _measured({TRAINED: definition, **others}, sources, training.languages),
    }
    write_atomic(
        output.with_suffix(".report.json"), json.dumps(report, indent=2, ensure_ascii=False).encode() + b"\n"
    )
    return report


def _check(patterns: Mapping[str, Sequence[str]], training: TokenizerTraining, output: Path) -> None:
    if not patterns:
        raise UserError("there is nothing to train on", hint="--source NAME=FILES")
    for name, weight in training.weights.items():
        if name not in patterns:
            raise UserError(f"a weight for {name}, which is no source", hint=_sources(patterns))
        if not 0 < weight < float("inf"):
            raise UserError(f"the weight of {name} is {weight}; weights are numbers above 0")
    for name in training.languages:
        if name not in patterns:
            raise UserError(f"a language field for {name}, which is no source", hint=_sources(patterns))
    if training.model not in MODELS:
        raise UserError(f"there is no model {training.model!r}", hint=f"there are {', '.join(MODELS)}")
    other = next(file for model, file in MODELS.items() if model != training.model)
    if output.suffix == Path(other).suffix:
        suffix = Path(MODELS[training.model]).suffix
        raise UserError(
            f"a {training.model} vocabulary is no {output.suffix} file",
            where=str(output),
            hint=f"call it {output.with_suffix(suffix).name}",
        )
    if not output.absolute().parent.is_dir():
        raise UserError("there is no such folder to write the tokenizer to", where=str(output.parent))


def _sources(patterns: Mapping[str, Sequence[str]]) -> str:
    return f"there are {', '.join(patterns)}"


def _sampled(name: str, patterns: Sequence[str], budget_bytes: int, training: TokenizerTraining) -> _Source:
    key = key_for(training.seed)
    sample, held_out, unread = Sample(max(1, budget_bytes)), Sample(MEASURED_BYTES), 0
    field = training.languages.get(name)
    for texts, values, refused in read_texts_with(name, list_inputs(patterns), training.text, field):
        unread += refused
        texts = beginnings(texts)
        keys = keys_of(texts, key)
        apart = keys[:, 0] >= HELD_OUT_FROM
        languages = _languages([None] * len(texts) if values is None else values.to_pylist())
        sample.offer(texts.take(~apart), keys[~apart], languages[~apart])
        held_out.offer(texts.take(apart), keys[apart], languages[apart])
    if not sample.documents:
        why = f" ({unread:,} records are none)" if unread else ""
        raise UserError(f"no document of {name} to train on{why}", where=", ".join(patterns))
    return _Source(sample, held_out, unread)


def _languages(values: Sequence[str | None]) -> Labels:
    return np.array([(value or NO_LANGUAGE)[:LANGUAGE_LETTERS] for value in values], dtype=np.str_)


def _described(source: _Source) -> dict[str, int]:
    sample = source.sample.texts()
    return {
        "documents": source.sample.documents + source.held_out.documents,
        "unread": source.unread,
        "asked_bytes": source.sample.budget_bytes,
        "sampled_documents": len(sample),
        "sampled_bytes": sample.num_bytes,
        "held_out_documents": len(source.held_out.texts()),
    }


def _measured(
    tokenizers: Mapping[str, Definition], sources: Mapping[str, _Source], languages: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Tokenizer -> source -> bytes, tokens and bytes per token, also of each language where a field names
    them. A source without held-out texts is measured on its sample, and says so."""
    measured: dict[str, dict[str, Any]] = {}
    for label, definition in tokenizers.items():
        encoder = Encoder(strip_special(definition, "text"), reference_name(definition), None)
        measured[label] = {}
        for name, source in sources.items():
            held_out = len(source.held_out.texts()) > 0
            chosen = source.held_out if held_out else source.sample
            texts, labels = chosen.texts(), chosen.labels()
            parts = [encoder.encode(batch)[1] for batch in batches(texts, REFERENCE_BATCH_BYTES)]
            tokens = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
            measured[label][name] = {
                **_figures(texts.lengths, tokens),
                "on": "held out" if held_out else "sample",
            }
            if name in languages:
                measured[label][name]["languages"] = {
                    str(language): _figures(texts.lengths[labels == language], tokens[labels == language])
                    for language in np.unique(labels)
                }
    return measured


def _figures(lengths: Offsets, tokens: Offsets) -> dict[str, Any]:
    """Of texts, from the bytes and the tokens of each."""
    num_bytes, num_tokens = int(lengths.sum()), int(tokens.sum())
    return {
        "bytes": num_bytes,
        "tokens": num_tokens,
        "bytes_per_token": round(num_bytes / num_tokens, 4) if num_tokens else None,
    }


def print_learned(report: Mapping[str, Any], console: Console) -> None:
    """The sample of each source, and bytes per token of each tokenizer; under it each of its languages."""
    table = Table(title="bytes per token, on texts that were not trained on", title_justify="left")
    table.add_column("source")
    for column in ("trained on", *report["measured"]):
        table.add_column(column, justify="right", overflow="fold")
    for name, counts in report["sources"].items():
        figures = [each[name] for each in report["measured"].values()]
        mark = "" if figures[0]["on"] == "held out" else " *"
        table.add_row(name + mark, f"{counts['sampled_bytes']:,} bytes", *map(_shown, figures))
        for language in figures[0].get("languages", ()):
            table.add_row(f"  {language}", "", *(_shown(each["languages"][language]) for each in figures))
    console.print(table)
    if any(each["on"] == "sample" for each in report["measured"][TRAINED].values()):
        console.print("* too few texts to keep some apart: measured on those that were trained on")
    short = [
        name for name, each in report["sources"].items() if each["sampled_bytes"] < each["asked_bytes"] * 0.99
    ]
    if short:
        console.print(f"less text than asked for in {', '.join(short)}: its share is smaller than its weight")


def _shown(figures: Mapping[str, Any]) -> str:
    per_token = figures["bytes_per_token"]
    return "-" if per_token is None else f"{per_token:.3f}"
