"""Older versions of a manifest made into the newest: one pure function from each version to the next.

They work on the JSON, before any model has seen it, and none is ever removed; what else a value may be is for
the models to refuse. `manifest.py` applies them, after the digest was checked against the file as written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
"""A manifest as JSON gives it, of any version."""


def _to_version_2(data: Json) -> Json:
    """Version 1 knew corpora of `dataprep run` only: shuffled, hashed by text, dtype by Megatron's rule."""
    known = {"order": "shuffled", "content_hash": "text"}
    sources = data.get("sources")
    if isinstance(sources, dict):  # what else it may be is for the models to refuse
        sources = {
            name: {**source, **known} if isinstance(source, dict) else source
            for name, source in sources.items()
        }
    return {**data, "format_version": 2, "sources": sources}


def _to_version_3(data: Json) -> Json:
    """Version 2 did not say which evaluation sets a corpus was checked against, nor what later corpora may be
    held against."""
    lineage = data.get("lineage")
    if isinstance(lineage, dict):
        lineage = {**lineage, "evals": []}
    return {"dedup": None, **data, "format_version": 3, "lineage": lineage}


def _to_version_4(data: Json) -> Json:
    """Version 3 knew no begin-of-text token before each document, and no packed rows."""
    tokenizer = data.get("tokenizer")
    if isinstance(tokenizer, dict):
        tokenizer = {**tokenizer, "prepend_bos": False}
    return {"packings": [], **data, "format_version": 4, "tokenizer": tokenizer}


UPGRADES: dict[int, Callable[[Json], Json]] = {1: _to_version_2, 2: _to_version_3, 3: _to_version_4}
"""From a format version to the function that makes it the next one."""
