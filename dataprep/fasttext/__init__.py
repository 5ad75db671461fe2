"""Classifiers in fastText's file format (language identification among them), read and applied by our own
code: no fastText library is needed for that, only to train one.

`reader` turns a file into a `Model` and trusts nothing in it; `model` says what a text is; `files` finds
model files; `training` makes one. The hot loops are `kernels/fasttext_sums.py` and
`kernels/fasttext_labels.py`.
"""

from __future__ import annotations

from dataprep.fasttext.files import check_labels, model_file, model_of
from dataprep.fasttext.model import Model, label_scores, predictions
from dataprep.fasttext.reader import read_model

__all__ = [
    "Model",
    "check_labels",
    "label_scores",
    "model_file",
    "model_of",
    "predictions",
    "read_model",
]
