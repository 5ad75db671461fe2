"""`dataprep train-tokenizer`: a byte-level BPE vocabulary from a weighted sample of files, and how good it
is.

The sample is the same whatever the order and the cut of the files (sampling.py), and training depends on
the sample alone (train.py), so the same texts, weights and seed give the same bytes. What a tokenizer is
worth is bytes per token on texts that it was not trained on, beside other tokenizers on the same texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from dataprep.kernels.texts import concat
from dataprep.narrate import Narrator
from dataprep.readers.listing import list_inputs
from dataprep.readers.texts import read_texts
from dataprep.tokenizers.backends import REFERENCE_BATCH_BYTES, batches, reference_name
from dataprep.tokenizers.encoder import Encoder
from dataprep.tokenizers.files import Definition, read_tokenizer
from dataprep.tokenizers.sampling import HELD_OUT_FROM, Sample, beginnings, budgets, key_for, keys_of
from dataprep.tokenizers.special import describe, strip_special
from dataprep.tokenizers.train import EOS_TOKEN, train_bpe
from manifests.errors import UserError
from manifests.files import write_atomic
from manifests.fingerprint import digest_bytes

MEASURED_BYTES = 1_000_000
"""Text of each source that bytes per token are counted on."""

TRAINED = "this one"


@dataclass(frozen=True, slots=True)
class TokenizerTraining:
    """Parameters of a training.

    vocab_size    ids, bytes and the end-of-text token included
    sample_bytes  text to train on, all sources together
    weights       source -> its share of the sample; 1 where none is given
    seed          of the choice of texts
    text          field of the records that holds the text
    eos           the end-of-text token
    """

    vocab_size: int
    sample_bytes: int = 100_000_000
    weights: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    text: str = "text"
    eos: str = EOS_TOKEN


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
    """Write a tokenizer.json to `output`, and what it was made of to `output` with the suffix .report.json;
    return the latter.

    patterns  source -> path patterns of its files
    compare   files of other tokenizers, measured on the same texts

    Memory: about six times the sample. Raises UserError: no files, a damaged file, weights of unknown
    sources.
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
    tokenizer_json = train_bpe(sample.to_strings(), training.vocab_size, training.eos)
    write_atomic(output, tokenizer_json.encode())
    report = {
        "tokenizer": {
            "file": output.name,
            "digest": digest_bytes(tokenizer_json.encode()),
            "vocab_size": describe(tokenizer_json, eos=training.eos).vocab_size,
        },
        "training": asdict(training) | {"weights": dict(training.weights)},
        "library": {"tokenizers": version("tokenizers")},
        "sources": {name: _described(source) for name, source in sources.items()},
        "measured": _measured({TRAINED: tokenizer_json, **others}, sources),
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
            known = ", ".join(patterns)
            raise UserError(f"a weight for {name}, which is no source", hint=f"there are {known}")
        if not 0 < weight < float("inf"):
            raise UserError(f"the weight of {name} is {weight}; weights are numbers above 0")
    if not output.absolute().parent.is_dir():
        raise UserError("there is no such folder to write the tokenizer to", where=str(output.parent))


def _sampled(name: str, patterns: Sequence[str], budget_bytes: int, training: TokenizerTraining) -> _Source:
    key = key_for(training.seed)
    sample, held_out, unread = Sample(max(1, budget_bytes)), Sample(MEASURED_BYTES), 0
    for texts, refused in read_texts(name, list_inputs(patterns), training.text):
        unread += refused
        texts = beginnings(texts)
        keys = keys_of(texts, key)
        apart = keys[:, 0] >= HELD_OUT_FROM
        sample.offer(texts.take(~apart), keys[~apart])
        held_out.offer(texts.take(apart), keys[apart])
    if not sample.documents:
        why = f" ({unread:,} records are none)" if unread else ""
        raise UserError(f"no document of {name} to train on{why}", where=", ".join(patterns))
    return _Source(sample, held_out, unread)


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
    tokenizers: Mapping[str, Definition], sources: Mapping[str, _Source]
) -> dict[str, dict[str, Any]]:
    """Tokenizer -> source -> bytes, tokens and bytes per token. A source without held-out texts is measured
    on its sample, and says so."""
    measured: dict[str, dict[str, Any]] = {}
    for label, definition in tokenizers.items():
        encoder = Encoder(strip_special(definition, "text"), reference_name(definition), None)
        measured[label] = {}
        for name, source in sources.items():
            held_out = source.held_out.texts()
            texts = held_out if len(held_out) else source.sample.texts()
            tokens = sum(encoder.encode(batch)[0].size for batch in batches(texts, REFERENCE_BATCH_BYTES))
            measured[label][name] = {
                "bytes": texts.num_bytes,
                "tokens": tokens,
                "bytes_per_token": round(texts.num_bytes / tokens, 4) if tokens else None,
                "on": "held out" if len(held_out) else "sample",
            }
    return measured


def print_learned(report: Mapping[str, Any], console: Console) -> None:
    """The sample of each source, and bytes per token of each tokenizer."""
    table = Table(title="bytes per token, on texts that were not trained on", title_justify="left")
    table.add_column("source")
    for column in ("trained on", *report["measured"]):
        table.add_column(column, justify="right", overflow="fold")
    for name, counts in report["sources"].items():
        figures = [each[name] for each in report["measured"].values()]
        shown = [
            "-" if each["bytes_per_token"] is None else f"{each['bytes_per_token']:.3f}" for each in figures
        ]
        mark = "" if figures[0]["on"] == "held out" else " *"
        table.add_row(name + mark, f"{counts['sampled_bytes']:,} bytes", *shown)
    console.print(table)
    if any(each["on"] == "sample" for each in report["measured"][TRAINED].values()):
        console.print("* too few texts to keep some apart: measured on those that were trained on")
    short = [
        name for name, each in report["sources"].items() if each["sampled_bytes"] < each["asked_bytes"] * 0.99
    ]
    if short:
        console.print(f"less text than asked for in {', '.join(short)}: its share is smaller than its weight")
