"""`dataprep lineage`: from a corpus, or one of its shards, back to the raw files, as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from rich.console import Console
from rich.text import Text

from dataprep.corpora.tables import inputs_of, table_of
from dataprep.narrate import printable
from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.lists import Shard
from manifests.wording import did_you_mean

SHOWN_FILES = 20
"""Input files of a shard that are printed; `--json` has all."""


def lineage(path: Path, shard: str | None = None) -> dict[str, Any]:
    """Return the corpus, its recipe and parents, and per source its steps and shards, or only one shard
    with the input files that its documents came from. Reads the document table of that shard. Raises
    UserError."""
    corpus = open_corpus(path)
    manifest = corpus.manifest
    shards = list(corpus.shards) if shard is None else [_named(corpus, shard)]
    return {
        "corpus": f"{manifest.corpus}@{manifest.version}",
        "content_digest": manifest.content_digest,
        "created_by": manifest.created_by,
        "tokenizer": {"digest": manifest.tokenizer.digest, "engine": manifest.tokenizer.engine},
        "recipe_digest": manifest.lineage.recipe_digest,
        "made_by": _made_by(manifest.lineage.recipe),
        "parents": list(manifest.lineage.parents),
        "tools": dict(manifest.lineage.tools),
        "sources": [
            _source(corpus, name, [each for each in shards if each.source == name], shard is not None)
            for name in manifest.sources
            if any(each.source == name for each in shards)
        ],
    }


def _made_by(recipe: Mapping[str, Any]) -> str:
    return next((verb for verb in ("import", "combine") if list(recipe) == [verb]), "run")


def _named(corpus: Corpus, name: str) -> Shard:
    named = {each.name: each for each in corpus.shards}
    if name not in named:
        raise UserError(
            (f"there is no shard {name}{did_you_mean(name, list(named)[:1000])}"), where=str(corpus.folder)
        )
    return named[name]


def _source(corpus: Corpus, name: str, shards: Sequence[Shard], with_inputs: bool) -> dict[str, Any]:
    described = corpus.manifest.sources[name]
    steps = [
        {
            "name": step.name,
            "version": step.version,
            "documents_in": step.documents_in[name],
            "documents_out": step.documents_out[name],
            "dropped": step.dropped.get(name, {}),
        }
        for step in corpus.manifest.lineage.steps
        if name in step.documents_in
    ]
    files = inputs_of(corpus)
    return {
        "source": name,
        "license": described.license,
        "inputs": sum(source == name for source, _ in files),
        "steps": steps,
        "shards": [
            {
                "name": each.name,
                "subset": each.subset,
                "documents": each.documents,
                "tokens": each.tokens,
                "bin_sha256": each.bin_sha256,
                "inputs": _inputs(corpus, each) if with_inputs else None,
            }
            for each in shards
        ],
    }


def _inputs(corpus: Corpus, shard: Shard) -> list[dict[str, Any]]:
    """The files that the documents of a shard came from, by name."""
    files = inputs_of(corpus)
    column = table_of(corpus, shard, ["path"]).column("path")
    counts = {each["values"]: each["counts"] for each in pc.value_counts(column).to_pylist()}
    found = []
    for name in sorted(counts):
        entry = files.get((shard.source, name))
        found.append(
            {
                "name": name,
                "documents": counts[name],
                "size_bytes": None if entry is None else entry.size_bytes,
                "digest": None if entry is None else entry.digest,
            }
        )
    return found


Branch = tuple[str, list["Branch"]]
"""A line and what hangs below it."""


def print_lineage(found: Mapping[str, Any], console: Console) -> None:
    """Print what `lineage` found, as a tree."""
    top: list[Branch] = [
        (f"made by {found['created_by']}, {found['made_by']}, recipe {found['recipe_digest']}", []),
        (f"tokenizer {found['tokenizer']['digest']}", []),
        *((f"from {parent}", []) for parent in found["parents"]),
        *(_source_branch(source) for source in found["sources"]),
    ]
    console.print(Text(printable(f"{found['corpus']}  {found['content_digest']}"), style="bold"))
    for line in _lines(top, ""):
        console.print(Text(printable(line)))


def _lines(branches: Sequence[Branch], before: str) -> Iterator[str]:
    for place, (line, below) in enumerate(branches):
        last = place == len(branches) - 1
        yield f"{before}{'└── ' if last else '├── '}{line}"
        yield from _lines(below, before + ("    " if last else "│   "))


def _source_branch(source: Mapping[str, Any]) -> Branch:
    licence = "" if source["license"] is None else f", licence {source['license']}"
    steps: list[Branch] = [
        (f"{step['name']} {step['version']}: {step['documents_in']:,} -> {step['documents_out']:,}", [])
        for step in source["steps"]
    ]
    shards = [_shard_branch(shard) for shard in source["shards"]]
    return f"{source['source']}: {source['inputs']:,} input files{licence}", [*steps, *shards]


def _shard_branch(shard: Mapping[str, Any]) -> Branch:
    inputs = shard["inputs"] or ()
    below: list[Branch] = []
    for entry in inputs[:SHOWN_FILES]:
        known = entry["size_bytes"] is not None
        size = f", {entry['size_bytes']:,} bytes, {entry['digest']}" if known else ""
        below.append((f"{entry['name']}: {entry['documents']:,} documents{size}", []))
    if len(inputs) > SHOWN_FILES:
        below.append((f"and {len(inputs) - SHOWN_FILES:,} more files", []))
    return f"{shard['name']}: {shard['documents']:,} documents, {shard['tokens']:,} tokens", below
