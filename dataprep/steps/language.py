"""language: what language a document is in, and which languages stay.

    - language: {keep: [en], min_score: 0.65}

The default model is fastText's lid.176, which FineWeb and most corpora use: 176 labels, mostly two letters of
ISO 639-1 (`als` is Swiss German, `zh` both Chinese scripts). It takes the whole text as one line, so a
document in two languages has one label. The best label is the one that fastText gives, on all documents of
the data pack; scores differ by less than 0.0001, as ours are added up in double precision.

Two things to know of the score. There is no "none of these": of the lines of the Universal Declaration of
Human Rights in languages that lid.176 has no label for, 9 % score 0.65 or more, and 22 % has been reported of
other texts. A margin over the second label hardly helps there, since it is as sure as of languages it knows.
And a short text in a language that it does know often scores less than 0.65.

The labels can be used without dropping anything: `{keep: null, min_score: null}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from dataprep.batch import Batch
from dataprep.fasttext import Model, check_labels, model_file, model_of, predictions
from dataprep.fasttext.model import PPM
from dataprep.steps.base import Check, Params, Rule, Signals, below
from dataprep.steps.model_file import file_digest
from manifests.units import Ratio

Label = Annotated[str, Field(min_length=1)]


class LanguageParams(Params):
    """model       "lid.176", or the path of a fastText classifier (.bin or .ftz)
    keep        labels that stay; None: all
    min_score   least score of the best label
    min_margin  least score of the best label minus that of the second
    """

    model: Label = "lid.176"
    keep: Annotated[tuple[Label, ...], Field(strict=False, min_length=1)] | None = None
    min_score: Ratio | None = 0.65
    min_margin: Ratio | None = None


def measure(batch: Batch, params: LanguageParams) -> Signals:
    """The two best labels ("" where there is none, as in a text without words) and their scores in
    millionths."""
    model = model_of(model_file(params.model))
    labels, scores = predictions(model, batch.texts)
    return {
        "label": _named(model, labels[:, 0]),
        "score_ppm": np.ascontiguousarray(scores[:, 0]),
        "second_label": _named(model, labels[:, 1]),
        "second_score_ppm": np.ascontiguousarray(scores[:, 1]),
    }


def checks(signals: Signals, params: LanguageParams) -> Sequence[Check]:
    """A label that is not kept; a score; a margin."""
    labels, scores = signals["label"], signals["score_ppm"]
    other, drops = np.zeros(len(labels), dtype=bool), ""
    if params.keep is not None:
        kept = pc.is_in(labels, value_set=pa.array(params.keep, pa.string()))
        other, drops = ~kept.to_numpy(zero_copy_only=False), f"not {' or '.join(params.keep)}"
    margins = scores.astype(np.int64) - signals["second_score_ppm"]
    return (
        Check("language", other, labels, drops),
        below("language_score", scores / PPM, params.min_score),
        below("language_margin", margins / PPM, params.min_margin),
    )


def depends(params: LanguageParams) -> Mapping[str, str]:
    """The model, by its bytes. A label to keep that it does not have is refused here, before any work."""
    path = model_file(params.model)
    check_labels(model_of(path), params.keep or ())
    return {"model": file_digest(path, "language")}


def _named(model: Model, labels: npt.NDArray[np.int64]) -> pa.StringArray:
    names = pa.array([*model.names, ""], pa.string())
    return names.take(pa.array(np.where(labels < 0, len(model.names), labels)))


LANGUAGE = Rule(
    name="language",
    version=1,
    params=LanguageParams,
    measure=measure,
    checks=checks,
    measuring=frozenset(),
    depends=depends,
)
