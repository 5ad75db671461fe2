"""Which format a file's name stands for."""

from __future__ import annotations

import posixpath

COMPRESSION_SUFFIXES = (".gz", ".zst", ".bz2", ".xz")
FORMATS_BY_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",  # many corpora name their JSON lines so
    ".parquet": "parquet",
    ".csv": "csv",
    ".txt": "text",
    ".md": "text",
    ".rst": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".warc": "warc",
    ".arc": "warc",
    ".wet": "wet",
    ".tar": "archive",
    ".tgz": "archive",
    ".tzst": "archive",
    ".txz": "archive",
    ".tbz2": "archive",
    ".zip": "archive",
}
NOT_STREAMED = ("parquet",)
"""Formats that are read from their end, so that no archive can hold them."""


def format_of(name: str) -> str | None:
    """The format that a file's suffix stands for, or None; a suffix of compression is looked through."""
    for suffix in COMPRESSION_SUFFIXES:
        name = name.removesuffix(suffix)
    return FORMATS_BY_SUFFIX.get(posixpath.splitext(name)[1].lower())


def resolve(format: str, name: str) -> str | None:
    """The format to read a file with, where the recipe says `format`, which may be "auto". What it says of an
    archive it says of the members. None: the name tells nothing."""
    found = format_of(name)
    if format == "auto" or (found == "archive" and format not in NOT_STREAMED):
        return found
    return format
