"""Path patterns: which files match, walked in a way that ends and gives the same answer on every machine.

`*`, `?` and `[...]` match inside one name, and names that start with a dot only where the pattern writes the
dot. `**` as a whole segment matches any number of folders, hidden ones and links to folders excepted, so that
a loop of links cannot trap it; a segment that names or matches a link to a folder follows it. Matching is by
case. Variables such as ${python:stdlib} are expanded before, in `dataprep.readers.variables`.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator

_MAGIC = re.compile(r"[*?[]")
_ESCAPED = re.compile(r"\[([*?[])\]")  # as glob.escape writes a literal *, ? or [


def split_base(pattern: str) -> tuple[str, list[str]]:
    """The folder before the first wildcard, and the segments from there on.

    A pattern without a wildcard is split before its last segment. `pattern` is absolute.
    """
    segments = pattern.split("/")
    literals = [_literal(segment) for segment in segments]
    cut = next((at for at, literal in enumerate(literals) if literal is None), len(segments) - 1)
    return "/".join(literal for literal in literals[:cut] if literal is not None) or "/", segments[cut:]


def matches(base: str, segments: list[str]) -> Iterator[str]:
    """Paths of everything but folders under `base` that matches; a literal last segment may match a folder.

    Unsorted; each path once, unless two `**` reach it in different ways.
    """
    if not segments:
        return
    first, rest = segments[0], segments[1:]
    literal = _literal(first)
    if first == "**":
        yield from matches(base, rest or ["*"])
        for entry in _entries(base):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from matches(entry.path, segments)
    elif literal is not None:
        path = os.path.join(base, literal)
        if rest and os.path.isdir(path):
            yield from matches(path, rest)
        elif not rest and os.path.lexists(path):
            yield path
    else:
        wanted = re.compile(fnmatch.translate(first))
        for entry in _entries(base):
            if not wanted.match(entry.name) or (entry.name.startswith(".") and not first.startswith(".")):
                continue
            if rest and _is_folder(entry):
                yield from matches(entry.path, rest)
            elif not rest and not _is_folder(entry):
                yield entry.path


def name_matches(name: str, pattern: str) -> bool:
    """Whether a whole name or path matches; here `*` and `**` match names with a leading dot too."""
    return _segments_match(name.split("/"), pattern.split("/"))


def _segments_match(names: list[str], segments: list[str]) -> bool:
    if not segments:
        return not names
    if segments[0] == "**":
        return any(_segments_match(names[at:], segments[1:]) for at in range(len(names) + 1))
    return (
        bool(names)
        and fnmatch.fnmatchcase(names[0], segments[0])
        and _segments_match(names[1:], segments[1:])
    )


def _literal(segment: str) -> str | None:
    """The name that a segment stands for, or None where it holds a wildcard."""
    return None if _MAGIC.search(_ESCAPED.sub("", segment)) else _ESCAPED.sub(r"\1", segment)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself; whoever opens it will say so
        return False


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
