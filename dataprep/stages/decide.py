"""DECIDE: from the columns of all documents to one verdict each: kept, or dropped with its reasons.

No text is read. Order (DESIGN section 4, "Deciding"), wherever the steps stand in the recipe: the
per-source cap on bytes, the rules (all of them, so that joint reasons show), empty texts, routing, exact
duplicates among what passed, held-out documents, and last the sample that the tokenizer is trained or probed
on.

Memory: about 120 bytes a document of the whole corpus, in one task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.cache import Cache
from dataprep.chain import BASE, FINAL, Link, applies, chain_from_json, chain_to_json, labels
from dataprep.columnfile import Column, read_columns, write_columns
from dataprep.decide.capped import capped
from dataprep.decide.exact import resolve
from dataprep.decide.heldout import hash_key, held_out
from dataprep.decide.routed import STAYS, routed
from dataprep.decide.verdicts import Verdicts, funnel
from dataprep.kernels.hashing import mix128
from dataprep.recipe import Recipe
from dataprep.stages import measure
from dataprep.stages.base import Task, input_changed
from dataprep.stages.measure import SplitPlan
from dataprep.stages.walk import MEASURED
from dataprep.steps import step_of
from dataprep.steps.base import NOT_MEASURED, Decision, Edit, Rule, consulted
from manifests.fingerprint import digest_value

STAGE = "decide"
VERSION = 2
VERDICTS = "verdicts.arrow"
MAX_BYTES = "max_bytes"
EMPTY = "empty_text"
ROUTE = "route"
NOT_ROUTED = "not_routed"
Hashes = npt.NDArray[np.uint64]


def task_of(recipe: Recipe, splits: Sequence[SplitPlan], keys: Sequence[Mapping[str, str]]) -> Task:
    """The one task of the stage. `keys`: the measured column sets of every split."""
    entries = list(zip(labels(recipe.steps), recipe.steps, strict=True))
    steps = [
        {
            "label": label,
            "step": entry.name,
            "version": step_of(entry.name).version,
            "parameters": entry.parameters.model_dump(mode="json"),
            "consults": consulted(step_of(entry.name), entry.parameters),
            "sources": [name for name in recipe.sources if applies(entry, name)],
        }
        for label, entry in entries
    ]
    settings = {
        "corpus": recipe.corpus,
        "seed": recipe.seed,
        "sources": list(recipe.sources),
        "outputs": [[made, source] for made, source in recipe.outputs.items()],
        "routes": {
            name: None if source.route is None else source.route.model_dump(mode="json", by_alias=True)
            for name, source in recipe.sources.items()
        },
        "max_bytes": {name: source.max_bytes for name, source in recipe.sources.items()},
        "holdout": recipe.holdout.documents,
        "sample_bytes": recipe.tokenizer.sample_bytes,
    }
    columns = [[plan.split.source, plan.label, dict(each)] for plan, each in zip(splits, keys, strict=True)]
    components = {"version": VERSION, "columns": digest_value(columns), "steps": steps, **settings}
    payload = {
        "splits": [{"source": source, "keys": each} for source, _, each in columns],
        "chain": chain_to_json([Link(label, step_of(e.name), e.parameters) for label, e in entries]),
        "steps": steps,
        **settings,
    }
    return Task("all documents", digest_value(components).split(":", 1)[1], components, payload)


def execute(payload: Mapping[str, Any], cache: Cache, folder: Any) -> dict[str, Any]:
    """Write the verdicts of all documents, in split order, into `folder`; return the facts of the receipt."""
    documents = _load(payload, cache)
    chain = chain_from_json(payload["chain"])
    sources: dict[str, list[str]] = {step["label"]: step["sources"] for step in payload["steps"]}
    looked_up = {step["label"]: step["consults"] for step in payload["steps"]}

    verdicts = Verdicts(len(documents))
    order = np.arange(len(documents), dtype=np.int64)  # listing order: the place of last resort
    limits = [payload["max_bytes"][name] for name in payload["sources"]]
    over = capped(documents.source, documents.raw_hash, documents.raw_bytes, limits)
    verdicts.drop(MAX_BYTES, MAX_BYTES, over)
    for link in chain:
        if link.drops:
            for reason, rows in documents.rule(link, cache).items():
                verdicts.drop(link.label, reason, rows)
            if consulted(link.step, link.params) != looked_up[link.label]:
                raise input_changed(f"step {link.label}")
    verdicts.drop(EMPTY, EMPTY, documents.final_bytes == 0)
    output = _route(payload, documents, cache)
    verdicts.drop(ROUTE, NOT_ROUTED, output == STAYS)
    match = np.full(len(documents), -1, dtype=np.int64)
    for link in chain:
        if isinstance(link.step, Decision):
            rows, keeper = _duplicates(link, documents, verdicts.kept, order, cache, sources[link.label])
            verdicts.drop(link.label, link.label, rows)
            match = np.where(rows & (match < 0), keeper, match)

    kept = verdicts.kept
    key = hash_key("holdout", payload["corpus"])
    heldout = held_out(mix128(documents.holdout_hash, key), output, kept, payload["holdout"])
    sampled = _sample(documents, kept & ~heldout, payload["seed"], payload["sample_bytes"])
    write_columns(
        folder / VERDICTS,
        {
            "code": verdicts.code,
            **{f"reasons{word}": mask for word, mask in enumerate(verdicts.masks)},
            "match": match,
            "output": output,
            "heldout": heldout,
            "sampled": sampled,
        },
    )
    return {
        "documents": len(documents),
        "reasons": [list(pair) for pair in verdicts.reasons],
        "splits": _split_facts(documents, kept, heldout, sampled, _place_of(output, payload)),
        "funnel": funnel(
            payload["sources"],
            _deciding_order(chain),
            sources,
            frozenset(link.label for link in chain if link.rewrites),
            documents.source,
            documents.raw_bytes,
            documents.final_bytes,
            verdicts,
            heldout,
            [(made, source) for made, source in payload["outputs"]],
            output,
            _unsampled(payload, cache),
        ),
        "sampled": int(sampled.sum()),
    }


def _deciding_order(chain: Sequence[Link]) -> list[str]:
    """Labels in the order in which they drop: decisions after all rules, wherever the recipe has them."""
    rules = [link.label for link in chain if not isinstance(link.step, Decision)]
    decisions = [link.label for link in chain if isinstance(link.step, Decision)]
    return [MAX_BYTES, *rules, EMPTY, ROUTE, *decisions]


@dataclass(frozen=True, slots=True)
class Documents:
    """The columns that every decision needs, over all splits in order; the rest is loaded by split when
    asked for.

    starts  int64 [splits + 1]: first document of each split
    source  int32 [n]: index of the document's source in recipe order
    """

    splits: list[dict[str, Any]]
    starts: npt.NDArray[np.int64]
    source: npt.NDArray[np.int32]
    raw_hash: Hashes
    raw_bytes: npt.NDArray[np.int64]
    final_bytes: npt.NDArray[np.int64]
    holdout_hash: Hashes

    def __len__(self) -> int:
        return int(self.starts[-1])

    def rows_of(self, index: int) -> slice:
        return slice(int(self.starts[index]), int(self.starts[index + 1]))

    def rule(self, link: Link, cache: Cache) -> dict[str, npt.NDArray[np.bool_]]:
        """The reasons of a rule or an edit over all documents; False where it does not apply to the source.

        Reasons come in the step's own order; where that depends on the documents, in that of their names.
        """
        assert isinstance(link.step, Rule | Edit)
        dropped: dict[str, npt.NDArray[np.bool_]] = {}
        orders = set()
        unmeasured = np.zeros(len(self), dtype=bool)
        for index, split in enumerate(self.splits):
            if link.label not in split["keys"]:
                continue
            signals = _columns(cache, split["keys"][link.label])
            measured = signals.pop(MEASURED) if link.is_expensive else True  # else it is a signal of theirs
            unmeasured[self.rows_of(index)] = ~np.asarray(measured)
            checks = link.step.checks(signals, link.params)
            orders.add(tuple(check.reason for check in checks))
            for check in checks:
                rows = dropped.setdefault(check.reason, np.zeros(len(self), dtype=bool))
                rows[self.rows_of(index)] |= check.dropped & measured
        names = next(iter(orders)) if len(orders) == 1 else sorted(dropped)
        reasons = {name: dropped[name] for name in names}
        return reasons | {NOT_MEASURED: unmeasured} if link.is_expensive else reasons

    def values(self, label: str, name: str, source: int, cache: Cache) -> tuple[Any, npt.NDArray[np.int64]]:
        """A signal of all documents of one source, and their rows."""
        parts, rows = [], []
        for index, split in enumerate(self.splits):
            here = np.arange(self.starts[index], self.starts[index + 1])
            if len(here) and self.source[here[0]] == source:
                parts.append(_columns(cache, split["keys"][label])[name])
                rows.append(here)
        if not parts:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        joined = np.concatenate(parts) if isinstance(parts[0], np.ndarray) else pa.concat_arrays(parts)
        return joined, np.concatenate(rows)

    def signal(self, link: Link, name: str, cache: Cache) -> tuple[Hashes, npt.NDArray[np.bool_]]:
        """A 128-bit signal over all documents, and for which of them it was measured."""
        values = np.zeros((len(self), 2), dtype=np.uint64)
        measured = np.zeros(len(self), dtype=bool)
        for index, split in enumerate(self.splits):
            if link.label in split["keys"]:
                values[self.rows_of(index)] = _columns(cache, split["keys"][link.label])[name]
                measured[self.rows_of(index)] = True
        return values, measured


def _load(payload: Mapping[str, Any], cache: Cache) -> Documents:
    names: list[str] = payload["sources"]
    base = [_columns(cache, split["keys"][BASE]) for split in payload["splits"]]
    final = [_columns(cache, split["keys"][FINAL]) for split in payload["splits"]]
    counts = [len(columns["text_bytes"]) for columns in base]
    source = [names.index(split["source"]) for split in payload["splits"]]
    return Documents(
        splits=payload["splits"],
        starts=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
        source=np.repeat(np.array(source, dtype=np.int32), counts),
        raw_hash=_stack([columns["raw_hash"] for columns in base]),
        raw_bytes=_stack([columns["text_bytes"] for columns in base]),
        final_bytes=_stack([columns["text_bytes"] for columns in final]),
        holdout_hash=_stack([columns["holdout_hash"] for columns in final]),
    )


def _columns(cache: Cache, key: str) -> dict[str, Any]:
    return read_columns(cache.get(measure.STAGE, key).file(measure.COLUMNS))


def _stack(parts: Sequence[Column]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _unsampled(payload: Mapping[str, Any], cache: Cache) -> dict[str, dict[str, int]]:
    """Source -> documents and bytes that were read and left out by its sample."""
    counts = {name: {"documents": 0, "text_bytes": 0} for name in payload["sources"]}
    for split in payload["splits"]:
        for name, count in cache.get(measure.STAGE, split["keys"][BASE]).facts["unsampled"].items():
            counts[split["source"]][name] += count
    return counts


def _route(payload: Mapping[str, Any], documents: Documents, cache: Cache) -> npt.NDArray[np.int32]:
    """int32 [n]: which of `outputs` each document goes to, or STAYS where its source keeps no others."""
    outputs = [made for made, _ in payload["outputs"]]
    own = [outputs.index(name) if name in outputs else STAYS for name in payload["sources"]]
    output = np.array(own, dtype=np.int32)[documents.source]
    for source, name in enumerate(payload["sources"]):
        route = payload["routes"][name]
        if route is None:
            continue
        label, _, signal = route["by"].rpartition(".")
        values, rows = documents.values(label, signal, source, cache)
        chosen = routed(values, list(route["to"].values())) if len(rows) else np.zeros(0, dtype=np.int32)
        places = np.array([outputs.index(made) for made in route["to"]], dtype=np.int32)
        moves = chosen != STAYS
        output[rows[moves]] = places[chosen[moves]]
    return output


def _duplicates(
    link: Link,
    documents: Documents,
    candidates: npt.NDArray[np.bool_],
    order: npt.NDArray[np.int64],
    cache: Cache,
    sources: list[str],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Which candidates are copies of a better one, and of which."""
    hashes, measured = documents.signal(link, "content_hash", cache)
    rows = np.flatnonzero(candidates & measured)
    ranks = {
        "source_priority": documents.source[rows].astype(np.int64),
        "longest": -documents.final_bytes[rows],
    }
    params: Any = link.params
    group = documents.source[rows] if params.within == "source" else np.zeros(len(rows), dtype=np.int32)
    keep, match = resolve(
        hashes[rows], group, [ranks[name] for name in params.keep], documents.raw_hash[rows], order[rows]
    )
    dropped = np.zeros(len(documents), dtype=bool)
    dropped[rows[~keep]] = True
    keeper = np.full(len(documents), -1, dtype=np.int64)
    keeper[rows[~keep]] = rows[match[~keep]]
    return dropped, keeper


