"""JUDGE: what each document gets by itself: the per-source cap on bytes, the rules, routing.

Rules are judged wherever they stand in the recipe, and all of them, so that joint reasons show. What depends
on other documents (duplicates, held-out) comes after, over what passed here. No text is read. A task takes
one group of splits.

Memory: the columns of one group, a set at a time, and 16 bytes a document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import BASE, FINAL, Link, applies, chain_from_json, chain_to_json, labels
from dataprep.columnfile import write_columns
from dataprep.decide.capped import beyond
from dataprep.decide.routed import STAYS, routed
from dataprep.decide.verdicts import Verdicts
from dataprep.recipe import Recipe
from dataprep.stages.base import Task, input_changed
from dataprep.stages.groups import Columns, Group, columns_digest, group_of, narrowed
from dataprep.stages.walk import MEASURED
from dataprep.steps import step_of
from dataprep.steps.base import NOT_MEASURED, CorpusEdit, Edit, Rule, consulted

STAGE = "judge"
VERSION = 2
VERDICTS = "judged.arrow"
MAX_BYTES = "max_bytes"
ROUTE = "route"
NOT_ROUTED = "not_routed"


def tasks_of(
    recipe: Recipe, groups: Sequence[Group], cuts: Mapping[str, Entry], until: str | None = None
) -> list[Task]:
    """One task a group. `cuts`: the entries of CAP, of the sources that have a cap. `until`: judge only by
    the steps above this one, and not whether a text is empty or where it goes."""
    entries = list(zip(labels(recipe.steps), recipe.steps, strict=True))
    if until is not None:
        entries = entries[: labels(recipe.steps).index(until)]
    links = [Link(label, step_of(entry.name), entry.parameters) for label, entry in entries]
    drops = [(link, entry) for link, (_, entry) in zip(links, entries, strict=True) if link.drops]
    steps = [
        {
            "label": link.label,
            "step": link.step.name,
            "version": link.step.version,
            "parameters": link.params.model_dump(mode="json"),
            "consults": consulted(link.step, link.params),
            "sources": [name for name in recipe.sources if applies(entry, name)],
        }
        for link, entry in drops
    ]
    settings: dict[str, Any] = {
        "sources": list(recipe.sources),
        "outputs": list(recipe.outputs),
        "routes": {
            name: None if source.route is None else source.route.model_dump(mode="json", by_alias=True)
            for name, source in recipe.sources.items()
        },
        "is_last": until is None,
        "cutting": [
            link.label
            for link in links
            if isinstance(link.step, CorpusEdit) and link.step.takes_copies and link.rewrites
        ],
        "steps": steps,
    }
    chain = chain_to_json([link for link, _ in drops])
    routed_by = [each["by"].rpartition(".")[0] for each in settings["routes"].values() if each is not None]
    wanted = {BASE, FINAL, *(link.label for link, _ in drops), *routed_by}
    tasks = []
    before = dict.fromkeys(recipe.sources, 0)
    for group in groups:
        capped = []
        for split, count in zip(group.splits, group.counts, strict=True):
            cut = cuts[split["source"]].facts["cut"] if split["source"] in cuts else None
            capped.append(None if cut is None else {"cut": cut, "before": before[split["source"]]})
            before[split["source"]] += count
        mine = narrowed(group, wanted)
        components = {"version": VERSION, "columns": columns_digest(mine), "capped": capped, **settings}
        payload = {"group": mine.to_json(), "chain": chain, "capped": capped, **settings}
        tasks.append(Task(f"group {group.number}", key_of(components), components, payload))
    return tasks


def execute(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    """Write code, reasons and output of the documents of a group."""
    columns = Columns(group_of(payload["group"]), cache)
    verdicts = Verdicts(len(columns))
    verdicts.drop(MAX_BYTES, MAX_BYTES, _over(columns, payload["capped"]))
    looked_up = {step["label"]: step["consults"] for step in payload["steps"]}
    for link in chain_from_json(payload["chain"]):
        for reason, rows in reasons_of(columns, link).items():
            verdicts.drop(link.label, reason, rows)
        if consulted(link.step, link.params) != looked_up[link.label]:
            raise input_changed(f"step {link.label}")
    output = np.zeros(len(columns), dtype=np.int32)
    passed = verdicts.kept
    if payload["is_last"]:
        output = _route(payload, columns)
        verdicts.drop(ROUTE, NOT_ROUTED, output == STAYS)
        passed = verdicts.kept & ~_never_had_text(columns, payload["cutting"])
    masks = {f"reasons{word}": mask for word, mask in enumerate(verdicts.masks)}
    write_columns(folder / VERDICTS, {"code": verdicts.code, **masks, "passed": passed, "output": output})
    return {
        "documents": len(columns),
        "passed": int(passed.sum()),
        "passed_digest": _digest(passed),
        "passed_digests": [_digest(passed[columns.place(index)]) for index in range(len(columns.splits))],
        "reasons": [list(pair) for pair in verdicts.reasons],
    }


def _digest(passed: npt.NDArray[np.bool_]) -> str:
    return hashlib.blake2b(np.packbits(passed).tobytes(), digest_size=16).hexdigest()


def _never_had_text(columns: Columns, cutting: Sequence[str]) -> npt.NDArray[np.bool_]:
    """bool [n]: empty, and not because other documents have the same text. Those that were emptied so are
    judged last (DECIDE), since they may be copies that have a name for what stays in their stead."""
    (final_bytes,) = columns.all(FINAL, "text_bytes")
    empty: npt.NDArray[np.bool_] = final_bytes == 0
    for label in cutting:
        for index in range(len(columns.splits)):
            if columns.has(index, label) and empty[columns.place(index)].any():
                empty[columns.place(index)] &= columns.of_split(index, label)["removed_bytes"] == 0
    return empty


def _over(columns: Columns, capped: Sequence[Mapping[str, Any] | None]) -> npt.NDArray[np.bool_]:
    """bool [n]: beyond the cap of its source."""
    over = np.zeros(len(columns), dtype=bool)
    for index, each in enumerate(capped):
        if each is not None:
            raw_hash = columns.of_split(index, BASE)["raw_hash"]
            over[columns.place(index)] = beyond(raw_hash, each["before"], each["cut"])
    return over


def reasons_of(columns: Columns, link: Link) -> dict[str, npt.NDArray[np.bool_]]:
    """The reasons of a rule or an edit, and whom each drops; False where it does not apply to the source.

    Reasons come in the step's own order; where that depends on the documents, in that of their names.
    """
    assert isinstance(link.step, Rule | Edit | CorpusEdit)
    dropped: dict[str, npt.NDArray[np.bool_]] = {}
    orders = set()
    unmeasured = np.zeros(len(columns), dtype=bool)
    for index in range(len(columns.splits)):
        if not columns.has(index, link.label):
            continue
        place = columns.place(index)
        signals = columns.of_split(index, link.label)
        measured = signals.pop(MEASURED) if link.is_expensive else True  # else it is a signal of theirs
        unmeasured[place] = ~np.asarray(measured)
        checks = link.step.checks(signals, link.params)
        orders.add(tuple(check.reason for check in checks))
        for check in checks:
            rows = dropped.setdefault(check.reason, np.zeros(len(columns), dtype=bool))
            rows[place] |= check.dropped & measured
    names = next(iter(orders)) if len(orders) == 1 else sorted(dropped)
    reasons = {name: dropped[name] for name in names}
    return reasons | {NOT_MEASURED: unmeasured} if link.is_expensive else reasons


def _route(payload: Mapping[str, Any], columns: Columns) -> npt.NDArray[np.int32]:
    """int32 [n]: which of `outputs` each document goes to, or STAYS where its source keeps no others."""
    outputs: list[str] = payload["outputs"]
    output = np.empty(len(columns), dtype=np.int32)
    for index, split in enumerate(columns.splits):
        name, place = split["source"], columns.place(index)
        output[place] = outputs.index(name) if name in outputs else STAYS
        route = payload["routes"][name]
        if route is None or place.start == place.stop:
            continue
        label, _, signal = route["by"].rpartition(".")
        chosen = routed(columns.of_split(index, label)[signal], list(route["to"].values()))
        places = np.array([outputs.index(made) for made in route["to"]], dtype=np.int32)
        output[place] = np.where(chosen == STAYS, output[place], places[chosen])
    return output
