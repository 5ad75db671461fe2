"""The one strict door for recipes and training configs: YAML and --set in, a validated model out.

Every error is reported at once, as `file:line: field: message`, in the order of the file; an unknown key
comes with the nearest valid one and the list of them, a wrong type with what was expected and what was found.
Nothing is coerced ("50" is not 50) and nothing is ignored. Validation looks at the text alone: whether files
exist is for the caller to check, with `Parsed.places` to say where a path was written.

    recipe = parse(Recipe, "recipe.yaml", sets=["seed=3", "sources.web.max_bytes=1GB"])

How YAML is read is in `yaml_tree.py`; how a pydantic error becomes a sentence is in `problems.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from manifests.errors import UserError
from manifests.nodes import Finding, Loc, Node, Place, node_of, refuse
from manifests.problems import Problem, names_at, problems_of
from manifests.wording import describe, did_you_mean
from manifests.yaml_tree import load_yaml, read_text, read_tree

__all__ = ["Node", "Parsed", "Place", "Places", "Problem", "load_yaml", "parse", "parse_plain", "read"]

M = TypeVar("M", bound=BaseModel)

Checks = Callable[[Any], Iterable[Problem]]
"""Rules across fields, over the plain data. It may be of any shape: a check looks at what is well-formed."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where each value was written. All are equal: where a value stands is no part of what it is."""

    root: Node | None = field(default=None, compare=False)
    label: str = field(default="values given", compare=False)

    def of(self, *loc: str | int) -> str | None:
        """`file:line` of a field, or of the nearest thing around it; None for a value that no file holds."""
        return None if self.root is None else str(self.root.place_of(loc))

    def refusal(self, problems: Iterable[Problem]) -> UserError:
        """One error for what is found wrong after validation, told as validation tells it."""
        root = self.root or Node({}, Place(0, 0, 0, self.label))
        return refuse(self.label, [_finding(root, each) for each in problems])


@dataclass(frozen=True, slots=True)
class Parsed(Generic[M]):
    value: M
    places: Places


def parse(
    model: type[M], path: str | PathLike[str], sets: Sequence[str] = (), *, checks: Checks | None = None
) -> M:
    """Read the file, apply `sets` ("a.b.0.c=YAML value"), validate. One UserError tells all problems."""
    return read(model, path, sets, checks=checks).value


def read(
    model: type[M], path: str | PathLike[str], sets: Sequence[str] = (), *, checks: Checks | None = None
) -> Parsed[M]:
    """`parse`, with the places of the values, for errors that show only later."""
    label = str(path)
    root, findings = read_tree(read_text(path), label)
    if root is None:
        raise refuse(label, [Finding(Place(0, 1, 0, label), (), f"the file is empty{_wanted(model)}")])
    if not isinstance(root.value, dict):
        message = f"expected key: value lines at the top level{_wanted(model)}"
        raise refuse(label, [*findings, Finding(root.place, (), message)])
    for index, argument in enumerate(sets):
        root, wrong = _apply(root, argument, index + 1, model)
        findings += wrong
    return _validate(model, root, label, findings, checks)


def parse_plain(model: type[M], data: Any, label: str, *, checks: Checks | None = None) -> M:
    """Validate plain values that come from no file, by the same rules; `label` names them in errors."""
    return _validate(model, node_of(data, Place(0, 0, 0, label)), label, [], checks).value


def _validate(
    model: type[M], root: Node, label: str, findings: list[Finding], checks: Checks | None
) -> Parsed[M]:
    data = root.plain()
    problems: list[Problem] = []
    value: M | None = None
    try:
        # The JSON route: its strict mode takes a list for a tuple, the Python route's does not.
        value = model.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        problems = problems_of(error, model, data)
    if checks is not None:
        problems += checks(data)
    known = {finding.loc for finding in findings if finding.unread}  # already said: one fault is one line
    findings = findings + [_finding(root, each) for each in problems if each.loc not in known]
    if findings or value is None:
        raise refuse(label, findings)
    return Parsed(value, Places(root, label))


def _finding(root: Node, problem: Problem) -> Finding:
    message = problem.message
    node = root.at(problem.loc)
    if problem.quotable and node is not None and node.spelling:
        message += f'; put it in quotes: "{node.spelling}"'
    return Finding(root.place_of(problem.loc, key=problem.about_key), problem.loc, message)


