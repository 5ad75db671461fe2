"""How good a classifier is on documents that it was not trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.fasttext.model import Model, label_scores, predictions
from dataprep.kernels.texts import Texts


def evaluate(
    model: Model, texts: Texts, names: tuple[str, ...], labels: npt.NDArray[np.int64]
) -> dict[str, Any]:
    """Accuracy, and for each label precision, recall and the area under the ROC curve of its score.

    `labels` are indices into `names`, which are those of the model in any order. A figure of which nothing
    can be said is None.
    """
    best = predictions(model, texts)[0][:, 0]
    found = np.array([*map(names.index, model.names), -1])[best]
    figures: dict[str, Any] = {"documents": len(labels), "accuracy": _share(found == labels), "labels": {}}
    for index, name in enumerate(names):
        is_label, is_found = labels == index, found == index
        figures["labels"][name] = {
            "documents": int(is_label.sum()),
            "precision": _share(is_label[is_found]),
            "recall": _share(is_found[is_label]),
            "auc": area_under_roc(label_scores(model, texts, name), is_label),
        }
    return figures


def area_under_roc(scores: npt.NDArray[np.int32], is_label: npt.NDArray[np.bool_]) -> float | None:
    """How likely a document with the label scores higher than one without, equal scores counting half."""
    with_label, without = int(is_label.sum()), int((~is_label).sum())
    if not with_label or not without:
        return None
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]  # equal scores share the middle of their ranks
    above = ranks[is_label].sum() - with_label * (with_label + 1) / 2
    return round(float(above) / (with_label * without), 6)


def _share(values: npt.NDArray[np.bool_]) -> float | None:
    return round(float(values.mean()), 6) if values.size else None
