"""Core metadata of Python distributions (METADATA files): the long description is the text, one document a
file.

The format is that of e-mail headers: the description is what follows the first blank line, or the value of
the header "Description" (older files), folded over lines that start with white space and perhaps a bar. A
distribution without a description (or with the old placeholder UNKNOWN) gives an empty text, for a rule to
drop: it is not malformed. Everything about bytes, encodings and sizes is as in `dataprep.readers.text`.

Parsed here and not by the standard library's e-mail parser, whose results depend on the version of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dataprep.readers.extents import Split
from dataprep.readers.records import Chunk, ReadOptions
from dataprep.readers.text import decode, read_whole_files

VERSION = 1
_FOLD = re.compile(r" {7}\|| {1,8}|\t")  # what starts a folded line, by the specification and by older tools


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """One record a file."""
    return read_whole_files(split, options, lambda content: long_description(decode(content)))


def long_description(metadata: str) -> str:
    """The long description in the text of a METADATA file, or ""."""
    lines = metadata.replace("\r\n", "\n").split("\n")
    end = lines.index("") if "" in lines else len(lines)
    text = "\n".join(lines[end:]).strip("\n")
    if not text.strip():
        text = _header(lines[:end], "description").strip("\n")
    return "" if text.strip() in ("", "UNKNOWN") else text


def _header(lines: list[str], name: str) -> str:
    for at, line in enumerate(lines):
        key, colon, value = line.partition(":")
        if colon and key.strip().lower() == name:
            folded = [value.strip()]
            for more in lines[at + 1 :]:
                if not more.startswith((" ", "\t")):
                    break
                folded.append(_FOLD.sub("", more, count=1))
            return "\n".join(folded)
    return ""
