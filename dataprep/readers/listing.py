"""From the path patterns of a recipe to a sorted list of input files.

Lists and never opens; what to do with a file is for `dataprep.readers.splits`. How patterns match is in
`dataprep.readers.patterns`, which variables they may hold in `dataprep.readers.variables`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dataprep.readers.patterns import matches, name_matches, split_base
from dataprep.readers.variables import expand_variables
from manifests.errors import UserError

__all__ = ["InputFile", "expand_variables", "list_inputs"]


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input file as listed.

    path      absolute
    name      the path relative to the part of its pattern before the first wildcard, "/" separated: what
              manifests and reports call the file; unique within a listing
    """

    path: str
    name: str
    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class StreamedFile(InputFile):
    """A file inside another one: its decompressed content comes from `pieces`, once and in order. Such files
    exist only while a reader walks the archive that holds them; no listing and no plan has any."""

    pieces: Iterator[bytes]


def list_inputs(patterns: Sequence[str], exclude: Sequence[str] = ()) -> list[InputFile]:
    """Files that match any of `patterns` and none of `exclude`, each once, sorted by name.

    A relative pattern starts at the current folder. A pattern of `exclude` is matched against the name and,
    read as a path in the same way, against the whole path; it may match nothing. Names that two files would
    share get as many more leading folders as tell them apart. UserError: a pattern (or its files after
    `exclude`) that matches nothing, a folder, a file that cannot be read.
    """
    excluded = [each for pattern in exclude for each in expand_variables(pattern)]
    bases: dict[str, str] = {}  # path -> the folder that its name is relative to; the first pattern decides
    for pattern in patterns:
        found = _match(pattern)
        if not found:
            hint = "check the spelling; a relative path starts at the folder where the command runs"
            raise UserError("no input matched", where=pattern, hint=hint)
        for path, base in found.items():
            bases.setdefault(path, base)
    absolute = [_absolute(each) for each in excluded]
    kept = {
        path: os.path.relpath(path, base)
        for path, base in bases.items()
        if not any(name_matches(os.path.relpath(path, base), each) for each in excluded)
        and not any(name_matches(path, each) for each in absolute)
    }
    if not kept:
        raise UserError("exclude leaves no input", where=", ".join(patterns), hint="exclude less")
    files = [_describe(path, name) for path, name in _distinct_names(kept).items()]
    return sorted(files, key=lambda file: file.name)


def _match(pattern: str) -> dict[str, str]:
    """Path -> base of all files that a pattern matches after its variables are expanded."""
    found: dict[str, str] = {}
    for each in expand_variables(pattern):
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", each):
            raise UserError("only local files can be read so far", where=pattern)
        base, segments = split_base(_absolute(each))
        try:
            for path in matches(base, segments):
                found.setdefault(path, base)
        except PermissionError as error:
            raise UserError("no permission to list a folder", where=error.filename) from error
    return found


def _absolute(pattern: str) -> str:
    # abspath, so that "./x", "x/../x" and "x" name one file once; it leaves wildcards alone
    return os.path.abspath(os.path.expanduser(pattern))


def _distinct_names(names: dict[str, str]) -> dict[str, str]:
    """Path -> name, lengthened by leading folders until no two are the same."""
    names = dict(names)
    while True:
        paths_of: dict[str, list[str]] = {}
        for path, name in names.items():
            paths_of.setdefault(name, []).append(path)
        shared = [path for paths in paths_of.values() if len(paths) > 1 for path in paths]
        if not shared:
            return names
        for path in shared:
            segments = path.split("/")
            names[path] = "/".join(segments[-(names[path].count("/") + 2) :])


def _describe(path: str, name: str) -> InputFile:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise UserError("the name of an input is not valid UTF-8", where=ascii(path)) from error
    try:
        status = os.stat(path)
    except OSError as error:
        raise UserError(f"cannot read an input: {error.strerror}", where=path) from error
    if stat.S_ISDIR(status.st_mode):
        hint = f'name the files in it, for example "{path}/**/*.jsonl"'
        raise UserError("a folder where a file should be", where=path, hint=hint)
    if not stat.S_ISREG(status.st_mode):
        raise UserError("not a regular file", where=path, hint="leave it out with exclude:")
    if not os.access(path, os.R_OK):
        raise UserError("no permission to read an input", where=path)
    return InputFile(path, name, status.st_size, status.st_mtime_ns)
