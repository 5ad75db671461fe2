"""Resume: a schedule may change what is to come, not what was trained on. The past is compared.

Takes what RowPlan.facts() gave when the checkpoint was written, and what it gives now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manifests.errors import UserError

WHOLE_RUN = ("order_version", "seed", "subset", "period", "document_mask", "shuffle_extent")
"""One value for a whole run, so a change is a change of the past."""


def compare_schedules(old: Mapping[str, Any], new: Mapping[str, Any], next_row: int) -> list[str]:
    """Lines "what: old -> new" of all that differs before row `next_row`; empty when the past is the same."""
    if next_row == 0:
        return []
    lines = [
        f"{name}: {old.get(name)} -> {new.get(name)}" for name in WHOLE_RUN if old.get(name) != new.get(name)
    ]
    lines += _compare_phases(old, new, next_row)
    lines += _compare_batch(old["batch"], new["batch"], next_row)
    lines += _compare_sources(old, new, next_row)
    return lines


def check_resume(old: Mapping[str, Any], new: Mapping[str, Any], next_row: int) -> None:
    """Raise UserError with the diff when the past differs."""
    lines = compare_schedules(old, new, next_row)
    if lines:
        raise UserError(
            f"the data or schedule of the first {next_row} rows differs from what was trained on:\n"
            + "\n".join(f"  {line}" for line in lines),
            hint="put these values back (only what comes later may change), or start a new run",
        )


def _past_phases(facts: Mapping[str, Any], next_row: int) -> list[dict[str, Any]]:
    keys = _key_names(facts)
    return [
        {
            "start_row": phase["start_row"],
            "sequence_length": phase["sequence_length"],
            "block_tokens": phase["block_tokens"],
            "pack": phase.get("pack", "concat"),
            "rows per period": {keys[name]: rows for name, rows in phase["quota"].items()},
        }
        for phase in facts["phases"]
        if phase["start_row"] < next_row
    ]


def _compare_phases(old: Mapping[str, Any], new: Mapping[str, Any], next_row: int) -> list[str]:
    before, after = _past_phases(old, next_row), _past_phases(new, next_row)
    lines = [
        f"phase {index} {name}: {was[name]} -> {now[name]}"
        for index, (was, now) in enumerate(zip(before, after, strict=False))
        for name in was
        if was[name] != now[name]
    ]
    shared = min(len(before), len(after))
    lines += [f"phase {shared + i}: {phase} -> absent" for i, phase in enumerate(before[shared:])]
    lines += [f"phase {shared + i}: absent -> {phase}" for i, phase in enumerate(after[shared:])]
    return lines


def _compare_batch(old: Mapping[str, Any], new: Mapping[str, Any], next_row: int) -> list[str]:
    before, after = _past_batches(old, next_row), _past_batches(new, next_row)
    return [] if before == after else [f"rows per step, from step: {before} -> {after}"]


def _past_batches(batch: Mapping[str, Any], next_row: int) -> list[tuple[int, int]]:
    """(first step, rows per step) of the stretches that begin before `next_row`."""
    past: list[tuple[int, int]] = []
    row = 0
    for index, (step, rows) in enumerate(zip(batch["starts"], batch["rows"], strict=True)):
        if index:
            row += (step - past[-1][0]) * past[-1][1]
        if row >= next_row:
            break
        past.append((step, rows))
    return past


def _compare_sources(old: Mapping[str, Any], new: Mapping[str, Any], next_row: int) -> list[str]:
    """Sources that past phases used must still be there, and so must the content of their manifests."""
    past = _past_phases(old, next_row)
    used = {key for phase in past for key in phase["rows per period"]}
    before, after = _source_facts(old), _source_facts(new)
    lines = [
        f"source {key}: {before[key]} -> {after.get(key, 'absent')}"
        for key in sorted(used)
        if before[key] != after.get(key)
    ]
    packed = {
        (key, str(phase["sequence_length"]))
        for phase in past
        for key in phase["rows per period"]
        if phase["pack"] == "best_fit"
    }
    was, now = _packing_facts(old), _packing_facts(new)
    return lines + [
        f"source {place[0]}, packed rows of {place[1]}: {was.get(place)} -> {now.get(place, 'absent')}"
        for place in sorted(packed)
        if was.get(place) != now.get(place)
    ]


def _packing_facts(facts: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (f"{source['corpus']}/{source['source']}", length): packing["digest"]
        for source in facts["sources"]
        for length, packing in source.get("packings", {}).items()
    }


def _source_facts(facts: Mapping[str, Any]) -> dict[str, str]:
    digests = {manifest["corpus"]: manifest["content_digest"] for manifest in facts["manifests"]}
    return {
        f"{source['corpus']}/{source['source']}": f"{source['tokens']} tokens of {digests[source['corpus']]}"
        for source in facts["sources"]
    }


def _key_names(facts: Mapping[str, Any]) -> dict[str, str]:
    return {source["name"]: f"{source['corpus']}/{source['source']}" for source in facts["sources"]}
