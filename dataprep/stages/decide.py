"""DECIDE: one verdict for each document of the corpus: kept, or dropped with its reasons; held out; sampled.

Puts together what the rules said of each document (judge.py) and what the decisions over all documents
removed, in that order wherever the steps stand in the recipe (DESIGN section 4, "Deciding"); then empty
texts, held-out documents, and last the sample that the tokenizer is trained or probed on. No text is read.

One task, which takes a group of splits at a time, three times over: for the held-out choice and the counts,
for the sample, and to write. Memory: the columns of one group, about 150 bytes a document of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import BASE, FINAL, Link, applies, labels
from dataprep.columnfile import ColumnWriter, read_columns
from dataprep.decide.heldout import Forced, hash_key, held_out
from dataprep.decide.prefix import Prefix
from dataprep.decide.routed import STAYS
from dataprep.decide.verdicts import Tally, Verdicts, funnel
from dataprep.kernels.hashing import mix128
from dataprep.older import older_of
from dataprep.recipe import Recipe
from dataprep.stages import judge
from dataprep.stages.base import Task
from dataprep.stages.groups import Columns, Group, columns_digest, group_of, narrowed
from dataprep.stages.removed import REMOVED, found_in, keepers_between, removed_between
from dataprep.steps import step_of
from dataprep.steps.base import Decision
from manifests.fingerprint import digest_value

STAGE = "decide"
VERSION = 4
VERDICTS = "verdicts.arrow"
EMPTY = "empty_text"

Outcome = Mapping[str, Sequence[Sequence[str]]]
"""Label of a decision -> kind of stage and key of the entries that hold what it removed."""


def task_of(
    recipe: Recipe, groups: Sequence[Group], judged: Sequence[Entry], base: Sequence[Entry], outcome: Outcome
) -> Task:
    """The one task of the stage."""
    links = [
        Link(label, step_of(entry.name), entry.parameters)
        for label, entry in zip(labels(recipe.steps), recipe.steps, strict=True)
    ]
    sources = {
        link.label: [name for name in recipe.sources if applies(entry, name)]
        for link, entry in zip(links, recipe.steps, strict=True)
    }
    settings = {
        "corpus": recipe.corpus,
        "seed": recipe.seed,
        "sources": list(recipe.sources),
        "outputs": [[made, source] for made, source in recipe.outputs.items()],
        "holdout": recipe.holdout.documents,
        "sample_bytes": recipe.tokenizer.sample_bytes,
        "rules": [link.label for link in links if not isinstance(link.step, Decision)],
        "rewriting": [link.label for link in links if link.rewrites],
        "applies": sources,
        "removals": [[label, [list(each) for each in entries]] for label, entries in outcome.items()],
        "older": _older(links),
        "unsampled": _unsampled(recipe, groups, base),
    }
    mine = [narrowed(group, (BASE, FINAL)) for group in groups]
    components = {
        "version": VERSION,
        "columns": [columns_digest(group) for group in mine],
        "judged": digest_value([entry.key for entry in judged]),
        **settings,
        "removals": {label: digest_value([list(each) for each in found]) for label, found in outcome.items()},
    }
    payload = {
        "groups": [group.to_json() for group in mine],
        "judged": [entry.key for entry in judged],
        **settings,
    }
    return Task("all documents", key_of(components), components, payload)


def _older(links: Sequence[Link]) -> list[list[Any]]:
    """[label, name, file of documents, documents] of the older corpora of each deduplication, in order. A
    match below -1 is one of their documents: -2 - n is document n of all these, corpus after corpus."""
    return [
        [link.label, each.name, str(each.documents.absolute()), each.count]
        for link in links
        if isinstance(link.step, Decision)
        for each in older_of(link)
    ]


def _unsampled(recipe: Recipe, groups: Sequence[Group], base: Sequence[Entry]) -> dict[str, dict[str, int]]:
    """Source -> documents and bytes that were read and left out by its sample."""
    counts = {name: {"documents": 0, "text_bytes": 0} for name in recipe.sources}
    members = [split["source"] for group in groups for split in group.splits]
    for source, entry in zip(members, base, strict=True):
        for name, count in entry.facts["unsampled"].items():
            counts[source][name] += count
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The documents of a group, with all that was decided about them but held-out and sample."""

    group: Group
    source: npt.NDArray[np.int32]
    raw_hash: npt.NDArray[np.uint64]
    raw_bytes: npt.NDArray[np.int64]
    final_bytes: npt.NDArray[np.int64]
    holdout_hash: npt.NDArray[np.uint64]
    verdicts: Verdicts
    output: npt.NDArray[np.int32]
    match: npt.NDArray[np.int64]
    similarity_ppm: npt.NDArray[np.int32]
    cluster_size: npt.NDArray[np.int64]


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    """Write the verdicts of all documents, in split order, into `folder`; return the facts of the receipt."""
    reasons = _reasons(payload, cache)
    key = hash_key("holdout", payload["corpus"])
    sample_key = hash_key("tokenizer sample", str(payload["seed"]))
    share = payload["holdout"]

    forced = Forced(share)
    for part in _parts(payload, reasons, cache):
        forced.look(mix128(part.holdout_hash, key), part.output, part.verdicts.kept)
    hashes = forced.hashes()

    sample = Prefix(payload["sample_bytes"])
    tally = Tally(len(payload["sources"]), len(reasons) + 1, len(payload["outputs"]))
    for part in _parts(payload, reasons, cache):
        kept = part.verdicts.kept
        heldout = held_out(mix128(part.holdout_hash, key), kept, share, hashes)
        tally.add(part.source, part.raw_bytes, part.final_bytes, part.verdicts, heldout, part.output)
        rows = np.flatnonzero(kept & ~heldout)
        mixed = mix128(part.raw_hash[rows], sample_key)
        sample.add(mixed, part.group.start + rows, part.final_bytes[rows])
    chosen = sample.chosen()

    splits: list[dict[str, Any]] = []
    documents = 0
    with ColumnWriter(folder / VERDICTS) as writer:
        for part in _parts(payload, reasons, cache):
            kept = part.verdicts.kept
            heldout = held_out(mix128(part.holdout_hash, key), kept, share, hashes)
            sampled = np.zeros(len(kept), dtype=bool)
            first, last = np.searchsorted(chosen, (part.group.start, part.group.start + len(kept)))
            sampled[chosen[first:last] - part.group.start] = True
            writer.write(
                {
                    "code": part.verdicts.code,
                    **{f"reasons{word}": mask for word, mask in enumerate(part.verdicts.masks)},
                    "match": part.match,
                    "similarity_ppm": part.similarity_ppm,
                    "cluster_size": part.cluster_size,
                    "output": part.output,
                    "heldout": heldout,
                    "sampled": sampled,
                }
            )
            splits += _split_facts(part, kept, heldout, sampled, _place_of(part.output, payload))
            documents += len(kept)
    return {
        "documents": documents,
        "reasons": [list(pair) for pair in reasons],
        "splits": splits,
        "older": payload["older"],
        "funnel": funnel(
            tally,
            reasons,
            payload["sources"],
            [
                judge.MAX_BYTES,
                *payload["rules"],
                judge.ROUTE,
                *(label for label, _ in payload["removals"]),
                EMPTY,
            ],
            payload["applies"],
            frozenset(payload["rewriting"]),
            [(made, source) for made, source in payload["outputs"]],
            payload["unsampled"],
        ),
        "sampled": len(chosen),
    }


