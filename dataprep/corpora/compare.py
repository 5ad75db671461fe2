"""`dataprep diff`: what differs between two corpora, from their recipes down to single documents.

Documents are told apart by content hash: a document that moved to another shard is the same, one whose text
changed was removed and added. Counts are of copies, so a document that is there twice and then once was
removed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rich.console import Console
from rich.text import Text

from dataprep.corpora.tables import hashes_of, inputs_of, table_of
from dataprep.narrate import printable
from manifests.corpus import Corpus, open_corpus
from manifests.fields import SUBSETS
from manifests.manifest import Manifest, Subset

SHOWN = 5
"""Documents and files of each kind that are named."""

Hashes = npt.NDArray[np.uint64]


def compare(left: Path, right: Path) -> dict[str, Any]:
    """Return what differs: `identical` (the same tokens), `recipe`, `tokenizer`, `evals`, `packings`,
    `inputs`, `sources` and `steps`.

    Memory: 60 bytes for each document of the largest source of both. Raises UserError.
    """
    a, b = open_corpus(left), open_corpus(right)
    return {
        "left": f"{a.manifest.corpus}@{a.manifest.version}",
        "right": f"{b.manifest.corpus}@{b.manifest.version}",
        "identical": a.manifest.content_digest == b.manifest.content_digest,
        "tokenizer": _changes(a.manifest.tokenizer.model_dump(), b.manifest.tokenizer.model_dump()),
        "recipe": _changes(a.manifest.lineage.recipe, b.manifest.lineage.recipe),
        "tools": _changes(a.manifest.lineage.tools, b.manifest.lineage.tools),
        "evals": _changes(_evals(a.manifest), _evals(b.manifest)),
        "packings": _changes(_packings(a.manifest), _packings(b.manifest)),
        "inputs": _input_changes(a, b),
        "steps": _step_changes(a.manifest, b.manifest),
        "sources": [
            _source_changes(a, b, source, subset)
            for source in dict.fromkeys([*a.manifest.sources, *b.manifest.sources])
            for subset in SUBSETS
            if _counts(a.manifest, source, subset) or _counts(b.manifest, source, subset)
        ],
    }


def _evals(manifest: Manifest) -> dict[str, Any]:
    """Evaluation sets that a corpus was checked against, by name."""
    found: dict[str, list[Any]] = {}
    for each in manifest.lineage.evals:
        found.setdefault(each.name, []).append(each.model_dump(exclude={"name"}))
    return found


def _packings(manifest: Manifest) -> dict[str, Any]:
    """The plans of packed rows, by length: no part of the tokens, but of what a run is trained on."""
    return {
        str(each.sequence_length): {"version": each.version, "digest": each.digest}
        for each in manifest.packings
    }


def _changes(left: Any, right: Any) -> list[dict[str, Any]]:
    """Dotted name, value before and value now of every leaf that differs; null where there is none."""
    before, now = dict(_leaves(left)), dict(_leaves(right))
    return [
        {"field": name, "left": before.get(name), "right": now.get(name)}
        for name in dict.fromkeys([*before, *now])
        if name not in before or name not in now or before[name] != now[name]
    ]


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{name}.{index}")
    elif name:  # nothing at all has no leaf
        yield name, value


def _input_changes(a: Corpus, b: Corpus) -> dict[str, Any]:
    before, now = inputs_of(a), inputs_of(b)
    both = [place for place in before if place in now]
    kinds = {
        "added": [place for place in now if place not in before],
        "removed": [place for place in before if place not in now],
        "changed": [place for place in both if before[place].digest != now[place].digest],
    }
    return {
        kind: {"files": len(found), "shown": [f"{source}: {name}" for source, name in found[:SHOWN]]}
        for kind, found in kinds.items()
    }


def _step_changes(a: Manifest, b: Manifest) -> list[dict[str, Any]]:
    """Steps whose counts or drop reasons differ for a source, by the name and place of the step."""
    before, now = _steps(a), _steps(b)
    return [
        {"step": name, "source": source, "left": before.get((name, source)), "right": now.get((name, source))}
        for name, source in dict.fromkeys([*before, *now])
        if before.get((name, source)) != now.get((name, source))
    ]


def _steps(manifest: Manifest) -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for step in manifest.lineage.steps:
        for source, documents_in in step.documents_in.items():
            found[step.name, source] = {
                "documents_in": documents_in,
                "documents_out": step.documents_out.get(source, 0),
                "dropped": dict(step.dropped.get(source, {})),
            }
    return found


def _counts(manifest: Manifest, source: str, subset: str) -> Subset | None:
    described = manifest.sources.get(source)
    found = described.subsets.get(subset) if described else None
    return found if found is not None and found.documents else None


def _source_changes(a: Corpus, b: Corpus, source: str, subset: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"source": source, "subset": subset}
    for side, corpus in (("left", a), ("right", b)):
        counts = _counts(corpus.manifest, source, subset)
        shown[side] = None if counts is None else counts.model_dump()
    kinds = {
        corpus.manifest.sources[source].content_hash for corpus in (a, b) if source in corpus.manifest.sources
    }
    if len(kinds) > 1:
        return shown | {"documents": None}  # hashes of texts and of tokens say nothing about each other
    before, now = _hashes(a, source, subset), _hashes(b, source, subset)
    removed, added = difference(before, now)
    return shown | {
        "documents": {
            "same": len(before) - removed.size,
            "removed": removed.size,
            "added": added.size,
            "removed_shown": _named(a, source, subset, removed[:SHOWN]),
            "added_shown": _named(b, source, subset, added[:SHOWN]),
        }
    }


def _hashes(corpus: Corpus, source: str, subset: str) -> Hashes:
    known = source in corpus.manifest.sources
    return hashes_of(corpus, source, subset) if known else np.zeros((0, 2), np.uint64)


def difference(before: Hashes, now: Hashes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of `before` [n, 2] that `now` lacks and rows of `now` [m, 2] that `before` lacks, each
    ascending; of a value that is there a times and b times, a - b rows or b - a, the last ones."""
    both = np.concatenate([before, now])
    if not len(both):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((both[:, 1], both[:, 0]))  # stable: rows of `before` first among equals
    ordered = both[order]
    starts = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
    is_before = order < len(before)
    count = np.diff(np.append(starts, order.size))
    of_before = np.add.reduceat(is_before.astype(np.int64), starts)
    of_now = count - of_before
    group = np.repeat(np.arange(starts.size), count)
    place = np.arange(order.size) - starts[group]
    missing = is_before & (place >= of_now[group])
    extra = ~is_before & (place - of_before[group] >= of_before[group])
    return np.sort(order[missing]), np.sort(order[extra] - len(before))


