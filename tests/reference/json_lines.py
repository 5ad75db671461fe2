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
    bad: list[tuple[int, int, str]] = field(default_factory=list)  # position, line, reason


class Number(str):
    """A number as it is written."""


class Refused(Exception):
    pass


def read(data: bytes, max_line_bytes: int = 100 << 20) -> Found:
    """All records of a decompressed file with the fields "text" and "id"."""
    found = Found()
    position = 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        mark = 3 if number == 1 and line.startswith(b"\xef\xbb\xbf") else 0
        content = line[mark:].strip(b" \t\r")
        try:
            if len(line) > max_line_bytes:
                raise Refused("too_long")
            if content:
                own_id, text = document(content)
                found.documents.append((position + mark, own_id, text))
        except Refused as refused:
            found.bad.append((position + mark, number, str(refused)))
        position += len(line) + 1
    return found


def document(line: bytes) -> tuple[str | None, str]:
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
    text, own_id = value.get("text"), value.get("id")
    if text is None:
        raise Refused("missing_text")
    if not isinstance(text, str) or isinstance(text, Number):
        raise Refused("text_not_string")
    if own_id is not None and not isinstance(own_id, str):
        raise Refused("bad_id")
    return own_id, text


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


def unescape(value: str) -> tuple[str, str]:
    """Kind and text of a JSON value: what the kernel makes of it."""
    parsed = json.loads(value, parse_int=Number, parse_float=Number)
    if isinstance(parsed, Number):
        return "number", value
    if isinstance(parsed, str):
        return "string", parsed
    return ("null" if parsed is None else "other"), ""
