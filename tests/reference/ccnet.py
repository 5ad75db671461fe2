"""CCNet's perplexity of a document, the plain way, as cc_net/text_normalizer.py and cc_net/perplexity.py of
github.com/facebookresearch/cc_net define it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

MARKS = "，。、„”“«»」「《》´∶：？！（）；–～’━〈〉【】％►"
PLAIN = """,.,\"\"\"\"\"\"\"\"\"'::?!();-~'-<>[]%-"""
PUNCTUATION = dict(zip(MARKS, PLAIN, strict=True)) | {"—": " - ", "．": ". ", "…": "..."}


def normalize(line: str) -> str:
    line = line.strip()
    if line == "":
        return ""
    kept = []
    for char in unicodedata.normalize("NFD", line.lower()):
        if unicodedata.category(char) != "Mn":
            kept.append("0" if char.isdecimal() else char)
    replaced = "".join(PUNCTUATION.get(char, char) for char in kept)
    return "".join(char for char in replaced if not (ord(char) < 32 or 127 <= ord(char) < 160))


def perplexity(
    text: str, score: Callable[[str], float], pieces: Callable[[str], list[str]] | None = None
) -> float | None:
    """None where CCNet gives a document none."""
    if pieces is not None:
        text = " ".join(pieces(normalize(text)))
    if text == "":
        return None
    log10, tokens = 0.0, 0
    for line in text.split("\n"):
        line = line if pieces is not None else normalize(line)
        log10 += score(line)
        tokens += len(line.split()) + 1
    return float(10 ** (-log10 / tokens))
