"""Values that know where they were written: what a YAML file is turned into, and how its faults are listed.

A `Node` tree is made by `yaml_tree.py`; `strict.py` applies --set to it and validates it. It is never changed
in place, since an alias may make one node a part of several others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from manifests.errors import UserError

Scalar = None | bool | int | float | str
Loc = tuple[str | int, ...]
"""A way from the top of the tree: keys and list indices."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something was written. Places sort in reading order: the file by line, then each --set."""

    rank: int  # 0: the file; 1, 2, ...: the arguments after it
    line: int  # from 1; 0 where there are no lines
    column: int
    label: str

    def __str__(self) -> str:
        return f"{self.label}:{self.line}" if self.line else self.label


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it was written.

    keys       places of a mapping's keys
    spelling   a scalar as written: 1.10 is the number 1.1
    """

    value: Scalar | dict[str, Node] | list[Node]
    place: Place
    keys: Mapping[str, Place] = field(default_factory=dict)
    spelling: str | None = None

    def plain(self) -> Any:
        """The value without places: None, bool, int, float, str, list, dict."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def child(self, part: str | int) -> Node | None:
        if isinstance(self.value, dict) and isinstance(part, str):
            return self.value.get(part)
        if isinstance(self.value, list) and isinstance(part, int) and 0 <= part < len(self.value):
            return self.value[part]
        return None

    def at(self, loc: Loc) -> Node | None:
        node: Node | None = self
        for part in loc:
            node = node.child(part) if node is not None else None
        return node

    def place_of(self, loc: Loc, key: bool = False) -> Place:
        """Where the value at `loc` was written, or the innermost one around it that exists.

        A mapping or list is said to be where its key is: its own first line is that of its first entry, which
        may be about something else. `key` asks for the place of the key of a scalar, too.
        """
        place = self.place
        node: Node = self
        for index, part in enumerate(loc):
            below = node.child(part)
            if below is None:
                break
            is_scalar = not isinstance(below.value, dict | list)
            at_value = part not in node.keys or (is_scalar and not (key and index == len(loc) - 1))
            place = below.place if at_value else node.keys[str(part)]
            node = below
        return place


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, where, and with which field.

    unread   there is no value at `loc` because of it, so that validation will find another fault there
    """

    place: Place
    loc: Loc
    message: str
    unread: bool = False

    def __str__(self) -> str:
        parts = self.loc if len(self.loc) <= 12 else (*self.loc[:10], "...", self.loc[-1])
        name = ".".join(map(str, parts))
        return f"{self.place}: {name}: {self.message}" if name else f"{self.place}: {self.message}"


def refuse(label: str, findings: Sequence[Finding]) -> UserError:
    """Return one error that lists all findings in reading order, each once."""
    lines = list(dict.fromkeys(str(each) for each in sorted(findings, key=lambda each: each.place)))
    count = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
    return UserError(f"{count} in {label}", where="\n".join(lines))


def node_of(value: Any, place: Place) -> Node:
    """A tree for plain values that were written in no file; every node is at `place`."""
    if isinstance(value, Mapping):
        children = {str(key): node_of(child, place) for key, child in value.items()}
        return Node(children, place, dict.fromkeys(children, place))
    if isinstance(value, list | tuple):
        return Node([node_of(child, place) for child in value], place)
    return Node(value, place)
