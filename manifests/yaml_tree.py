"""YAML text to a tree of nodes that know where they were written.

The dialect is the small, safe part of YAML 1.2: mappings with text keys, lists, scalars of the core schema.
What YAML 1.1 readers get wrong in configuration files is not here: `yes`, `no`, `on` and `off` are text,
`1e-3` is a number, `010` and dates are text. Refused, each with its line: duplicate keys, tags, merge keys,
keys that are not text, infinities, a second document, and aliases that refer to themselves or multiply.

PyYAML scans and parses; its constructors, which are where files run code, are never used. The nodes are in
`nodes.py`; whether their values are right is `strict.py`'s business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from manifests.errors import UserError
from manifests.nodes import Finding, Loc, Node, Place, Scalar, refuse

MAX_BYTES = 1 << 20  # PyYAML reads about 100 kB/s: a larger file is a mistake that would look like a hang
MAX_NODES = 100_000  # counted with every alias written out, so "billion laughs" ends here
MAX_DEPTH = 50

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,38})")  # neither 010 (8 or 10?) nor a number of 5,000 digits
_HEX_OCTAL = re.compile(r"0x[0-9a-fA-F]{1,32}|0o[0-7]{1,42}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_STAR = 'an unquoted "*" begins an alias; put quotes around a pattern'
_MISFIT = "expected <block end>, but found"
_SURROGATE = re.compile("[\ud800-\udfff]")

_PLAINER = {
    "mapping values are not allowed here": 'a second ": " on one line; quote text that holds ": "',
    "could not find expected ':'": 'a line without ": "; is a "key: value" or a list dash "- " missing?',
    "expected ',' or ']', but got '<stream end>'": 'a "[" is never closed',
    "expected ',' or '}', but got '<stream end>'": 'a "{" is never closed',
    "found unexpected end of stream": "a quote is never closed",
    "found character '\\t' that cannot start any token": "a tab; YAML is indented with spaces",
}


def read_text(path: str | PathLike[str]) -> str:
    """The text of a UTF-8 file. Raises UserError, with the line of the first byte that is not UTF-8."""
    label = str(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        near = sorted(Path(path).parent.glob("*.y*ml")) if Path(path).parent.is_dir() else []
        hint = f"here are: {', '.join(str(each) for each in near[:10])}" if near else None
        raise UserError("no such file", where=label, hint=hint) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(f"cannot read the file: {reason.lower()}", where=label) from None
    if len(data) > MAX_BYTES:
        raise UserError(
            f"the file is larger than {MAX_BYTES:,} bytes, so it is no recipe or config", where=label
        )
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise refuse(label, [Finding(Place(0, line, 0, label), (), message)]) from None


def read_tree(text: str, label: str, rank: int = 0) -> tuple[Node | None, list[Finding]]:
    """Parse `text`; return the tree (None: there is no document) and what is wrong but could be read past.

    Raises UserError where nothing can be made of the rest. Errors name `label`, and lines if `rank` is 0.
    """
    import yaml

    builder = _Builder(label, rank)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.take(event)
    except yaml.reader.ReaderError as error:
        at = error.position
        place = builder.place_at(text.count("\n", 0, at), at - text.rfind("\n", 0, at))
        raise refuse(
            label, [Finding(place, (), f"the character U+{ord(text[at]):04X} is not allowed")]
        ) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error.context)
        if problem.startswith(_MISFIT):
            problem = "the indentation does not fit the lines above"
        elif error.context == "while scanning an alias":
            problem = _STAR
        elif problem.endswith("that cannot start any token") and "\\t" not in problem:
            problem = f"a value cannot start with {problem.split()[2]}; put quotes around it"
        message = f"not valid YAML: {_PLAINER.get(problem, problem)}"
        if error.context_mark is not None and error.context_mark.line != mark.line and rank == 0:
            message += f" (begun on line {error.context_mark.line + 1})"
        raise refuse(label, [Finding(builder.place(mark), (), message)]) from None
    except UserError:
        raise
    except (ValueError, OverflowError):  # chr() of "\UFFFFFFFF"; int() of a %YAML directive of 5,000 digits
        message = "not valid YAML: an escape or a directive with an impossible number"
        raise refuse(label, [Finding(builder.place_at(builder.line, 0), (), message)]) from None
    return builder.root, builder.findings


def load_yaml(path: str | PathLike[str]) -> Node:
    """Read a file into its tree. Raises UserError with every line that is wrong."""
    label = str(path)
    root, findings = read_tree(read_text(path), label)
    if root is None:
        raise refuse(label, [Finding(Place(0, 1, 0, label), (), "the file is empty")])
    if findings:
        raise refuse(label, findings)
    return root


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is still open."""

    place: Place
    children: dict[str, Node] | list[Node]
    anchor: str | None
    keys: dict[str, Place] = field(default_factory=dict)
    key: str | None = None  # the mapping's key that waits for its value
    key_taken: bool = False  # a key was read; with `key` None it was a bad one, and its value is dropped
    is_key: bool = False  # stands where a key should: read past and dropped
    size: int = 1
    height: int = 1


