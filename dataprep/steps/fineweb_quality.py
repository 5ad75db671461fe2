"""fineweb_quality: the line rules that FineWeb added to those of C4 and Gopher (Penedo et al. 2024,
arXiv:2406.17557, section 3.6).

`definition: datatrove` is FineWebQualityFilter of datatrove 0.10.1, `definition: fineweb_original` the same
filter as it was before datatrove 0.4.0 (commit 84277597), with which FineWeb was made. They differ in:

                    datatrove                           fineweb_original
lines               those that are not blank            all that "\\n" parts
stop characters     159 marks of many scripts           . ' " ! ?
line_punct_ratio    dropped below the limit             at the limit, too
short_line_ratio    dropped above the limit             at the limit, too
char_dup_ratio      dropped above the limit             at the limit, too
empty               a reason of its own                 falls to line_punct_ratio

Words come from `kernels/words.py` in both, and not from spaCy or NLTK as there; only list_ratio counts them.
All rules are judged and not only up to the first that drops. Limits of null are off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator

from dataprep.batch import Batch
from dataprep.kernels.fineweb import COUNTS, fineweb_counts
from dataprep.kernels.marks import TERMINAL_MARKS, code_points
from dataprep.kernels.words import find_words
from dataprep.steps.base import Check, Params, Rule, Signals, above, below, ratio, unicode_version
from manifests.units import Ratio

Count = Annotated[int, Field(ge=0)]
Length = Annotated[float, Field(ge=0, allow_inf_nan=False)]

STOP_CHARACTERS = {
    "datatrove": tuple(map(chr, code_points(TERMINAL_MARKS))),
    "fineweb_original": (".", "'", '"', "!", "?"),
}


class FineWebQualityParams(Params):
    """Thresholds. `stop_characters` null: those of the definition."""

    definition: Literal["datatrove", "fineweb_original"] = "datatrove"
    min_line_punct_ratio: Ratio | None = 0.12
    line_punct_exclude_zero: bool = False
    stop_characters: Annotated[tuple[str, ...], Field(strict=False)] | None = None
    max_short_line_ratio: Ratio | None = 0.67
    short_line_length: Count = 30
    max_char_dup_ratio: Ratio | None = 0.01
    max_newline_ratio: Length | None = 0.3

    @field_validator("stop_characters")
    @classmethod
    def _characters(cls, characters: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if any(len(character) != 1 for character in characters or ()):
            raise ValueError("holds something that is not one character")
        return characters


def measure(batch: Batch, params: FineWebQualityParams) -> Signals:
    """int64[n] for each name of `kernels.fineweb.COUNTS`."""
    stops = params.stop_characters
    counts = fineweb_counts(
        batch.texts.data,
        batch.texts.offsets,
        STOP_CHARACTERS[params.definition] if stops is None else stops,
        params.short_line_length,
        blank_lines=params.definition == "fineweb_original",
        words=batch.derived(find_words),
    )
    return {name: np.ascontiguousarray(counts[:, column]) for column, name in enumerate(COUNTS)}


def checks(signals: Signals, params: FineWebQualityParams) -> Sequence[Check]:
    """datatrove's reasons in its order."""
    original = params.definition == "fineweb_original"
    lines = signals["lines"]
    ended = ratio(signals["ended_lines"], lines)
    short = ratio(signals["short_lines"], lines)
    repeated = ratio(signals["duplicate_characters"], signals["characters"])
    judged = np.where(ended == 0, np.nan, ended) if params.line_punct_exclude_zero else ended
    lowest, highest = (_at_most, _at_least) if original else (below, above)
    found = (
        lowest("line_punct_ratio", judged, params.min_line_punct_ratio),
        highest("short_line_ratio", short, params.max_short_line_ratio),
        highest("char_dup_ratio", repeated, params.max_char_dup_ratio),
        above("list_ratio", ratio(signals["newlines"], signals["words"]), params.max_newline_ratio),
    )
    return found if original else (below("empty", lines, 1), *found)


def _at_most(reason: str, values: npt.NDArray[np.float64], limit: float | None) -> Check:
    check = below(reason, values, limit)
    return check if limit is None else Check(reason, values <= limit, values, f"<= {limit:g}")


def _at_least(reason: str, values: npt.NDArray[np.float64], limit: float | None) -> Check:
    check = above(reason, values, limit)
    return check if limit is None else Check(reason, values >= limit, values, f">= {limit:g}")


FINEWEB_QUALITY = Rule(
    name="fineweb_quality",
    version=1,
    params=FineWebQualityParams,
    measure=measure,
    checks=checks,
    measuring=frozenset({"definition", "stop_characters", "short_line_length"}),
    depends=unicode_version,
)
