"""c4_bad_words: drops documents in which a word of a list stands, as C4 does with a list of obscene words.

`definition: datatrove` matches as C4BadWordsFilter of datatrove 0.10.1: in lower case, where no letter, digit
or underscore is next to the word; `whole_words: false` matches anywhere, as there for Japanese, Thai and
Chinese. What differs: the list is the user's own (datatrove downloads one, and takes words off it for
Japanese and Chinese), there is one list for all documents, and the documents that `keep_fraction` spares are
chosen by their raw hash, so that a second run spares the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from dataprep.batch import Batch
from dataprep.kernels.word_list import has_word
from dataprep.steps.base import Check, Params, Rule, Signals, unicode_version
from dataprep.steps.listed import list_file, read_list
from manifests.units import Ratio

MILLION = 1_000_000


class C4BadWordsParams(Params):
    """The words, here or in a file of one a line. What `keep_fraction` says of the documents that have one
    stays."""

    definition: Literal["datatrove"] = "datatrove"
    words: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] | None = None
    words_file: Annotated[str, Field(min_length=1)] | None = None
    whole_words: bool = True
    keep_fraction: Ratio = 0.0

    @model_validator(mode="after")
    def _one_list(self) -> C4BadWordsParams:
        if (self.words is None) == (self.words_file is None):
            raise ValueError("give the words either as words or as words_file")
        if self.words is not None and not all(word.strip() for word in self.words):
            raise ValueError("words: holds an empty word")
        return self


def words_of(params: C4BadWordsParams) -> list[str]:
    """The list, stripped, without empty lines, sorted."""
    words = params.words or () if params.words_file is None else read_list(list_file(params.words_file))
    return sorted({word.strip() for word in words} - {""})


def measure(batch: Batch, params: C4BadWordsParams) -> Signals:
    """bool[n]: whether a word stands in the text; int32[n]: the draw that may spare it, 0 to 999,999."""
    hits = has_word(batch.texts.data, batch.texts.offsets, words_of(params), params.whole_words)
    return {"bad_word": hits, "draw_ppm": (batch.raw_hash[:, 1] % MILLION).astype(np.int32)}


def checks(signals: Signals, params: C4BadWordsParams) -> Sequence[Check]:
    spared = signals["draw_ppm"] < params.keep_fraction * MILLION
    return (Check("bad_word", signals["bad_word"] & ~spared, signals["bad_word"], "a word of the list"),)


def depends(params: C4BadWordsParams) -> Mapping[str, str]:
    """The Unicode version, and a digest of the words."""
    digest = hashlib.sha256("\n".join(words_of(params)).encode()).hexdigest()
    return {**unicode_version(params), "words": digest}


C4_BAD_WORDS = Rule(
    name="c4_bad_words",
    version=1,
    params=C4BadWordsParams,
    measure=measure,
    checks=checks,
    measuring=frozenset({"definition", "whole_words"}),
    depends=depends,
)
