"""gopher_quality: the quality rules of Gopher (Rae et al. 2021, arXiv:2112.11446, appendix A1.1), as one of
two tools has them. No two tools agree on the details.

`definition: datatrove` is GopherQualityFilter of datatrove 0.10.1 for English, which is what FineWeb and most
corpora after it mean by "Gopher": its counts, its strict comparisons, its order, its reasons. What differs:
words come from `kernels/words.py` and not from spaCy (99.5 to 100 % of verdicts are the same on the English
sources of the data pack), all rules are judged and not only up to the first that drops, and a text without
words or lines is no error.

`definition: dolma` is the tagger `gopher_v1` of Dolma (Soldaini et al. 2024, arXiv:2402.00159; allenai/dolma,
python/dolma/taggers/gopher.py) with the limits of its corpora, which are the same numbers: words are what
white space parts, the mean word length is a median, one share of words with "#" or an ellipsis is held
against `max_symbol_word_ratio`, stop words count every time, bullets are "*" and "-" at the very start of a
line.

A parameter that is null or 0 switches its check off. datatrove's names: min_words is min_doc_words,
mean_word_length is avg_word_length, and its max_non_alpha_words_ratio, a least share of alphabetic words,
is here what it does. Repetition is another step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from dataprep.batch import Batch
from dataprep.kernels.quality import COUNTS, quality_counts
from dataprep.kernels.quality_dolma import COUNTS as DOLMA_COUNTS
from dataprep.kernels.quality_dolma import dolma_quality_counts
from dataprep.kernels.stop_words import MAX_STOP_WORDS
from dataprep.kernels.words import find_words
from dataprep.steps.base import (
    Check,
    Params,
    Rule,
    Signals,
    above,
    below,
    ratio,
    refuse_crossed,
    unicode_version,
)
from manifests.units import Ratio

Count = Annotated[int, Field(ge=0)]
Length = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class GopherQualityParams(Params):
    """Thresholds. For datatrove the word limits and mean lengths leave out words that are symbols; the ratios
    do not."""

    definition: Literal["datatrove", "dolma"] = "datatrove"
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

    @model_validator(mode="after")
    def _limits_leave_something(self) -> GopherQualityParams:
        words, lengths = ("min_words", "max_words"), ("min_mean_word_length", "max_mean_word_length")
        refuse_crossed(self, words, lengths, zero_is_off=True)
        listed, wanted = len(set(self.stop_words)), self.min_stop_words or 0
        if wanted > listed and (self.definition == "datatrove" or not listed):  # dolma counts each time
            raise ValueError(f"min_stop_words {wanted} is more than stop_words lists, so nothing would stay")
        return self


def measure(batch: Batch, params: GopherQualityParams) -> Signals:
    """int64[n] for each name of COUNTS in `kernels.quality` or `kernels.quality_dolma`."""
    data, offsets = batch.texts.data, batch.texts.offsets
    names: Sequence[str] = COUNTS
    if params.definition == "dolma":
        names, counts = DOLMA_COUNTS, dolma_quality_counts(data, offsets, params.stop_words)
    else:
        counts = quality_counts(data, offsets, params.stop_words, batch.derived(find_words))
    return {name: np.ascontiguousarray(counts[:, column]) for column, name in enumerate(names)}


def checks(signals: Signals, params: GopherQualityParams) -> Sequence[Check]:
    """A limit of 0 is off, as in datatrove."""
    return _checks_of_dolma(signals, params) if params.definition == "dolma" else _checks(signals, params)


def _checks(signals: Signals, params: GopherQualityParams) -> Sequence[Check]:
    """datatrove's ten reasons in its order."""
    words, non_symbol = signals["words"], signals["non_symbol_words"]
    mean_length = ratio(signals["non_symbol_characters"], non_symbol)
    max_symbols = params.max_symbol_word_ratio or None
    return (
        *_checks_of_size(non_symbol, mean_length, params),
        above("gopher_too_many_hashes", ratio(signals["hashes"], words), max_symbols),
        above("gopher_too_many_ellipsis", ratio(signals["ellipses"], words), max_symbols),
        *_checks_of_shares(signals, words, params),
    )


def _checks_of_dolma(signals: Signals, params: GopherQualityParams) -> Sequence[Check]:
    """datatrove's names for what Dolma's tagger counts. A share of no words is 0, as there."""
    some_words = np.maximum(signals["words"], 1)
    symbols = ratio(signals["symbol_words"], some_words)
    return (
        *_checks_of_size(signals["words"], signals["twice_median_length"] / 2, params),
        above("gopher_too_many_symbols", symbols, params.max_symbol_word_ratio or None),
        *_checks_of_shares(signals, some_words, params),
    )


def _checks_of_size(words: Any, length: Any, params: GopherQualityParams) -> Sequence[Check]:
    return (
        below("gopher_short_doc", words, params.min_words),
        above("gopher_long_doc", words, params.max_words or None),
        below("gopher_below_avg_threshold", length, params.min_mean_word_length),
        above("gopher_above_avg_threshold", length, params.max_mean_word_length or None),
    )


def _checks_of_shares(signals: Signals, words: Any, params: GopherQualityParams) -> Sequence[Check]:
    bullets = ratio(signals["bullet_lines"], signals["lines"])
    ellipses = ratio(signals["ellipsis_lines"], signals["lines"])
    alphabetic = ratio(signals["alphabetic_words"], words)
    return (
        above("gopher_too_many_bullets", bullets, params.max_bullet_lines_ratio or None),
        above("gopher_too_many_end_ellipsis", ellipses, params.max_ellipsis_lines_ratio or None),
        below("gopher_below_alpha_threshold", alphabetic, params.min_alphabetic_words_ratio),
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