def _reasons(payload: Mapping[str, Any], cache: Cache) -> list[tuple[str, str]]:
    """(step label, reason) of each code: those of the groups, step by step, then the decisions.

    Where the reasons of a step depend on the documents, groups may have different ones: then they come in the
    order of their names.
    """
    found: dict[str, list[list[str]]] = {}
    for key in payload["judged"]:
        mine: dict[str, list[str]] = {}
        for label, reason in cache.get(judge.STAGE, key).facts["reasons"]:
            mine.setdefault(label, []).append(reason)
        for label, names in mine.items():
            found.setdefault(label, []).append(names)
    reasons = []
    for label in [judge.MAX_BYTES, *payload["rules"], judge.ROUTE]:
        orders = found.get(label, [])
        agreed = orders[0] if orders and all(each == orders[0] for each in orders) else None
        names = agreed if agreed is not None else sorted({name for each in orders for name in each})
        reasons += [(label, name) for name in names]
    return [*reasons, *((label, label) for label, _ in payload["removals"]), (EMPTY, EMPTY)]


def _parts(payload: Mapping[str, Any], reasons: Sequence[tuple[str, str]], cache: Cache) -> Iterator[Part]:
    total = sum(sum(value["counts"]) for value in payload["groups"])
    first_older = {
        label: sum(each[3] for each in payload["older"][:place])
        for place, (label, *_) in reversed(list(enumerate(payload["older"])))
    }
    for value, key in zip(payload["groups"], payload["judged"], strict=True):
        group = group_of(value)
        columns = Columns(group, cache)
        raw_hash, raw_bytes = columns.all(BASE, "raw_hash", "text_bytes")
        final_bytes, holdout_hash = columns.all(FINAL, "text_bytes", "holdout_hash")
        entry = cache.get(judge.STAGE, key)
        judged: Any = read_columns(entry.file(judge.VERDICTS))
        verdicts = Verdicts(len(columns))
        applied = {}
        for number, pair in enumerate(entry.facts["reasons"]):
            word, bit = divmod(number, 64)
            applied[tuple(pair)] = (judged[f"reasons{word}"] >> np.uint64(bit)) & np.uint64(1) > 0
        nobody = np.zeros(len(columns), dtype=bool)
        count = len(reasons) - len(payload["removals"]) - 1
        for label, reason in reasons[:count]:
            verdicts.drop(label, reason, applied.get((label, reason), nobody))
        match = np.full(len(columns), -1, dtype=np.int64)
        similarity = np.zeros(len(columns), dtype=np.int32)
        cluster = np.ones(len(columns), dtype=np.int64)
        for label, entries in payload["removals"]:
            removed = removed_between(entries, cache, group.start, group.start + len(columns))
            rows = removed[:, 0] - group.start
            match[rows] = _named(removed[:, 1], total, first_older.get(label, 0))
            similarity[rows] = removed[:, 2]
            gone = nobody.copy()
            gone[rows] = True
            verdicts.drop(label, label, gone)
            keepers = keepers_between(entries, cache, group.start, group.start + len(columns))
            np.add.at(cluster, keepers[:, 0] - group.start, keepers[:, 1])
        verdicts.drop(EMPTY, EMPTY, final_bytes == 0)
        for label, entries in payload["removals"][1:]:
            _follow(match, similarity, entries, total, first_older.get(label, 0), cache)
        yield Part(
            group,
            columns.sources(payload["sources"]),
            raw_hash,
            raw_bytes,
            final_bytes,
            holdout_hash,
            verdicts,
            judged["output"],
            match,
            similarity,
            np.where(verdicts.kept, cluster, 1),
        )


