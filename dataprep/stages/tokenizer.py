"""TOKENIZER: trained on the sample or read from a file, and the choice of the engine that will run it.

One task a run. gigatoken encodes only if it gave the ids of the reference on every probed text; the choice
and its reason are in the receipt, in the key of WRITE and in the manifest, and hold for the whole run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dataprep.cache import Cache, Entry, key_of
from dataprep.columns import Texts, concat
from dataprep.recipe import Recipe
from dataprep.recipe.model import PROBE_BYTES
from dataprep.stages import sample
from dataprep.stages.base import Task, input_changed
from dataprep.tokenizers import (
    EngineChoice,
    choose_engine,
    describe,
    strip_special,
    train_bpe,
    train_unigram,
)
from dataprep.tokenizers.files import JSON_FILE, MODEL_FILE, Definition, file_name, read_tokenizer, stored
from dataprep.tokenizers.unigram import BOS_TOKEN
from manifests.errors import UserError
from manifests.files import write_atomic
from manifests.fingerprint import digest_bytes

STAGE = "tokenizer"
VERSION = 1
ENCODING_STEM = "encoding"
"""What the engines load, "encoding.json" or "encoding.model": the tokenizer without its special tokens,
unless the recipe says `special_tokens: parse`."""


def task_of(recipe: Recipe, samples: Sequence[Entry]) -> Task:
    settings = recipe.tokenizer
    file = JSON_FILE
    described: dict[str, Any] = {"special_tokens": settings.special_tokens, "engine": settings.engine}
    payload = dict(described)
    if settings.train is not None:
        train = settings.train.model_dump(mode="json")
        if settings.train.model == "unigram":
            file = MODEL_FILE
            train["bos"] = BOS_TOKEN if settings.prepend_bos else None
        described["train"] = payload["train"] = train
    else:
        definition = read_tokenizer(Path(str(settings.file)))
        file = file_name(definition)
        described["file"] = digest_bytes(stored(definition))
        payload["file"] = str(Path(str(settings.file)).absolute())
        payload["digest"] = described["file"]
    components = {
        "version": VERSION,
        "samples": [entry.key for entry in samples],
        "tokenizer": described,
        "depends": engine_versions(file),
    }
    payload["samples"] = [entry.key for entry in samples]
    return Task("tokenizer", key_of(components), components, payload)


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    texts = concat([sample.load_texts(cache.get(sample.STAGE, key)) for key in payload["samples"]])
    if "train" in payload:
        if texts.num_bytes == 0:
            raise UserError(
                "no document is left to train a tokenizer on",
                hint="run with a tokenizer file or with fewer steps, and read the report",
            )
        definition = _trained(texts, payload["train"])
    else:
        definition = read_tokenizer(Path(payload["file"]))
        if digest_bytes(stored(definition)) != payload["digest"]:
            raise input_changed(payload["file"])
    facts = describe(definition)
    encoding = strip_special(definition, payload["special_tokens"])
    if payload["engine"] == "auto":
        choice = choose_engine(encoding, texts.slice(0, max(1, _count_within(texts, PROBE_BYTES))))
    else:
        choice = EngineChoice(payload["engine"], "the recipe asks for it")
    write_atomic(folder / facts.file, stored(definition))
    write_atomic(folder / encoding_file(facts.file), stored(encoding))
    return {
        "file": facts.file,
        "digest": facts.digest,
        "vocab_size": facts.vocab_size,
        "eos_id": facts.eos_id,
        "bos_id": facts.bos_id,
        "special_tokens": payload["special_tokens"],
        "engine": choice.engine,
        "engine_reason": choice.reason,
        "trained_on": {"documents": len(texts), "text_bytes": texts.num_bytes}
        if "train" in payload
        else None,
    }


def _trained(texts: Texts, train: Mapping[str, Any]) -> Definition:
    if train["model"] == "unigram":
        return train_unigram(texts.to_strings(), train["vocab_size"], bos=train["bos"])
    return train_bpe(texts.to_strings(), train["vocab_size"])


def encoding_file(file: str) -> str:
    """The name of what the engines load, beside the tokenizer that is called `file`."""
    return ENCODING_STEM + Path(file).suffix


def file_of(facts: Mapping[str, Any]) -> str:
    """What the tokenizer of this stage's facts is called; those of older runs don't say."""
    return str(facts.get("file", JSON_FILE))


def engine_versions(file: str) -> dict[str, str]:
    """Of the libraries that the ids of such a tokenizer may come from."""
    reference = ("tokenizers",) if file == JSON_FILE else ("tokenizers", "sentencepiece")
    try:
        return {name: version(name) for name in ("gigatoken", *reference)}
    except PackageNotFoundError:
        raise UserError(
            "a SentencePiece model, and the package that encodes with it is not installed",
            where=file,
            hint="pip install 'headrace[sentencepiece]'",
        ) from None


def _count_within(texts: Any, limit_bytes: int) -> int:
    """How many texts from the first on fit into `limit_bytes`."""
    ends = texts.offsets[1:] - texts.offsets[0]
    return int(ends.searchsorted(limit_bytes, side="right"))