@dataclass(slots=True)
class _Builder:
    """Events of the parser to nodes, without recursion."""

    label: str
    rank: int
    root: Node | None = None
    findings: list[Finding] = field(default_factory=list)
    stack: list[_Frame] = field(default_factory=list)
    anchors: dict[str, tuple[Node, int, int]] = field(default_factory=dict)  # node, size, height
    line: int = 0

    def place_at(self, line: int, column: int) -> Place:
        return Place(self.rank, line + 1 if self.rank == 0 else 0, column, self.label)

    def place(self, mark: Any) -> Place:
        return self.place_at(mark.line, mark.column)

    def loc(self) -> Loc:
        parts: list[str | int] = []
        for frame in self.stack:
            if isinstance(frame.children, list):
                parts.append(len(frame.children))
            elif frame.key is not None:
                parts.append(frame.key)
        return tuple(parts)

    def note(self, place: Place, message: str, unread: bool = False) -> None:
        self.findings.append(Finding(place, self.loc(), message, unread))

    def stop(self, place: Place, message: str) -> UserError:
        return refuse(self.label, [*self.findings, Finding(place, self.loc(), message)])

    def take(self, event: Any) -> None:
        import yaml

        self.line = event.start_mark.line
        place = self.place(event.start_mark)
        if isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            raise self.stop(place, "a second document; one file holds one (is there a stray ---?)")
        if isinstance(event, yaml.AliasEvent):
            self.take_alias(event.anchor, place)
        elif isinstance(event, yaml.ScalarEvent):
            if self.wants_key():
                self.take_key(event, place)
            else:
                node = Node(self.scalar(event, place), place, spelling=event.value)
                self.add(node, event.anchor, 1, 0)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if event.tag not in (None, "!"):
                self.note(place, f"the tag {event.tag} is not supported")
            is_key = self.wants_key()
            if is_key:
                self.note(place, "a key must be text, not a mapping or a list")
                self.stack[-1].key_taken = True
            if len(self.stack) >= MAX_DEPTH:
                raise self.stop(place, f"nested more than {MAX_DEPTH} deep")
            empty: dict[str, Node] | list[Node] = {} if isinstance(event, yaml.MappingStartEvent) else []
            self.stack.append(_Frame(place, empty, event.anchor, is_key=is_key))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = self.stack.pop()
            if done.is_key:
                return
            self.add(Node(done.children, done.place, done.keys), done.anchor, done.size, done.height)

    def wants_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].children, dict) and not self.stack[-1].key_taken

    def take_key(self, event: Any, place: Place) -> None:
        frame = self.stack[-1]
        key = str(event.value)  # as written: `on`, `1.0` and `true` are names like any other
        frame.key_taken = True
        plain = event.implicit[0]
        if plain and key == "<<":
            self.note(place, "merge keys (<<) are not supported; write the keys out")
        elif plain and key == "":
            self.note(place, "a key is missing before the colon")
        elif _SURROGATE.search(key):
            self.note(place, "a key with half of a surrogate pair, which is no character")
        elif event.tag is not None and event.tag not in ("!", "tag:yaml.org,2002:str"):
            self.note(place, f"the tag {event.tag} is not supported")
        elif key in frame.keys:
            first = frame.keys[key]
            also = f" (first on line {first.line})" if first.line else ""
            self.note(place, f'the key "{key}" is given twice{also}')
        else:
            frame.key = key
            frame.keys[key] = place
            return

    def take_alias(self, name: str, place: Place) -> None:
        if any(frame.anchor == name for frame in self.stack):
            raise self.stop(place, f"the alias *{name} refers to something that it is part of")
        if name not in self.anchors:
            raise self.stop(place, f"the alias *{name} has no anchor &{name} above it ({_STAR})")
        if self.wants_key():
            self.note(place, "a key must be text, not an alias")
            self.stack[-1].key_taken = True
        else:
            self.add(self.anchors[name][0], None, *self.anchors[name][1:])

    def add(self, node: Node, anchor: str | None, size: int, height: int) -> None:
        """Give a finished node to the mapping or list around it."""
        if anchor is not None:
            self.anchors[anchor] = (node, size, height)
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        frame.size += size
        frame.height = max(frame.height, height + 1)
        if frame.size > MAX_NODES:
            raise self.stop(node.place, f"more than {MAX_NODES:,} values once aliases are written out")
        if len(self.stack) + height > MAX_DEPTH:
            raise self.stop(node.place, f"nested more than {MAX_DEPTH} deep once aliases are written out")
        if isinstance(frame.children, list):
            frame.children.append(node)
            return
        if frame.key is not None:
            frame.children[frame.key] = node
        frame.key, frame.key_taken = None, False

    def scalar(self, event: Any, place: Place) -> Scalar:
        text = str(event.value)
        if _SURROGATE.search(text):
            self.note(place, "half of a surrogate pair, which is no character", unread=True)
            return None
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            self.note(place, f"the tag {event.tag} is not supported", unread=True)
            return None
        if event.tag is not None or not event.implicit[0]:
            return text
        try:
            return resolve(text)
        except ValueError as error:
            self.note(place, str(error), unread=True)
            return None


def resolve(text: str) -> Scalar:
    """What an unquoted scalar means (YAML 1.2 core schema, no leading zeros). ValueError: not finite."""
    if _NULL.fullmatch(text):
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return int(text)
    if _HEX_OCTAL.fullmatch(text):
        return int(text, 0)
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a finite number")
    if _FLOAT.fullmatch(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise ValueError(f"{text} is too large for a number")
        return number
    return text
