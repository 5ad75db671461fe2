"""classifier: how likely a document has a label, by a fastText model: quality as in DCLM (Li et al. 2024,
arXiv:2406.11794), a topic, toxicity.

    - classifier: {model: quality.bin, label: positive, min_score: 0.018}

The score is that of `label`, not of the best label, as fastText gives it for all labels (`k=-1`). The whole
text is one line: line feeds count as spaces. `dataprep train-classifier` makes a model from two sets of
files; any supervised model of fastText will do.

DCLM keeps a share of documents, not a score; a score that keeps that share of a sample does the same. Its
code also takes U+0085, U+2028, U+2029 and U+001C to U+001E for ends of lines, which here are part of a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, model_validator

from dataprep.batch import Batch
from dataprep.fasttext import check_labels, label_scores, model_file, model_of
from dataprep.fasttext.flat import Normalization, normalized
from dataprep.fasttext.model import PPM
from dataprep.steps.base import Check, Params, Rule, Signals, above, below, refuse_crossed, unicode_version
from dataprep.steps.model_file import file_digest
from manifests.units import Ratio

Given = Annotated[str, Field(min_length=1)]


class ClassifierParams(Params):
    """model      path of a fastText classifier (.bin or .ftz)
    label      whose score is judged, without "__label__"
    min_score  least score, max_score greatest; None: not checked
    normalize  what is done to the text before, as it was done when the model was trained
    name       the drop reasons are NAME_low and NAME_high
    """

    model: Given
    label: Given
    min_score: Ratio | None = None
    max_score: Ratio | None = None
    normalize: Normalization = "none"
    name: Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,63}$")] = "classifier"

    @model_validator(mode="after")
    def _limits_leave_something(self) -> ClassifierParams:
        refuse_crossed(self, ("min_score", "max_score"))
        return self


def measure(batch: Batch, params: ClassifierParams) -> Signals:
    """The score of the label in millionths; 0 for a text without words."""
    model = model_of(model_file(params.model))
    texts = normalized(batch.texts, params.normalize)
    return {"score_ppm": label_scores(model, texts, params.label)}


def checks(signals: Signals, params: ClassifierParams) -> Sequence[Check]:
    """A score that is too low, and one that is too high."""
    scores = signals["score_ppm"] / PPM
    return (
        below(f"{params.name}_low", scores, params.min_score),
        above(f"{params.name}_high", scores, params.max_score),
    )


def depends(params: ClassifierParams) -> Mapping[str, str]:
    """The model, by its bytes. A label that it does not have is refused here, before any work."""
    path = model_file(params.model)
    check_labels(model_of(path), [params.label])
    lowered = unicode_version(params) if params.normalize == "lower" else {}
    return {"model": file_digest(path, "classifier"), **lowered}


CLASSIFIER = Rule(
    name="classifier",
    version=1,
    params=ClassifierParams,
    measure=measure,
    checks=checks,
    measuring=frozenset({"label", "normalize"}),
    depends=depends,
    expensive=True,
)
