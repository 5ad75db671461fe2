"""Small inputs and recipes for end-to-end tests: deterministic, English enough for the quality rules."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from dataprep.recipe import Recipe, load_recipe
from dataprep.run import RunResult, run

WORDS = """
the be to of and that have with river stone water mill wheel channel morning light garden letter
window winter summer village market bridge harbour captain sailor mountain valley forest meadow
silver copper engine machine paper printer reader writer teacher student question answer history
science number figure measure weight length carries brings keeps finds makes takes gives shows turns
holds old young small large quiet bright heavy narrow
""".split()  # noqa: SIM905

STAMP = {"tests.e2e.stamped:stamp": {"version": 1, "does": "transform", "only": ["notes"]}}
"""An expensive step that rewrites."""


def sentence(seed: str, words: int = 12) -> str:
    digest = hashlib.blake2b(seed.encode(), digest_size=64).digest()
    chosen = [WORDS[byte % len(WORDS)] for byte in digest[:words]]
    return f"{chosen[0].capitalize()} the {' '.join(chosen[1:])} of that."


def document(seed: str, sentences: int = 8) -> str:
    """About 110 words that pass gopher_quality; equal seeds give equal texts."""
    return " ".join(sentence(f"{seed}/{index}") for index in range(sentences))


def books() -> list[str]:
    """Twelve, of which the last two are near-duplicates of the first two, and longer."""
    first = [document(f"book {index}", 20) for index in range(10)]
    return [*first, f"{first[0]} At last.", f"Indeed. {first[1]}"]


def write_inputs(folder: Path, documents: int = 60) -> None:
    """JSON lines plain and gzipped, Parquet, and text files, with exact copies within and between them."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [
        {"url": f"u{index}", "content": document(f"web {index % (documents - 5)}")}
        for index in range(documents)
    ]
    half = documents // 2
    lines = [json.dumps(record) + "\n" for record in records]
    (folder / "web-0.jsonl").write_text("".join(lines[:half]))
    with gzip.GzipFile(folder / "web-1.jsonl.gz", "wb", mtime=0) as file:
        file.write("".join(lines[half:]).encode())
    table = pa.table({"text": [*books(), document("web 3"), "short"]})
    pq.write_table(table, folder / "books.parquet", row_group_size=5)
    notes = folder / "notes"
    notes.mkdir(exist_ok=True)
    for index in range(20):
        (notes / f"note-{index:02d}.txt").write_text(document(f"note {index}", 6) + "\n")


def recipe_data(folder: Path, **changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = {
        "corpus": "small",
        "version": "1.0.0",
        "seed": 17,
        "sources": {
            "web": {
                "path": str(folder / "in" / "web-*.jsonl*"),
                "text": "content",
                "id": "url",
                "license": "CC0-1.0",
            },
            "books": {"path": str(folder / "in" / "*.parquet")},
            "notes": {"path": str(folder / "in" / "notes" / "*.txt"), "format": "text"},
        },
        "steps": [
            {"normalize": {}},
            {"gopher_quality": {"except": ["notes"]}},
            STAMP,
            {"exact_dedup": {}},
            {"minhash_dedup": {}},
        ],
        # Comparing the engines takes seconds; the tests of the command line and of workers do it.
        "tokenizer": {"train": {"vocab_size": 600}, "engine": "tokenizers"},
        "holdout": {"documents": 0.05},
        "shards": {"tokens": 5000},
        "output": str(folder / "out"),
    }
    return data | changes


def write_recipe(folder: Path, data: Mapping[str, Any] | None = None, name: str = "recipe.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(dict(data or recipe_data(folder)), sort_keys=False))
    return path


def make_recipe(folder: Path, **changes: Any) -> Recipe:
    return load_recipe(write_recipe(folder, recipe_data(folder, **changes)))


def again(folder: Path, **changes: Any) -> RunResult:
    """Run the recipe of `recipe_data`, changed, in this process."""
    return run(make_recipe(folder, **changes), workers=0)


def digests(folder: Path) -> dict[str, str]:
    """sha256 of every visible file of a corpus."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".")
    }
