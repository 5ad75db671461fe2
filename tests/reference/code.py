"""Slow twin of `dataprep/kernels/code.py` and `dataprep/kernels/encoded.py`: Python's own expressions."""

from __future__ import annotations

import re
from collections.abc import Collection

ENCODED = [
    re.compile(r"[a-zA-Z0-9+/\n=]{64,}"),
    re.compile(r"(?:\b(?:0x|\\x)?[0-9a-fA-F]{2}(?:,|\b\s*)){8,}"),
    re.compile(r"(?:\\u[0-9a-fA-F]{4}){8,}"),
]


def lower(text: str) -> str:
    """ASCII letters in lower case, nothing else."""
    return text.encode().lower().decode()


def counts(text: str, marks: Collection[str], mark_lines: int) -> dict[str, int]:
    """The signals of one text by name, in the order of `COUNTS`."""
    lines = text.splitlines()
    matches = [len(match.group()) for expression in ENCODED for match in expression.finditer(text)]
    top = lower("".join(text.splitlines(keepends=True)[:mark_lines]))
    return {
        "characters": len(text),
        "letters": sum(map(str.isalpha, text)),
        "alphanumerics": sum(map(str.isalnum, text)),
        "lines": len(lines),
        "line_characters": sum(map(len, lines)),
        "longest_line": max(map(len, lines), default=0),
        "encoded_characters": sum(matches),
        "longest_encoded": max(matches, default=0),
        "generated_marks": int(any(mark in top for mark in marks)),
        "xml_header": int("<?xml version=" in text[:100]),
    }
