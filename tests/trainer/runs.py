"""Tiny runs for tests: a corpus of three sources, a config for it, and what a run left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from manifests.corpus import open_corpus
from manifests.fingerprint import digest_file
from manifests.seal import seal_corpus
from tests.manifests.corpora import Part, make_corpus
from trainer import checkpoint
from trainer.config import TrainConfig
from trainer.progress import Silent
from trainer.train import RunResult, train

WEIGHTS = {"code": 0.5, "prose": 0.3, "licences": 0.2}


def tiny_corpus(folder: Path, *, corpus: str = "tiny", seed: int = 0) -> Path:
    """Three sources of some 700, 300 and 200 training tokens in documents of 1 to 40."""
    lengths = np.random.default_rng(9).integers(1, 40, 60).tolist()
    parts = [
        Part("code", "train", lengths[:20]),
        Part("code", "train", lengths[20:34]),
        Part("prose", "train", lengths[34:50]),
        Part("licences", "train", lengths[50:60]),
        Part("code", "holdout", (6,)),
    ]
    make_corpus(folder, parts, corpus=corpus, vocab_size=50, seed=seed, packed=(8, 16))
    return folder


def change_tokenizer(folder: Path) -> Path:
    """Seal a corpus again with another tokenizer."""
    corpus = open_corpus(folder)
    (folder / "tokenizer.json").write_bytes(b"{ }")
    digest = digest_file(folder / "tokenizer.json").digest
    tokenizer = corpus.manifest.tokenizer.model_copy(update={"digest": digest})
    seal_corpus(folder, corpus.manifest.model_copy(update={"tokenizer": tokenizer}), corpus.shards)
    return folder


def tiny_config(folder: Path, **changes: Any) -> TrainConfig:
    """A config on folder/corpus (made if absent) with run folder folder/run; `a__b` stands for a.b."""
    if not (folder / "corpus").exists():
        tiny_corpus(folder / "corpus")
    values: dict[str, Any] = {
        "run": str(folder / "run"),
        "seed": 7,
        "data": {
            "manifests": [str(folder / "corpus")],
            "max_epochs": {"default": 50},
            "phases": [{"start": 0, "sequence_length": 16, "weights": WEIGHTS}],
        },
        "batch": {"rows": 5, "micro_rows": 2},
        "steps": 8,
        "model": {"dim": 16, "layers": 2, "heads": 2, "kv_heads": 1, "dropout": 0.1},
        "optimizer": {"lr": 0.01},
        "schedule": {"warmup_steps": 2},
        "checkpoint": {"every": 3},
        "device": "cpu",
        "timeout_seconds": 60,
    }
    for key, value in changes.items():
        place = values
        *parents, last = key.split("__")
        for parent in parents:
            place = place[parent]
        place[last] = value
    return TrainConfig.model_validate(values)


class Listener(Silent):
    """Keeps what a run says, and calls `at` (step -> None) after each step."""

    def __init__(self, at: Any = None) -> None:
        self.said: list[str] = []
        self.at = at

    def say(self, text: str) -> None:
        self.said.append(text)

    def step(self, metrics: Any) -> None:
        if self.at is not None:
            self.at(metrics.step)


def run(config: TrainConfig, **options: Any) -> RunResult:
    result = train(config, workers=1, narrator=Listener(), **options)
    assert result is not None
    return result


def lines(folder: Path, name: str = "ledger.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def chained(folder: Path) -> list[dict[str, Any]]:
    """The lines of a ledger without what is not proven (losses)."""
    return [{key: value for key, value in line.items() if key != "outside"} for line in lines(folder)]


def losses(folder: Path) -> dict[int, float]:
    """The last loss recorded for each step."""
    return {line["step"]: line["loss"] for line in lines(folder, "metrics.jsonl")}


def weights(folder: Path, step: int) -> dict[str, torch.Tensor]:
    found = checkpoint.verify(folder / "checkpoints" / checkpoint.step_name(step))
    loaded: dict[str, torch.Tensor] = found.load("weights", torch.device("cpu"))
    return loaded


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
