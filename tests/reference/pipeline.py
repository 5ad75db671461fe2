"""Slow twin of a whole run: one document after the other through the steps, in plain Python.

It knows the steps of `tests/dataprep/stages/fake_steps.py`, `where`, `exclude` and `exact_dedup`, the
settings of a source, the hold-out and `max_tokens` (a token is a byte here, and one more ends a document). Of
the stages, their columns and their keys it knows nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference.hashing import mix, murmur

Hash = tuple[int, int]


@dataclass
class Document:
    """One document as read, and what became of it. `reasons` are "step: reason", in order; `seen` is what
    steps measured; a document that stays has an `output` and a `subset`."""

    source: str
    id: str
    raw: str
    kind: str | None
    text: str = ""
    reasons: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    output: str | None = None
    subset: str | None = None
    match: str | None = None

    @property
    def raw_hash(self) -> Hash:
        return murmur(self.raw.encode())

    @property
    def num_bytes(self) -> int:
        return len(self.text.encode())


def interpret(recipe: Mapping[str, Any], documents: Sequence[Document]) -> list[Document]:
    """The documents of all sources in listing order -> those that the sample holds, with their fates."""
    sources = recipe["sources"]
    documents = [each for each in documents if _in_sample(each, sources[each.source].get("sample", 1))]
    for name, source in sources.items():
        _cap(sorted((each for each in documents if each.source == name), key=_by_hash), source)
    for document in documents:
        _walk(document, recipe["steps"])
        document.output = _route(document, sources[document.source].get("route"))
        if document.output is None:
            document.reasons.append("route: not_routed")
    for label, name, options in _labelled(recipe["steps"]):
        if name == "exact_dedup":
            _dedup(documents, label, options, list(sources))
    for document in documents:
        if not document.text:
            document.reasons.append("empty_text: empty_text")
    kept = [each for each in documents if not each.reasons]
    _hold_out(kept, recipe["corpus"], recipe["holdout"]["documents"])
    return documents


def packed(recipe: Mapping[str, Any], documents: Sequence[Document]) -> list[Document]:
    """Those that are in the shards."""
    kept = [each for each in documents if not each.reasons]
    key = _key("shuffle", f"{recipe['corpus']}\0{recipe['seed']}")
    inside = [each for each in kept if each.subset == "holdout"]
    for name, source in recipe["sources"].items():
        mine = [each for each in kept if each.source == name and each.subset == "train"]
        limit = source.get("max_tokens")
        buckets: dict[int, list[Document]] = {}
        for each in mine:
            buckets.setdefault(mix(*each.raw_hash, key)[0] >> 48, []).append(each)
        tokens = 0
        for bucket in sorted(buckets):
            tokens += sum(each.num_bytes + 1 for each in buckets[bucket])
            if limit is not None and tokens > limit:
                break
            inside += buckets[bucket]
    return inside


def _labelled(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    counts: dict[str, int] = {}
    for entry in steps:
        ((name, options),) = entry.items()
        counts[name] = counts.get(name, 0) + 1
        yield name if counts[name] == 1 else f"{name}#{counts[name]}", name, options


def _runs_on(options: Mapping[str, Any], source: str) -> bool:
    return source in options.get("only", [source]) and source not in options.get("except", [])


def _walk(document: Document, steps: Sequence[Mapping[str, Any]]) -> None:
    document.text = document.raw
    alive = True
    for label, name, options in _labelled(steps):
        if not _runs_on(options, document.source):
            continue
        if name == "exact_dedup":
            is_normal = options.get("by") == "normalized_text"
            document.seen[label] = " ".join(document.text.split()) if is_normal else document.text
            continue
        if name.removeprefix("slow_") in ("shout", "last_line"):
            if alive or name not in EXPENSIVE:
                document.text = _rewritten(name, document.text)
            continue
        if name in EXPENSIVE and not alive:
            document.reasons.append(f"{label}: not_measured")
            continue
        reasons = list(_judged(document, name, options))
        document.text = _rewritten(name, document.text)
        document.reasons += [f"{label}: {reason}" for reason in reasons]
        document.seen[label] = document.text[:1]
        alive = alive and not reasons


EXPENSIVE = ("slow_length", "slow_uncomment", "slow_shout", "slow_last_line", "label")


def _judged(document: Document, name: str, options: Mapping[str, Any]) -> Iterator[str]:
    text, name = document.text, name.removeprefix("slow_")
    if name == "length" and len(text) < options.get("min_length", 0):
        yield "too_short"
    if name == "uncomment":
        if options.get("word", "drop") in text:
            yield "bad_word"
        if _rewritten(name, text).count("\n") > options.get("max_lines", 100):
            yield "too_many_lines"
    if name == "where" and document.kind not in options["fields"]["kind"]["in"]:
        yield "where_kind"
    if name == "exclude":
        if document.id in options.get("ids", []):
            yield "excluded_id"
        hashes = [f"{high:016x}{low:016x}" for high, low in (document.raw_hash, murmur(text.encode()))]
        if set(hashes) & set(options.get("hashes", [])):
            yield "excluded_hash"


def _rewritten(name: str, text: str) -> str:
    name = name.removeprefix("slow_")
    if name == "uncomment":
        return "\n".join(line for line in text.split("\n") if not line.startswith("#"))
    return {"shout": text.upper(), "last_line": text.split("\n")[-1]}.get(name, text)


def _key(purpose: str, name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=16, person=purpose.encode()).digest()


def _by_hash(document: Document) -> Hash:
    return document.raw_hash


def _in_sample(document: Document, share: float) -> bool:
    return mix(*document.raw_hash, _key("sample", ""))[0] < share * 2**64


def _cap(documents: Sequence[Document], source: Mapping[str, Any]) -> None:
    total, limit = 0, source.get("max_bytes")
    for document in documents:
        total += len(document.raw.encode())
        if limit is not None and total > limit:
            document.reasons.append("max_bytes: max_bytes")


def _route(document: Document, route: Mapping[str, Any] | None) -> str | None:
    if route is None:
        return document.source
    label = document.seen.get(route["by"].rpartition(".")[0])
    chosen = [made for made, labels in route["to"].items() if label in labels]
    return (chosen or [document.source if route["rest"] == "keep" else None])[0]


def _dedup(
    documents: Sequence[Document], label: str, options: Mapping[str, Any], sources: Sequence[str]
) -> None:
    def rank(document: Document) -> Any:
        ranks = {"source_priority": sources.index(document.source), "longest": -document.num_bytes}
        return [*(ranks[name] for name in options.get("keep", ranks)), document.raw_hash]

    groups: dict[Any, list[Document]] = {}
    for document in documents:
        if not document.reasons and document.text and document.seen.get(label):
            among = document.source if options.get("within") == "source" else ""
            groups.setdefault((among, document.seen[label]), []).append(document)
    for group in groups.values():
        best = min(group, key=rank)  # the first of several
        for document in group:
            if document is not best:
                document.reasons.append(f"{label}: {label}")
                document.match = best.id


def _hold_out(kept: Sequence[Document], corpus: str, share: float) -> None:
    hashes = {
        each.id: mix(*murmur(" ".join(each.text.split()).encode()), _key("holdout", corpus)) for each in kept
    }
    chosen = {value for value in hashes.values() if value[0] < share * 2**64}
    forced = set()
    for output in {each.output for each in kept}:
        mine = [hashes[each.id] for each in kept if each.output == output]
        if share and len(mine) >= 2 and not chosen & set(mine):
            forced.add(min(mine))
    for each in kept:
        each.subset = "holdout" if hashes[each.id] in chosen | forced else "train"
