"""Corpora that `dataprep run` made, for the verbs that take one: small, with texts that are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from dataprep.corpora.spec import ImportSpec
from dataprep.recipe import load_recipe
from dataprep.run import run
from tests.dataprep.corpora.tokenfiles import write_tokenizer

WORDS = "word " * 6
TEXTS = {
    "web": [f"Page {n}: the river turns the wheel \u2014 {WORDS[: 5 * (n % 7)]}end." for n in range(60)],
    "code": [f"def f{n}():\n    return '<|endoftext|> {n}' * {n}\n" for n in range(40)],
}


def make_run(
    folder: Path, name: str = "made", texts: dict[str, list[str]] | None = None, **changes: Any
) -> Path:
    """The output folder of a run over JSON lines; `changes` are fields of the recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = TEXTS if texts is None else texts
    for source, lines in texts.items():
        records = [{"text": text, "url": f"{source}-{number}"} for number, text in enumerate(lines)]
        (folder / f"{source}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    recipe = {
        "corpus": name,
        "version": "1.0.0",
        "seed": 5,
        "sources": {
            source: {
                "path": str(folder / f"{source}.jsonl"),
                "id": "url",
                "license": "CC0-1.0",
                "carry": ["url"],
            }
            for source in texts
        },
        "steps": [{"exact_dedup": {}}],
        "tokenizer": {"file": str(write_tokenizer(folder)), "engine": "tokenizers"},
        "holdout": {"documents": 0.1},
        "shards": {"tokens": 600},
        "output": str(folder / "out"),
    } | changes
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False))
    run(load_recipe(path, []), workers=0)
    return folder / "out"


def spec_back(folder: Path, to: str) -> ImportSpec:
    """How to import what a corpus of `make_run` was exported to, in the layout of another tool."""

    def files(subset: str) -> dict[str, list[str]]:
        return {source: [str(folder / f"{source}-{subset}-*")] for source in TEXTS}

    tokenizer, dtype = folder / "tokenizer.json", "uint16" if to == "olmo" else None
    return ImportSpec("back", "1.0.0", tokenizer, files("train"), files("holdout"), dtype=dtype)
