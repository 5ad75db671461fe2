"""line_dedup, paragraph_dedup, sentence_dedup: what several documents say stays in the best of them alone.

    - line_dedup: {min_documents: 2, normalize: ccnet, within: source, min_words_left: 50}

What a unit is, and what counts as equal, is said in `dataprep/kernels/units.py` and `unit_forms.py`; which
ones go in `dataprep/decide/lines.py`; what becomes of the white space around them in
`dataprep/kernels/removal.py`. After CCNet (Wenzek et al., 2020), whose paragraphs are lines; C4 as published,
which compares lines, and as its paper has it (Raffel et al., 2020), which compares spans of three sentences.
There the first copy stays, or none; here the best by the recipe's ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from dataprep.batch import Batch
from dataprep.columns import Texts
from dataprep.kernels.plain import plain_words
from dataprep.kernels.removal import without
from dataprep.kernels.unit_forms import Form
from dataprep.kernels.units import Kind, Units, units
from dataprep.steps.base import Check, CorpusEdit, Int64s, Signals, above, below, ratio, unicode_version
from dataprep.steps.ranking import RankingParams, ranking_columns, ranking_measured

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class UnitDedupParams(RankingParams):
    """min_chars          shorter units take no part
    min_documents      nothing goes of what fewer documents have; at 1, repeats inside a single one go too
    normalize          what counts as equal
    max_removed_ratio  drops a document that loses a greater share of its bytes; None: none is dropped
    min_words_left     drops a document that loses something and has fewer words then; None: none is dropped
    """

    min_chars: Count = 1
    min_documents: Annotated[int, Field(ge=1)] = 2
    normalize: Form = "ccnet"
    max_removed_ratio: Share | None = None
    min_words_left: Count | None = None


def needs(params: UnitDedupParams) -> tuple[str, ...]:
    return params.ranking_fields


def measure(kind: Kind, batch: Batch, params: UnitDedupParams) -> tuple[Units, Signals]:
    """The units of each text, and the columns of `ranking_columns`."""
    texts = batch.texts
    found = units(texts.data, texts.offsets, kind, params.normalize, params.min_chars)
    return found, ranking_columns(batch, params)


def cut(batch: Batch, params: Any, rows: Int64s, starts: Int64s, ends: Int64s) -> tuple[Texts, Signals]:
    """The texts without what is named, and of each document int64[n] `removed_units`, `text_bytes` before,
    `removed_bytes`, and `words_left`, those of the `plain` normalisation: -1 where nothing was removed."""
    left = without(batch.texts, rows, starts, ends)
    removed = np.bincount(rows, minlength=len(batch)).astype(np.int64)
    words = np.full(len(batch), -1, dtype=np.int64)
    touched = np.flatnonzero(removed)
    if len(touched):
        shorter = left.take(touched)
        words[touched] = np.diff(plain_words(shorter.data, shorter.offsets, split=True)[2]) - 1
    return left, {
        "removed_units": removed,
        "text_bytes": batch.texts.lengths,
        "removed_bytes": batch.texts.lengths - left.lengths,
        "words_left": words,
    }


def checks(prefix: str, signals: Signals, params: UnitDedupParams) -> Sequence[Check]:
    """Reasons `*_removed_ratio` and `*_words_left`, only for what lost something."""
    is_cut = signals["removed_units"] > 0
    words = np.where(is_cut, signals["words_left"], np.nan)  # NaN is neither above nor below anything
    removed = ratio(signals["removed_bytes"], signals["text_bytes"])
    return [
        above(f"{prefix}_removed_ratio", removed, params.max_removed_ratio),
        below(f"{prefix}_words_left", words, params.min_words_left),
    ]


def _step(name: str, kind: Kind, prefix: str) -> CorpusEdit:
    return CorpusEdit(
        name=name,
        version=1,
        params=UnitDedupParams,
        measure=partial(measure, kind),
        cut=cut,
        checks=partial(checks, prefix),
        measuring=frozenset({"min_chars", "normalize"}),
        depends=unicode_version,
        needs=needs,
        also_measuring=ranking_measured,
    )


LINE_DEDUP = _step("line_dedup", "lines", "lines")
PARAGRAPH_DEDUP = _step("paragraph_dedup", "paragraphs", "paragraphs")
SENTENCE_DEDUP = _step("sentence_dedup", "sentences3", "sentences")