def _named(corpus: Corpus, source: str, subset: str, rows: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """Id, path, position and hash of documents by their number in a source's subset."""
    found: list[dict[str, Any]] = []
    before = 0
    for shard in corpus.shards_of(source, subset) if rows.size else ():
        mine = rows[(rows >= before) & (rows < before + shard.documents)] - before
        before += shard.documents
        if mine.size:
            table = table_of(corpus, shard, ["id", "path", "position", "content_hash"]).take(pa.array(mine))
            found += [{**row, "content_hash": row["content_hash"].hex()} for row in table.to_pylist()]
    return found


def print_difference(found: Mapping[str, Any], console: Console) -> None:
    """Print what `compare` found."""
    same = "the same tokens" if found["identical"] else "other tokens"
    console.print(Text(f"{found['left']} and {found['right']}: {same}", style="bold"))
    for part in ("recipe", "tokenizer", "tools", "evals", "packings"):
        for change in found[part]:
            line = f"  {part}.{change['field']}: {_shown(change['left'])} -> {_shown(change['right'])}"
            console.print(Text(printable(line)))
    for kind, files in found["inputs"].items():
        if files["files"]:
            console.print(
                Text(printable(f"  {files['files']:,} input files {kind}: {', '.join(files['shown'])}"))
            )
    for step in found["steps"]:
        sides = " -> ".join(_step_shown(step[side]) for side in ("left", "right"))
        console.print(Text(printable(f"  step {step['step']}, {step['source']}: {sides}")))
    for each in found["sources"]:
        _print_source(each, console)


def _print_source(each: Mapping[str, Any], console: Console) -> None:
    sides = [each[side] or {"documents": 0, "tokens": 0} for side in ("left", "right")]
    counts = ", ".join(f"{sides[0][what]:,} -> {sides[1][what]:,} {what}" for what in ("documents", "tokens"))
    console.print(Text(f"  {each['source']} {each['subset']}: {counts}", style="bold"))
    documents = each["documents"]
    if documents is None:
        what = "hashed by text in one and by tokens in the other, so documents were not compared"
        console.print(Text(f"    {what}"))
        return
    parts = (("same", "the same"), ("removed", "removed"), ("added", "added"))
    line = ", ".join(f"{documents[kind]:,} {words}" for kind, words in parts)
    console.print(Text(f"    {line}"))
    for sign, kind in (("-", "removed"), ("+", "added")):
        for row in documents[f"{kind}_shown"]:
            name = f"{row['id']}, " if row["id"] is not None else ""
            line = f"    {sign} {name}{row['path']}:{row['position']} ({row['content_hash']})"
            console.print(Text(printable(line), style="red" if sign == "-" else "green"))


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def _step_shown(counts: Mapping[str, Any] | None) -> str:
    if counts is None:
        return "not there"
    return f"{counts['documents_in']:,} to {counts['documents_out']:,}"
