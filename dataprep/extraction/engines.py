"""The parsers that take text out of HTML. Imported where they run, in the worker process.

An engine is a function of its options that returns a function from HTML to text. A third one is added to
ENGINES and to the parameters of the step.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

Extract = Callable[[str], str]


def resiliparse(options: Mapping[str, Any]) -> Extract:
    """`extract_plain_text` of resiliparse, with its own names for the options."""
    from resiliparse.extract.html2text import extract_plain_text

    keywords = {**options, "preserve_formatting": options["formatting"]}
    del keywords["formatting"]
    return lambda html: extract_plain_text(html, **keywords)


def trafilatura(options: Mapping[str, Any]) -> Extract:
    """`extract` of trafilatura, as plain text; "" where it finds nothing."""
    import logging

    from trafilatura import extract

    logging.disable()  # it complains of pages on stderr
    keywords = {
        "favor_precision": options["favor"] == "precision",
        "favor_recall": options["favor"] == "recall",
        "include_comments": options["comments"],
        "include_tables": options["tables"],
        "include_formatting": options["formatting"],
        "include_links": options["links"],
        "fast": options["fast"],
        "deduplicate": False,  # it would remember earlier pages
    }
    return lambda html: extract(html, **keywords) or ""


ENGINES: dict[str, Callable[[Mapping[str, Any]], Extract]] = {
    "resiliparse": resiliparse,
    "trafilatura": trafilatura,
}


def make_engine(name: str, options: Mapping[str, Any]) -> Extract:
    """The engine of a name in ENGINES; tests name a function of their own as `package.module:function`."""
    if name in ENGINES:
        return ENGINES[name](options)
    module, function = name.split(":")
    made: Extract = getattr(importlib.import_module(module), function)(options)
    return made
