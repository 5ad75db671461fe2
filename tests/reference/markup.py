"""Slow twin of `dataprep/kernels/markup.py`: the same counts with regular expressions and a loop."""

from __future__ import annotations

import re

from dataprep.kernels.markup import FIRST, HEAD_BYTES, IMPLIED, RAW, VOID

_COMMENT = re.compile(rb"<!--")
_START = re.compile(rb"<[a-zA-Z][^ \t-\r/>]*")
_END = re.compile(rb"</[a-zA-Z][^ \t-\r/>]*")
_NAME = re.compile(rb"</([^ \t-\r/>]*)")
_SPACE = b" \t\n\x0b\x0c\r"


def _key(name: bytes) -> bytes:
    return bytes(byte | 0x20 if 0x41 <= byte <= 0x5A else byte for byte in name[:8]).ljust(8, b"\0")


def _keys(names: tuple[str, ...]) -> set[bytes]:
    return {_key(name.encode()) for name in names}


_LEAVES, _RAW, _FIRST = _keys(VOID) | _keys(IMPLIED), _keys(RAW), _keys(FIRST)


def _tag_end(text: bytes, at: int) -> tuple[int, bool]:
    """Where the tag ends, and whether it closes itself."""
    before = b""
    while at < len(text):
        char = text[at : at + 1]
        if char == b">":
            return at + 1, before == b"/"
        if char in b"\"'" and before == b"=":
            closing = text.find(char, at + 1)
            at = len(text) if closing < 0 else closing
        if char > b" ":
            before = char
        at += 1
    return len(text), False


def _raw_end(text: bytes, at: int, key: bytes) -> int:
    for found in _NAME.finditer(text, at):
        if len(text) > found.start() + 2 and _key(found[1]) == key:
            return found.start()
    return len(text)


def _is_html(text: bytes) -> bool:
    begin = text.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)[: 2 * HEAD_BYTES]
    names = [
        (found.start(), _key(re.match(rb"[^ \t-\r/>]*", begin[found.start() + 1 :])[0]))  # type: ignore[index]
        for found in re.finditer(b"<", begin[:HEAD_BYTES])
        if found.start() + 1 < len(begin)
    ]
    if any(key in _keys(("!doctype", "html", "body")) for _, key in names):
        return True
    first = next((key for at, key in names if at == 0), b"")
    return first in _FIRST or first in _keys(("?xml",)) or first.startswith(b"!--")


def counts(text: bytes) -> tuple[int, int, int]:
    """Tags, depth, and whether it begins like a page."""
    tags = depth = deepest = at = 0
    while (at := text.find(b"<", at)) >= 0:
        if text.startswith(b"<!--", at):
            closing = text.find(b"-->", at + 2)
            at = len(text) if closing < 0 else closing + 3
        elif start := _START.match(text, at):
            key = _key(start[0][1:])
            tags += 1
            at, closes = _tag_end(text, start.end())
            if key in _RAW:
                at = _raw_end(text, at, key)
            if not closes and key not in _LEAVES:
                depth += 1
                deepest = max(deepest, depth)
        elif end := _END.match(text, at):
            tags += 1
            at, _ = _tag_end(text, end.end())
            if key_of_end(end[0]) not in _LEAVES:
                depth = max(0, depth - 1)
        else:
            at += 1
    return tags, deepest, int(_is_html(text))


def key_of_end(tag: bytes) -> bytes:
    return _key(tag[2:])
