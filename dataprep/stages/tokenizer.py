"""TOKENIZER: trained on the sample or read from a file, and the choice of the engine that will run it.

One task a run. gigatoken encodes only if it gave the ids of `tokenizers` on every probed text; the choice
and its reason are in the receipt, in the key of WRITE and in the manifest, and hold for the whole run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dataprep.cache import Cache, Entry, key_of
from dataprep.columns import concat
from dataprep.recipe import Recipe
from dataprep.recipe.model import PROBE_BYTES
from dataprep.stages import sample
from dataprep.stages.base import Task, input_changed
from dataprep.tokenizers import EngineChoice, choose_engine, describe, strip_special, train_bpe
from manifests.errors import UserError
from manifests.files import write_atomic
from manifests.fingerprint import digest_bytes

STAGE = "tokenizer"
VERSION = 1
FILE = "tokenizer.json"
ENCODING_FILE = "encoding.json"
"""What the engines load: FILE without its special tokens, unless the recipe says `special_tokens: parse`."""


def task_of(recipe: Recipe, samples: Sequence[Entry]) -> Task:
    settings = recipe.tokenizer
    described: dict[str, Any] = {"special_tokens": settings.special_tokens, "engine": settings.engine}
    payload = dict(described)
    if settings.train is not None:
        described["train"] = payload["train"] = settings.train.model_dump(mode="json")
    else:
        text = read_tokenizer_file(Path(str(settings.file)))
        described["file"] = digest_bytes(text.encode())
        payload["file"] = str(Path(str(settings.file)).absolute())
        payload["digest"] = described["file"]
    components = {
        "version": VERSION,
        "samples": [entry.key for entry in samples],
        "tokenizer": described,
        "depends": engine_versions(),
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
        tokenizer_json = train_bpe(texts.to_strings(), payload["train"]["vocab_size"])
    else:
        tokenizer_json = read_tokenizer_file(Path(payload["file"]))
        if digest_bytes(tokenizer_json.encode()) != payload["digest"]:
            raise input_changed(payload["file"])
    facts = describe(tokenizer_json)
    encoding_json = strip_special(tokenizer_json, payload["special_tokens"])
    if payload["engine"] == "auto":
        choice = choose_engine(encoding_json, texts.slice(0, max(1, _count_within(texts, PROBE_BYTES))))
    else:
        choice = EngineChoice("tokenizers", "the recipe asks for it")
    write_atomic(folder / FILE, tokenizer_json.encode())
    write_atomic(folder / ENCODING_FILE, encoding_json.encode())
    return {
        "digest": digest_bytes(tokenizer_json.encode()),
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


def read_tokenizer_file(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the tokenizer: {error}", where=str(path)) from None
    return text


def engine_versions() -> dict[str, str]:
    return {name: version(name) for name in ("gigatoken", "tokenizers")}


def _count_within(texts: Any, limit_bytes: int) -> int:
    """How many texts from the first on fit into `limit_bytes`."""
    ends = texts.offsets[1:] - texts.offsets[0]
    return int(ends.searchsorted(limit_bytes, side="right"))
