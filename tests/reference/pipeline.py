"""Slow twin of a whole run: one document after the other through the steps, in plain Python.

It knows the steps of `tests/dataprep/stages/fake_steps.py`, `where`, `exclude`, the deduplications (of units
`line_dedup` alone), the settings of a source, the hold-out and `max_tokens` (a token is a byte here, and one
more ends a document). Of the stages, their columns and their keys it knows nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference import substrings, units
from tests.reference.hashing import mix, murmur
from tests.reference.independent import independent
from tests.reference.lines import resolve_units
from tests.reference.shingles import jaccard_ppm, plain_words, shingles

Hash = tuple[int, int]


@dataclass
class Document:
    """One document as read, and what became of it. `reasons` are "step: reason", in order; `seen` is what
    steps measured; a document that stays has an `output` and a `subset`. `match` is the document that stays
    in the place of a removed one, `similarity_ppm` how similar they are. `was_cut`: it lost something that
    others say too."""

    source: str
    id: str
    raw: str
    kind: str | None
    text: str = ""
    reasons: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    output: str | None = None
    subset: str | None = None
    match: Document | None = None
    similarity_ppm: int = 0
    cluster_size: int = 1
    alive: bool = True
    was_cut: bool = False

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
        document.text = document.raw
    for label, name, options in _labelled(recipe["steps"]):
        mine = [each for each in documents if _runs_on(options, each.source)]
        if name in CUTTING:
            _cut(mine, label, name, options, list(sources))
            continue
        for document in mine:
            _walk(document, label, name, options)
    for document in documents:
        document.output = _route(document, sources[document.source].get("route"))
        if document.output is None:
            document.reasons.append("route: not_routed")
    for decision in ("exact_dedup", "minhash_dedup"):
        for label, name, options in _labelled(recipe["steps"]):
            if name == decision:
                _dedup(documents, label, name, options, list(sources))
    for document in documents:
        if not document.text:
            document.reasons.append("empty_text: empty_text")
    kept = [each for each in documents if not each.reasons]
    for document in documents:
        while document.match is not None and document.match.match is not None:
            document.similarity_ppm = document.match.similarity_ppm
            document.match = document.match.match
        if document.match in kept:
            document.match.cluster_size += 1
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


def _walk(document: Document, label: str, name: str, options: Mapping[str, Any]) -> None:
    if name == "exact_dedup":
        by = options.get("by", "text")
        normal = " ".join(document.text.split())
        document.seen[label] = {"text": document.text, "normalized_text": normal}.get(
            str(by), document.kind or ""
        )
        return
    if name == "minhash_dedup":
        document.seen[label] = document.text
        return
    if name.removeprefix("slow_") in ("shout", "last_line"):
        if document.alive or name not in EXPENSIVE:
            document.text = _rewritten(name, document.text)
        return
    if name in EXPENSIVE and not document.alive:
        document.reasons.append(f"{label}: not_measured")
        return
    reasons = list(_judged(document, name, options))
    document.text = _rewritten(name, document.text)
    document.reasons += [f"{label}: {reason}" for reason in reasons]
    document.seen[label] = document.text[:1]
    document.alive = document.alive and not reasons


CUTTING = ("line_dedup", "substring_dedup")
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


def _best_first(
    documents: Sequence[Document], options: Mapping[str, Any], sources: Sequence[str], is_final: bool
) -> list[Document]:
    """By `keep`, lengths being those of the text that is tokenized, or as read; those without text last."""

    def rank(document: Document) -> Any:
        text = (document.text if is_final else document.raw).encode()
        ranks: list[Any] = [not text]
        for key in options.get("keep", ["source_priority", "longest"]):
            if isinstance(key, dict):
                value, sign = (document.kind or "").encode(), 1 if "first" in key else -1
                ranks.append((not value, [sign * byte for byte in value]))
            else:
                sizes = {"longest": -len(text), "shortest": len(text)}
                ranks.append({"source_priority": sources.index(document.source), **sizes}[key])
        return [*ranks, document.raw_hash, sources.index(document.source), murmur(document.id.encode())[0]]

    return sorted(documents, key=rank)


def _among(document: Document, options: Mapping[str, Any]) -> str:
    within = options.get("within", "corpus")
    if within == "corpus":
        return ""
    return document.source if within == "source" else document.kind or ""


def _cut(
    documents: Sequence[Document], label: str, name: str, options: Mapping[str, Any], sources: Sequence[str]
) -> None:
    """Take out of texts what better documents, or the same one earlier, have too."""
    population = _best_first([each for each in documents if not each.reasons], options, sources, False)
    cut = _lines if name == "line_dedup" else _passages
    for document, left in zip(population, cut(population, options), strict=True):
        before, after = document.num_bytes, len(left.encode())
        is_cut, document.text = left != document.text, left
        if name == "line_dedup":
            is_cut = before != after
        document.was_cut |= is_cut
        if not is_cut:
            continue
        prefix = "lines" if name == "line_dedup" else "passages"
        reasons = []
        if (before - after) / before > (options.get("max_removed_ratio") or 1):
            reasons.append(f"{label}: {prefix}_removed_ratio")
        if name == "line_dedup" and len(plain_words(left)) < (options.get("min_words_left") or 0):
            reasons.append(f"{label}: {prefix}_words_left")
        document.reasons += reasons
        document.alive = document.alive and not reasons


def _lines(documents: Sequence[Document], options: Mapping[str, Any]) -> list[str]:
    found = [
        units.units(each.text, "lines", options.get("normalize", "ccnet"), options.get("min_chars", 1))
        for each in documents
    ]
    records = [
        ((_among(document, options), unit[0]), rank, number)
        for rank, (document, mine) in enumerate(zip(documents, found, strict=True))
        for number, unit in enumerate(mine)
    ]
    goes = iter(resolve_units(records, options.get("min_documents", 2)))
    texts = []
    for document, mine in zip(documents, found, strict=True):
        data = document.text.encode()
        gone = [unit for unit in mine if next(goes)]
        ranges = [(len(data[:start].decode()), len(data[:end].decode())) for _, start, end, _ in gone]
        texts.append(units.without(document.text, ranges) if ranges else document.text)
    return texts


def _passages(documents: Sequence[Document], options: Mapping[str, Any]) -> list[str]:
    texts = {}
    for name in {_among(each, options) for each in documents}:
        mine = [each for each in documents if _among(each, options) == name]
        datas = [each.text.encode() for each in mine]
        for document, data, gone in zip(mine, datas, substrings.cut(datas, options["length"]), strict=True):
            left, done, places = b"", 0, sorted(gone)
            while places:
                start = end = places[0]
                while places and places[0] == end:
                    end += 1
                    del places[0]
                start, end = substrings.whole_characters(data, start, end)
                left, done = left + data[done:start], end
            texts[document.id] = (left + data[done:]).decode()
    return [texts[each.id] for each in documents]


def _dedup(
    documents: Sequence[Document], label: str, name: str, options: Mapping[str, Any], sources: Sequence[str]
) -> None:
    asked = [
        each
        for each in documents
        if not each.reasons and (each.text or each.was_cut) and each.seen.get(label)
    ]
    groups: dict[str, list[Document]] = {}
    for document in _best_first(asked, options, sources, True):
        groups.setdefault(_among(document, options), []).append(document)
    for group in groups.values():
        seen = [each.seen[label] for each in group]
        similar = _equal(seen) if name == "exact_dedup" else _similar(seen, options)
        for place, (match, similarity) in independent(similar).items():
            group[place].reasons.append(f"{label}: {label}")
            group[place].match, group[place].similarity_ppm = group[match], similarity


def _equal(seen: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    for second, value in enumerate(seen):
        if (first := seen.index(value)) < second:
            yield first, second, 10**6


def _similar(seen: Sequence[str], options: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
    sets = []
    for text in seen:
        grams = shingles(text, options["ngram"], options["unit"], "plain")
        sets.append({murmur(each)[0] for each in grams})
    for second, one in enumerate(sets):
        for first, other in enumerate(sets[:second]):
            similarity = jaccard_ppm(one, other)
            if one and other and similarity >= options["threshold"] * 10**6:
                yield first, second, similarity


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