def _named(rows: npt.NDArray[np.int64], total: int, first_older: int) -> npt.NDArray[np.int64]:
    """Rows of what stays, with those of older corpora as -2 - n (see `_older`)."""
    return np.where(rows < total, rows, -2 - (first_older + rows - total))


def _follow(
    match: npt.NDArray[np.int64],
    similarity: npt.NDArray[np.int32],
    entries: Any,
    total: int,
    first_older: int,
    cache: Cache,
) -> None:
    """Where the document that stays in another's stead was removed by a later decision, name the one that
    stays in its stead, and how similar that is to it; in place."""
    rows = np.flatnonzero(match >= 0)
    rows = rows[found_in(REMOVED, entries, cache, match[rows], column=2) > 0]
    before = match[rows]
    match[rows] = _named(found_in(REMOVED, entries, cache, before, column=1), total, first_older)
    similarity[rows] = found_in(REMOVED, entries, cache, before, column=2)


def _place_of(output: npt.NDArray[np.int32], payload: Mapping[str, Any]) -> npt.NDArray[np.int32]:
    """int32 [n]: the place of each document's output among those of its own source, so that a source that is
    added before it changes nothing."""
    origins = [origin for _, origin in payload["outputs"]]
    places = [number - origins.index(origin) for number, origin in enumerate(origins)]
    return np.array([*places, STAYS], dtype=np.int32)[output]  # STAYS is -1, the last


def _split_facts(part: Part, kept: Any, heldout: Any, sampled: Any, place: Any) -> list[dict[str, Any]]:
    """What WRITE and SAMPLE depend on, split by split: a verdict that did not change reruns nothing."""
    facts = []
    start = 0
    for count in part.group.counts:
        rows = slice(start, start + count)
        facts.append(
            {
                "start": part.group.start + start,
                "documents": count,
                "kept": int(kept[rows].sum()),
                "kept_digest": _digest(kept[rows], heldout[rows], np.where(kept[rows], place[rows], STAYS)),
                "clusters_digest": _digest(part.cluster_size[rows][kept[rows]]),
                "sampled": int(sampled[rows].sum()),
                "sampled_digest": _digest(sampled[rows]),
            }
        )
        start += count
    return facts


def _digest(*columns: npt.NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for column in columns:
        packed = np.packbits(column) if column.dtype == np.bool_ else column
        digest.update(len(column).to_bytes(8, "little") + packed.tobytes())
    return digest.hexdigest()
