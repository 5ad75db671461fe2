"""gopher_repetition: the repetition rules of Gopher (Rae et al. 2021, arXiv:2112.11446, appendix A1.1, table
A1), as one of two tools has them. No two tools agree on the details.

`definition: datatrove` is GopherRepetitionFilter of datatrove 0.10.1 for English: its counts, its strict
comparisons, its order, its reasons. What differs: words come from `kernels/words.py` and not from spaCy,
duplicate n-grams are compared word by word and not by their letters in a row, and all rules are judged and
not only up to the first that drops.

`definition: dolma` is the tagger `gopher_v1` of Dolma (Soldaini et al. 2024, arXiv:2402.00159; allenai/dolma,
python/dolma/taggers/gopher.py): words are what white space parts, all copies of a repeated line count,
n-grams overlap, and shares are of the characters in words. It has no rules for paragraphs. The tagger only
measures; reasons and limits here are datatrove's.

The limits are Gopher's in both. null switches a check off, and so does 0 for lines and paragraphs, as in
datatrove. Every count is defined in `docs/reference/statistics.md`; the kernel is `kernels/repetition.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dataprep.batch import Batch
from dataprep.kernels.repetition import (
    COUNTS,
    DOLMA_COUNTS,
    DUPLICATE,
    TOP,
    dolma_repetition_counts,
    repetition_counts,
)
from dataprep.kernels.split_words import find_chunks
from dataprep.kernels.words import find_words
from dataprep.steps.base import Check, Params, Rule, Signals, above, ratio, unicode_version
from manifests.units import Ratio


class GopherRepetitionParams(Params):
    """Thresholds: greatest shares of lines, of paragraphs and, where it says so or n-grams are meant, of
    characters."""

    definition: Literal["datatrove", "dolma"] = "datatrove"
    max_duplicate_paragraphs: Ratio | None = 0.3
    max_duplicate_paragraph_characters: Ratio | None = 0.2
    max_duplicate_lines: Ratio | None = 0.3
    max_duplicate_line_characters: Ratio | None = 0.2
    max_top_2_gram: Ratio | None = 0.2
    max_top_3_gram: Ratio | None = 0.18
    max_top_4_gram: Ratio | None = 0.16
    max_duplicate_5_grams: Ratio | None = 0.15
    max_duplicate_6_grams: Ratio | None = 0.14
    max_duplicate_7_grams: Ratio | None = 0.13
    max_duplicate_8_grams: Ratio | None = 0.12
    max_duplicate_9_grams: Ratio | None = 0.11
    max_duplicate_10_grams: Ratio | None = 0.1


def measure(batch: Batch, params: GopherRepetitionParams) -> Signals:
    """int64[n] for each name of COUNTS or DOLMA_COUNTS in `kernels.repetition`."""
    data, offsets = batch.texts.data, batch.texts.offsets
    names: Sequence[str] = COUNTS
    if params.definition == "dolma":
        names, counts = DOLMA_COUNTS, dolma_repetition_counts(data, offsets, batch.derived(find_chunks))
    else:
        counts = repetition_counts(data, offsets, batch.derived(find_words))
    return {name: np.ascontiguousarray(counts[:, column]) for column, name in enumerate(names)}


def checks(signals: Signals, params: GopherRepetitionParams) -> Sequence[Check]:
    """datatrove's reasons in its order. `empty`, the first, has no limit; Dolma has neither that nor
    paragraphs."""
    if params.definition == "dolma":
        # A share of no characters is taken of one, as there.
        signals = signals | {"characters": np.maximum(signals["characters"], 1)}
        found = []
    else:
        characters = signals["characters"]
        found = [
            Check("empty", characters == 0, characters, "= 0"),
            *_pieces(signals, "para", "paragraph", params),
        ]
    found += _pieces(signals, "line", "line", params)
    for n in TOP:
        share = ratio(signals[f"top_{n}_gram_characters"], signals["characters"])
        found.append(above(f"top_{n}_gram", share, getattr(params, f"max_top_{n}_gram")))
    for n in DUPLICATE:
        whole = f"all_{n}_gram_characters" if params.definition == "dolma" else "characters"
        share = ratio(signals[f"duplicate_{n}_gram_characters"], signals[whole])
        found.append(above(f"duplicated_{n}_n_grams", share, getattr(params, f"max_duplicate_{n}_grams")))
    return found


def _pieces(signals: Signals, short: str, name: str, params: GopherRepetitionParams) -> list[Check]:
    """The rules for lines or for paragraphs."""
    share = ratio(signals[f"duplicate_{name}s"], signals[f"{name}s"])
    share_in_them = ratio(signals[f"duplicate_{name}_characters"], signals["characters"])
    limit = getattr(params, f"max_duplicate_{name}s")
    limit_in_them = getattr(params, f"max_duplicate_{name}_characters")
    return [
        above(f"dup_{short}_frac", share, limit or None),
        above(f"dup_{short}_char_frac", share_in_them, limit_in_them or None),
    ]


GOPHER_REPETITION = Rule(
    name="gopher_repetition",
    version=1,
    params=GopherRepetitionParams,
    measure=measure,
    checks=checks,
    measuring=frozenset({"definition"}),
    depends=unicode_version,
)
