"""c4: the line rules of C4 (Raffel et al. 2020, arXiv:1910.10683, section 2.2), which rewrite a text to the
lines worth keeping and drop the document if too little is left.

`definition: datatrove` is C4QualityFilter of datatrove 0.10.1 for English; the rules and their order are in
`kernels/c4.py`, the parameters have datatrove's names but `min_sentences`, its min_num_sentences, and null is
its -1. What differs: sentences come from our words and not from spaCy's (99.5 to 100 % of lines have the same
number on the English sources of the data pack).

A changed `min_sentences` measures nothing again. The other rules of that file are `c4_paragraphs` and
`c4_bad_words`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dataprep.batch import Batch
from dataprep.kernels.c4 import COUNTS, LineRules, c4_lines
from dataprep.kernels.texts import Texts
from dataprep.steps.base import Check, Edit, Params, Signals, above, below, unicode_version

Count = Annotated[int, Field(ge=0)]


class C4Params(Params):
    """Which lines stay, and how many sentences have to."""

    definition: Literal["datatrove"] = "datatrove"
    split_paragraph: bool = True
    remove_citations: bool = True
    filter_no_terminal_punct: bool = True
    filter_lorem_ipsum: bool = True
    filter_javascript: bool = True
    filter_curly_bracket: bool = True
    filter_policy: bool = True
    min_words_per_line: Count | None = 3
    max_word_length: Count | None = 1000
    min_sentences: Count | None = 5


def rules_of(params: C4Params) -> LineRules:
    """What the kernel asks."""
    return LineRules(
        by_sentence=not params.split_paragraph,
        remove_citations=params.remove_citations,
        terminal_punctuation=params.filter_no_terminal_punct,
        lorem_ipsum=params.filter_lorem_ipsum,
        javascript=params.filter_javascript,
        curly_bracket=params.filter_curly_bracket,
        policy=params.filter_policy,
        min_line_words=-1 if params.min_words_per_line is None else params.min_words_per_line,
        max_word_length=-1 if params.max_word_length is None else params.max_word_length,
    )


def edit(batch: Batch, params: C4Params) -> tuple[Texts, Signals]:
    """The texts of lines that stay; int64[n] for each name of `kernels.c4.COUNTS`."""
    texts = batch.texts
    data, offsets, counts, changed = c4_lines(texts.data, texts.offsets, rules_of(params))
    signals = {name: np.ascontiguousarray(counts[:, column]) for column, name in enumerate(COUNTS)}
    return Texts(data, offsets) if changed.any() else texts, signals


def checks(signals: Signals, params: C4Params) -> Sequence[Check]:
    """datatrove's three reasons. What lorem ipsum or a bracket ended has no number of sentences."""
    ended = (signals["lorem_ipsum"] | signals["curly_bracket"]).astype(bool)
    return (
        above("lorem_ipsum", signals["lorem_ipsum"], 0),
        above("curly_bracket", signals["curly_bracket"], 0),
        below("too_few_sentences", np.where(ended, np.nan, signals["sentences"]), params.min_sentences),
    )


C4 = Edit(
    name="c4",
    version=1,
    params=C4Params,
    edit=edit,
    checks=checks,
    measuring=frozenset(C4Params.model_fields) - {"min_sentences"},
    depends=unicode_version,
)
