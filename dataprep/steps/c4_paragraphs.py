"""c4_paragraphs: drops documents without enough long lines, as multilingual C4 does (Xue et al. 2021,
arXiv:2010.11934).

`definition: datatrove` is C4ParagraphFilter of datatrove 0.10.1: three lines (cut at "\\n", white space and
all) of at least 200 characters. The line rules of C4 are `c4`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from dataprep.batch import Batch
from dataprep.kernels.paragraphs import long_lines
from dataprep.steps.base import Check, Params, Rule, Signals, below

Count = Annotated[int, Field(ge=0)]


class C4ParagraphsParams(Params):
    """How many lines of how many characters."""

    definition: Literal["datatrove"] = "datatrove"
    min_paragraphs: Count | None = 3
    min_paragraph_length: Count = 200


def measure(batch: Batch, params: C4ParagraphsParams) -> Signals:
    """int64[n]: lines that are long enough."""
    texts = batch.texts
    return {"long_lines": long_lines(texts.data, texts.offsets, params.min_paragraph_length)}


def checks(signals: Signals, params: C4ParagraphsParams) -> Sequence[Check]:
    return (below("too_few_paragraphs", signals["long_lines"], params.min_paragraphs),)


C4_PARAGRAPHS = Rule(
    name="c4_paragraphs",
    version=1,
    params=C4ParagraphsParams,
    measure=measure,
    checks=checks,
    measuring=frozenset({"definition", "min_paragraph_length"}),
)
