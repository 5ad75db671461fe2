"""gopher_quality: the quality rules of Gopher (Rae et al. 2021, arXiv:2112.11446, appendix A1.1), as
datatrove has them, which is what FineWeb and most corpora after it mean by "Gopher". No two tools agree on
the details.

`definition: datatrove` is GopherQualityFilter of datatrove 0.10.1 for English: its counts, its strict
comparisons, its order, its reasons. What differs: words come from `kernels/words.py` and not from spaCy (99.5
to 100 % of verdicts are the same on the English sources of the data pack), all rules are judged and not only
up to the first that drops, and a text without words or lines is no error.

A parameter that is null or 0 switches its check off. datatrove's names: min_words is min_doc_words,
mean_word_length is avg_word_length, and its max_non_alpha_words_ratio, a least share of alphabetic words,
is here what it does. Repetition is another step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator

from dataprep.batch import Batch
from dataprep.kernels.quality import COUNTS, quality_counts
from dataprep.kernels.stop_words import MAX_STOP_WORDS
from dataprep.kernels.words import find_words
from dataprep.steps.base import Check, Params, Rule, Signals, above, below, ratio, unicode_version

Count = Annotated[int, Field(ge=0)]
Length = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Ratio = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class GopherQualityParams(Params):
    """Thresholds. The word limits and mean lengths leave out words that are symbols; the ratios do not."""

    definition: Literal["datatrove"] = "datatrove"
    min_words: Count | None = 50
    max_words: Count | None = 100_000
    min_mean_word_length: Length | None = 3.0
    max_mean_word_length: Length | None = 10.0
    max_symbol_word_ratio: Length | None = 0.1
    max_bullet_lines_ratio: Ratio | None = 0.9
    max_ellipsis_lines_ratio: Ratio | None = 0.3
    min_alphabetic_words_ratio: Ratio | None = 0.8
    min_stop_words: Count | None = 2
    stop_words: Annotated[tuple[str, ...], Field(strict=False, max_length=MAX_STOP_WORDS)] = (
        "the", "be", "to", "of", "and", "that", "have", "with",
    )  # fmt: skip

    @field_validator("stop_words")
    @classmethod
    def _words(cls, stop_words: tuple[str, ...]) -> tuple[str, ...]:
        if not all(stop_words):
            raise ValueError("holds an empty word")
        return stop_words


def measure(batch: Batch, params: GopherQualityParams) -> Signals:
    """int64[n] for each name of `kernels.quality.COUNTS`."""
    words = batch.derived(find_words)
    counts = quality_counts(batch.texts.data, batch.texts.offsets, params.stop_words, words)
    return {name: np.ascontiguousarray(counts[:, column]) for column, name in enumerate(COUNTS)}


def checks(signals: Signals, params: GopherQualityParams) -> Sequence[Check]:
    """datatrove's ten reasons in its order. A limit of 0 is off, as there."""
    words, lines = signals["words"], signals["lines"]
    non_symbol = signals["non_symbol_words"]
    mean_length = ratio(signals["non_symbol_characters"], non_symbol)
    max_symbols = params.max_symbol_word_ratio or None
    return (
        below("gopher_short_doc", non_symbol, params.min_words),
        above("gopher_long_doc", non_symbol, params.max_words or None),
        below("gopher_below_avg_threshold", mean_length, params.min_mean_word_length),
        above("gopher_above_avg_threshold", mean_length, params.max_mean_word_length or None),
        above("gopher_too_many_hashes", ratio(signals["hashes"], words), max_symbols),
        above("gopher_too_many_ellipsis", ratio(signals["ellipses"], words), max_symbols),
        above(
            "gopher_too_many_bullets",
            ratio(signals["bullet_lines"], lines),
            params.max_bullet_lines_ratio or None,
        ),
        above(
            "gopher_too_many_end_ellipsis",
            ratio(signals["ellipsis_lines"], lines),
            params.max_ellipsis_lines_ratio or None,
        ),
        below(
            "gopher_below_alpha_threshold",
            ratio(signals["alphabetic_words"], words),
            params.min_alphabetic_words_ratio,
        ),
        below("gopher_enough_stop_words", signals["stop_words"], params.min_stop_words),
    )


GOPHER_QUALITY = Rule(
    name="gopher_quality",
    version=1,
    params=GopherQualityParams,
    measure=measure,
    checks=checks,
    measuring=frozenset({"definition", "stop_words"}),
    depends=unicode_version,
)
