from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.classifier import CLASSIFIER, ClassifierParams, checks, depends, measure
from manifests.errors import UserError
from manifests.fingerprint import digest_file
from tests.dataprep.fasttext.models import GOLDEN
from tests.reference import fasttext as slow

MODEL = str(GOLDEN / "softmax.bin")
TEXTS = ["klmn opqr\nrst", "abc def", "\u4e00\u4e8c", "", " \n", "KLMN OPQR"]


def scores(texts: list[str], **given: Any) -> list[int]:
    params = ClassifierParams(model=MODEL, label="more", **given)
    return measure(Batch.of(Texts.from_strings(texts)), params)["score_ppm"].tolist()


def reasons_of(**given: Any) -> list[list[str]]:
    params = ClassifierParams(model=MODEL, label="more", **given)
    found = checks(measure(Batch.of(Texts.from_strings(TEXTS)), params), params)
    return [[check.reason for check in found if check.dropped[row]] for row in range(len(TEXTS))]


def test_the_score_is_that_of_the_label() -> None:
    twin = slow.read(Path(MODEL))
    for text, score in zip(TEXTS, scores(TEXTS), strict=True):
        wanted = dict(twin.scores(text.encode())).get("more", 0.0)
        assert abs(score / 1e6 - min(wanted, 1.0)) < 2e-6
    assert scores(TEXTS)[3:5] == [0, 0]


def test_lower_case_first() -> None:
    assert scores(["KLMN OPQR \u00c9"], normalize="lower") == scores(["klmn opqr \u00e9"])
    assert scores(["KLMN OPQR \u00c9"]) != scores(["klmn opqr \u00e9"])


def test_reasons() -> None:
    found = scores(TEXTS)
    limit = found[0] / 1e6
    assert reasons_of(min_score=limit) == [["classifier_low"] if each < found[0] else [] for each in found]
    assert reasons_of(max_score=limit, name="toxic") == [
        ["toxic_high"] if each > found[0] else [] for each in found
    ]
    assert reasons_of() == [[]] * len(TEXTS)


def test_what_is_in_the_key() -> None:
    params = ClassifierParams(model=MODEL, label="more", min_score=0.5, max_score=0.9, name="quality")
    assert measuring_parameters(CLASSIFIER, params) == {"label": "more", "normalize": "none"}
    assert depends(params) == {"model": digest_file(MODEL).digest}
    lowered = depends(ClassifierParams(model=MODEL, label="more", normalize="lower"))
    assert lowered == {"model": digest_file(MODEL).digest, "unicode": unicodedata.unidata_version}


def test_a_label_or_model_that_is_not_there() -> None:
    with pytest.raises(UserError, match='the model has no label "mor"; did you mean "more"'):
        depends(ClassifierParams(model=MODEL, label="mor"))
    with pytest.raises(UserError, match="no such model"):
        depends(ClassifierParams(model="nothing.bin", label="more"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"label": None},
        {"model": ""},
        {"min_score": -0.1},
        {"max_score": 2},
        {"normalize": "upper"},
        {"name": "Quality"},
        {"name": "a b"},
        {"threshold": 0.5},
        {"min_score": 0.9, "max_score": 0.1},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ClassifierParams.model_validate_json(json.dumps({"model": MODEL, "label": "more"} | wrong))