def _sample(documents: Documents, candidates: npt.NDArray[np.bool_], seed: int, sample_bytes: int) -> Any:
    """The first documents by a keyed hash, up to `sample_bytes` of text, at least one."""
    rows = np.flatnonzero(candidates)
    mixed = mix128(documents.raw_hash[rows], hash_key("tokenizer sample", str(seed)))
    rows = rows[np.lexsort((rows, mixed[:, 1], mixed[:, 0]))]
    total = np.cumsum(documents.final_bytes[rows])
    chosen = rows[: max(1, int(np.searchsorted(total, sample_bytes, side="right")))]
    sampled = np.zeros(len(documents), dtype=bool)
    sampled[chosen] = True
    return sampled


def _place_of(output: npt.NDArray[np.int32], payload: Mapping[str, Any]) -> npt.NDArray[np.int32]:
    """int32 [n]: the place of each document's output among those of its own source, so that a source that is
    added before it changes nothing."""
    origins = [origin for _, origin in payload["outputs"]]
    places = [number - origins.index(origin) for number, origin in enumerate(origins)]
    return np.array([*places, STAYS], dtype=np.int32)[output]  # STAYS is -1, the last


def _split_facts(
    documents: Documents, kept: Any, heldout: Any, sampled: Any, place: Any
) -> list[dict[str, Any]]:
    """What WRITE and SAMPLE depend on, split by split: a verdict that did not change reruns nothing."""
    facts = []
    for index in range(len(documents.splits)):
        rows = documents.rows_of(index)
        facts.append(
            {
                "start": rows.start,
                "documents": rows.stop - rows.start,
                "kept": int(kept[rows].sum()),
                "kept_digest": _digest(kept[rows], heldout[rows], np.where(kept[rows], place[rows], STAYS)),
                "sampled": int(sampled[rows].sum()),
                "sampled_digest": _digest(sampled[rows]),
            }
        )
    return facts


def _digest(*columns: npt.NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for column in columns:
        packed = np.packbits(column) if column.dtype == np.bool_ else column
        digest.update(len(column).to_bytes(8, "little") + packed.tobytes())
    return digest.hexdigest()
