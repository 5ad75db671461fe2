"""The steps a recipe can name. One file per step family; this table is the only list of them.

A third party's step is named `package.module:function` in the recipe and never appears here (`own.py`).
"""

from __future__ import annotations

from dataprep.steps.base import StepType
from dataprep.steps.classifier import CLASSIFIER
from dataprep.steps.datatrove import DATATROVE
from dataprep.steps.exact_dedup import EXACT_DEDUP
from dataprep.steps.exclude import EXCLUDE
from dataprep.steps.gopher_quality import GOPHER_QUALITY
from dataprep.steps.language import LANGUAGE
from dataprep.steps.normalize import NORMALIZE
from dataprep.steps.own import own_step
from dataprep.steps.where import WHERE

STEPS: dict[str, StepType] = {
    "where": WHERE,
    "exclude": EXCLUDE,
    "normalize": NORMALIZE,
    "language": LANGUAGE,
    "gopher_quality": GOPHER_QUALITY,
    "classifier": CLASSIFIER,
    "datatrove": DATATROVE,
    "exact_dedup": EXACT_DEDUP,
}


def find_step(name: str) -> StepType | None:
    """The step that an entry of the recipe names, or None. Imports no code of a third party."""
    return STEPS.get(name) or own_step(name)


def step_of(name: str) -> StepType:
    """The step of a name that is known to be one."""
    step = find_step(name)
    if step is None:
        raise KeyError(name)
    return step
