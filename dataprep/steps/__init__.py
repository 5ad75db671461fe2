"""The steps a recipe can name. One file per step family; this table is the only list of them.

A third party's step is named `package.module:name` in the recipe and never appears here.
"""

from __future__ import annotations

from dataprep.steps.base import StepType
from dataprep.steps.c4 import C4
from dataprep.steps.c4_bad_words import C4_BAD_WORDS
from dataprep.steps.c4_paragraphs import C4_PARAGRAPHS
from dataprep.steps.code_quality import CODE_QUALITY
from dataprep.steps.exact_dedup import EXACT_DEDUP
from dataprep.steps.fineweb_quality import FINEWEB_QUALITY
from dataprep.steps.gopher_quality import GOPHER_QUALITY
from dataprep.steps.normalize import NORMALIZE

STEPS: dict[str, StepType] = {
    "normalize": NORMALIZE,
    "gopher_quality": GOPHER_QUALITY,
    "c4": C4,
    "c4_paragraphs": C4_PARAGRAPHS,
    "c4_bad_words": C4_BAD_WORDS,
    "fineweb_quality": FINEWEB_QUALITY,
    "code_quality": CODE_QUALITY,
    "exact_dedup": EXACT_DEDUP,
}
