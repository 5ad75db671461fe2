"""Why a task must run: the difference between what its key is made of now and what it was made of last time.

The last finished run leaves a record of the components of every task (`last.json` in the work folder).
Nothing depends on that record but the wording here: without it, tasks run or not just the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Components = Mapping[str, Any]

ABSENT = object()


def differences(before: Any, now: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any, Any]]:
    """Every leaf where two JSON values differ, as (path, before, now); ABSENT stands for a missing one.

    Lists of steps are matched by their `label` or `step` name, other lists are leaves.
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        found = []
        for name in sorted({*before, *now}):
            found += differences(before.get(name, ABSENT), now.get(name, ABSENT), (*path, name))
        return found
    if _are_steps(before) and _are_steps(now) and (before or now):
        old, new = _by_name(before), _by_name(now)
        moved = (
            [((*path, "order of steps"), ", ".join(old), ", ".join(new))] if list(old) != list(new) else []
        )
        return differences(old, new, path) or moved
    return [] if before == now else [(path, before, now)]


def explain(before: Components | None, now: Components) -> str:
    """One line on why a task with components `now` is not done, given those of the same task last time."""
    if before is None:
        return "new"
    found = differences(before, now)
    if not found:
        return "its result is not in the work folder"
    parts = [_phrase(*each) for each in found[:3]]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(dict.fromkeys(parts)) + more


def explain_extents(before: Sequence[Sequence[Any]], now: Sequence[Sequence[Any]]) -> str:
    """One line on how the inputs of a split differ; an extent is [name, start, end, digest or None]."""
    old = {tuple(each[:3]): each[3] for each in before}
    new = {tuple(each[:3]): each[3] for each in now}
    added = [key[0] for key in new if key not in old]
    removed = [key[0] for key in old if key not in new]
    changed = [key[0] for key in new if key in old and new[key] != old[key]]
    parts = []
    for word, names in (("input added", added), ("input removed", removed), ("input changed", changed)):
        if names:
            names = list(dict.fromkeys(names))
            parts.append(f"{word}: {names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else ""))
    return "; ".join(parts)


def _phrase(path: tuple[str, ...], before: Any, now: Any) -> str:
    name = ".".join(part for part in path if part not in ("parameters", "columns", "above", "steps"))
    opaque = (
        _is_digest(before)
        or _is_digest(now)
        or isinstance(before, list | Mapping)
        or isinstance(now, list | Mapping)
    )
    if before is ABSENT:
        return f"{name} is new" if opaque else f"{name}: {now} is new"
    if now is ABSENT:
        return f"{name} is gone"
    if opaque:
        return f"{_OPAQUE.get(path[0], name)} changed"
    return f"{name}: {before} -> {now}"


_OPAQUE = {
    "split": "the input",
    "columns": "what was measured",
    "kept": "which documents are kept",
    "clusters": "sizes of clusters",
    "sampled": "which documents are sampled",
    "samples": "the sample of texts",
    "runs": "the run files",
}


def _is_digest(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    tail = value.rsplit(":", 1)[-1]
    return len(tail) >= 32 and all(char in "0123456789abcdef" for char in tail)


def _are_steps(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) and "step" in each for each in value)


def _by_name(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Steps by label, or by name, with `#2` where it stands there twice."""
    named: dict[str, Any] = {}
    for each in steps:
        name = str(each.get("label", each["step"]))
        labels = (name, *(f"{name}#{number}" for number in range(2, len(steps) + 1)))
        named[next(label for label in labels if label not in named)] = dict(each)
    return named
