"""Slow twin of `dataprep/readers/jsonl.py` and the kernels under it: JSON lines by the letter of its
docstring.

Python's json module does the parsing, so that nothing is shared with what is tested.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NoReturn

MAX_DEPTH = 200


@dataclass
class Found:
    documents: list[tuple[int, str | None, str]] = field(default_factory=list)  # position, id, text
    carried: list[list[Any]] = field(default_factory=list)  # parsed, None where missing
    bad: list[tuple[int, int, str]] = field(default_factory=list)  # position, line, reason


class Number(str):
    """A number as it is written."""


class Refused(Exception):
    pass


def read(
    data: bytes,
    max_line_bytes: int = 100 << 20,
    text: str | list[Any] = "text",
    own_id: str = "id",
    carry: tuple[str, ...] = (),
) -> Found:
    """All records of a decompressed file. `text`: a path, or for a template a list of literals and (path,
    optional) pairs."""
    found = Found()
    position = 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        mark = 3 if number == 1 and line.startswith(b"\xef\xbb\xbf") else 0
        content = line[mark:].strip(b" \t\r")
        try:
            if len(line) > max_line_bytes:
                raise Refused("too_long")
            if content:
                value = parsed(content)
                document = text_of(value, text)
                if len(document.encode()) > max_line_bytes:
                    raise Refused("too_long")
                found_id = lookup(value, own_id)
                if found_id is not None and not isinstance(found_id, str):
                    raise Refused("bad_id")
                found.documents.append((position + mark, found_id, document))
                found.carried.append([lookup(value, path) for path in carry])
        except Refused as refused:
            found.bad.append((position + mark, number, str(refused)))
        position += len(line) + 1
    return found


def lookup(value: Any, path: str) -> Any:
    """A key that is spelled like the whole path, else a way into an object; None where there is neither."""
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    key, dot, rest = path.partition(".")
    return lookup(value.get(key), rest) if dot else None


def text_of(value: dict[str, Any], wanted: str | list[Any]) -> str:
    if isinstance(wanted, str):
        text = lookup(value, wanted)
        if text is None:
            raise Refused("missing_text")
        if not isinstance(text, str) or isinstance(text, Number):
            raise Refused("text_not_string")
        return text
    pieces = []
    for part in wanted:
        if isinstance(part, str):
            pieces.append(part)
            continue
        path, optional = part
        piece = lookup(value, path)
        if piece is None and not optional:
            raise Refused("missing_text")
        if piece is not None and not isinstance(piece, str):
            raise Refused("text_not_string")
        pieces.append(piece or "")
    return "".join(pieces)


def parsed(line: bytes) -> dict[str, Any]:
    try:
        decoded = line.decode()
    except UnicodeDecodeError as error:
        raise Refused("invalid_utf8") from error
    if depth(decoded) > MAX_DEPTH:
        raise Refused("too_deep")
    try:
        value = json.loads(decoded, parse_int=Number, parse_float=Number, parse_constant=refuse_constant)
    except ValueError as error:
        raise Refused("not_json") from error
    if has_surrogate(value) or keys_lost_a_surrogate(decoded):
        raise Refused("lone_surrogate")
    if not isinstance(value, dict):
        raise Refused("not_object")
    return value


def depth(line: str) -> int:
    now = deepest = 0
    in_string = escaped = False
    for character in line:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            now += 1
            deepest = max(deepest, now)
        elif character in "]}":
            now -= 1
    return deepest


def has_surrogate(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(has_surrogate, [*value, *value.values()]))
    if isinstance(value, list):
        return any(map(has_surrogate, value))
    return isinstance(value, str) and any(0xD800 <= ord(character) < 0xE000 for character in value)


def keys_lost_a_surrogate(line: str) -> bool:
    """Whether a value that a later one with the same key replaced held a lone surrogate."""
    pairs = json.loads(line, parse_int=Number, object_pairs_hook=lambda pairs: [list(pair) for pair in pairs])
    return has_surrogate(pairs)


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def unescape(value: str, keep_other: bool = False) -> tuple[str, str]:
    """Kind and text of a JSON value: what the kernel makes of it."""
    parsed = json.loads(value, parse_int=Number, parse_float=Number)
    if isinstance(parsed, Number):
        return "number", value
    if isinstance(parsed, str):
        return "string", parsed
    if parsed is None:
        return "null", ""
    return "other", compact(value) if keep_other else ""


def compact(value: str) -> str:
    """JSON without white space outside its strings."""
    kept, in_string, escaped = [], False, False
    for character in value:
        if in_string or character not in " \t\n\r":
            kept.append(character)
        if character == '"' and not escaped:
            in_string = not in_string
        escaped = character == "\\" and not escaped
    return "".join(kept)
