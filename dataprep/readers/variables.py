"""Variables in path patterns: ${env:NAME}, ${python:stdlib}, ${python:metadata}, ${python:licences}.

The last three make text that every Python installation carries usable as a source without a download.
"""

from __future__ import annotations

import glob
import os
import re
import sys
import sysconfig
from collections.abc import Callable

from manifests.errors import UserError
from manifests.wording import did_you_mean

_VARIABLE = re.compile(r"\$\{([^}]*)\}")


def expand_variables(pattern: str) -> list[str]:
    """The patterns that `pattern` stands for; itself where it holds no variable.

    ${env:NAME}         the value of an environment variable, taken as a pattern
    ${python:stdlib}    the folder of the standard library of the running interpreter
    ${python:metadata}  METADATA of every installed distribution on its search path (whole pattern only)
    ${python:licences}  licence, copying and notice files of those distributions and of Python (whole pattern
                        only)
    """
    for name, patterns in _WHOLE.items():
        if pattern == f"${{{name}}}":
            return patterns()
    return [_VARIABLE.sub(lambda found: _value(found[1], pattern), pattern)]


def _value(name: str, pattern: str) -> str:
    if name == "python:stdlib":
        return glob.escape(_stdlib())
    if name.startswith("env:"):
        if name[4:] in os.environ:
            return os.environ[name[4:]]
        raise UserError(f"the environment variable {name[4:]} is not set", where=pattern)
    if name in _WHOLE:
        raise UserError(f"${{{name}}} lists files and can only stand alone", where=pattern)
    choices = ["python:stdlib", *_WHOLE, "env:NAME"]
    raise UserError(f"no variable ${{{name}}}{did_you_mean(name, choices)}", where=pattern)


def _stdlib() -> str:
    return sysconfig.get_path("stdlib")


def _metadata() -> list[str]:
    return [f"{glob.escape(folder)}/*.dist-info/METADATA" for folder in _search_path()]


def _licences() -> list[str]:
    # Letter by letter, since patterns match by case. LICENSE[.]txt: a pattern, so that it may be absent.
    names = ["[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*", "[Cc][Oo][Pp][Yy][Ii][Nn][Gg]*", "[Nn][Oo][Tt][Ii][Cc][Ee]*"]
    folders = [f"{glob.escape(folder)}/*.dist-info/**" for folder in _search_path()]
    return [
        f"{glob.escape(_stdlib())}/LICENSE[.]txt",
        *(f"{folder}/{name}" for folder in folders for name in names),
    ]


def _search_path() -> list[str]:
    """Folders on sys.path, each once, however it is spelled there."""
    return list(
        dict.fromkeys(os.path.realpath(folder) for folder in sys.path if folder and os.path.isdir(folder))
    )


_WHOLE: dict[str, Callable[[], list[str]]] = {"python:metadata": _metadata, "python:licences": _licences}
