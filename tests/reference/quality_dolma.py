"""Slow twin of `dataprep/kernels/quality_dolma.py`."""

from __future__ import annotations

import statistics
from collections.abc import Collection

from dataprep.kernels.quality_dolma import LONGEST


def counts(text: str, stop_words: Collection[str]) -> dict[str, int]:
    """The signals of one text by name, in the order of `COUNTS`."""
    words, lines = text.split(), text.split("\n")
    lengths = [min(len(word), LONGEST) for word in words]
    return {
        "words": len(words),
        "twice_median_length": int(2 * statistics.median(lengths)) if words else 0,
        "symbol_words": sum("#" in word or "\u2026" in word for word in words),
        "alphabetic_words": sum(any(map(str.isalpha, word)) for word in words),
        "stop_words": sum(word in stop_words for word in words),
        "lines": len(lines),
        "bullet_lines": sum(line.startswith(("*", "-")) for line in lines),
        "ellipsis_lines": sum(line.endswith("\u2026") for line in lines),
    }
