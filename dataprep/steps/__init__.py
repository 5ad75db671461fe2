"""The steps a recipe can name. One file per step family; this table is the only list of them.

A third party's step is named `package.module:name` in the recipe and never appears here.
"""

from __future__ import annotations

from dataprep.steps.base import StepType
from dataprep.steps.exact_dedup import EXACT_DEDUP
from dataprep.steps.gopher_quality import GOPHER_QUALITY
from dataprep.steps.gopher_repetition import GOPHER_REPETITION
from dataprep.steps.normalize import NORMALIZE

STEPS: dict[str, StepType] = {
    "normalize": NORMALIZE,
    "gopher_quality": GOPHER_QUALITY,
    "gopher_repetition": GOPHER_REPETITION,
    "exact_dedup": EXACT_DEDUP,
}