def _wanted(model: type[BaseModel]) -> str:
    required = [entry.alias or name for name, entry in model.model_fields.items() if entry.is_required()]
    return f"; it needs {', '.join(required)}" if required else ""


def _apply(root: Node, argument: str, rank: int, model: type[BaseModel]) -> tuple[Node, list[Finding]]:
    """The tree with one --set done, or the old tree and what is wrong with the argument."""
    shown = " ".join(argument.split())
    label = f"--set {shown if len(shown) <= 60 else shown[:57] + '...'}"
    place = Place(rank, 0, 0, label)
    name, equals, text = argument.partition("=")
    parts: Loc = tuple(
        int(part) if re.fullmatch("[0-9]{1,9}", part) else part for part in name.strip().split(".")
    )
    if not equals or "" in parts:
        return root, [Finding(place, (), "expected --set key.path=value")]
    try:
        value, findings = read_tree(text, label, rank)
    except UserError as error:
        return root, [Finding(place, (), (error.where or error.what).removeprefix(f"{label}: "))]
    if findings:
        return root, [Finding(place, (*parts, *each.loc), each.message) for each in findings]
    try:
        return _replace(root, parts, (), value or Node(None, place, spelling=""), model), []
    except _NoSuchPlace as error:
        return root, [Finding(place, error.loc, error.message)]


class _NoSuchPlace(Exception):
    def __init__(self, loc: Loc, message: str) -> None:
        super().__init__(message)
        self.loc = loc
        self.message = message


def _replace(node: Node, parts: Loc, done: Loc, value: Node, model: type[BaseModel]) -> Node:
    """`node` with the value at `parts` replaced. Other nodes stay as they are, so aliases never change along.

    The last key may be new: validation says if it is unknown. A key on the way there may be new only where
    the model has it, or `--set sources.wbe.max_bytes=1MB` would make a new source.
    """
    if not parts:
        return value
    part, rest = parts[0], parts[1:]
    if isinstance(node.value, list):
        index = part if isinstance(part, int) else _index_by_key(node.value, part, done)
        if index >= len(node.value):
            count = "1 entry" if len(node.value) == 1 else f"{len(node.value)} entries"
            raise _NoSuchPlace((*done, part), f"the list has {count}, counted from 0")
        if isinstance(part, str):  # the name stands for the entry and for the key in it
            rest = parts
        items = list(node.value)
        items[index] = _replace(items[index], rest, (*done, index), value, model)
        return Node(items, node.place)
    if not isinstance(node.value, dict):
        if node.value is not None:
            raise _NoSuchPlace(done, f"has no parts: it is {describe(node.value)}, not a mapping or a list")
        node = Node({}, node.place)  # `steps: - exact_dedup:` has an empty mapping to come
    assert isinstance(node.value, dict)
    key = str(part)
    names = names_at(model, done)
    below = node.value.get(key)
    if below is None and rest:
        if key not in names:
            message = f"there is no such key here{did_you_mean(key, names or list(node.value))}"
            raise _NoSuchPlace((*done, key), message)
        below = Node({}, value.place)
    new = _replace(below, rest, (*done, key), value, model) if below is not None else value
    place = value.place if not rest or key not in node.keys else node.keys[key]
    return Node({**node.value, key: new}, node.place, {**node.keys, key: place})


def _index_by_key(items: list[Node], key: str, done: Loc) -> int:
    """The index of the entry `- key: ...` of a list, for --set steps.normalize.unicode=NFC."""
    has = [index for index, item in enumerate(items) if item.child(key) is not None]
    if len(has) == 1:
        return has[0]
    if has:
        numbers = ", ".join(map(str, has))
        raise _NoSuchPlace((*done, key), f"several entries have it: say which by its number, {numbers}")
    choices = [each for item in items if isinstance(item.value, dict) for each in item.value]
    count = "1 entry" if len(items) == 1 else f"{len(items)} entries"
    message = f"a list of {count}, counted from 0, of which none has this key{did_you_mean(key, choices)}"
    raise _NoSuchPlace((*done, key), message)
