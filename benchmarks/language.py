"""Language identification, for the `steps` benchmark: ours on English, on 62 languages and on Chinese, and
the fastText library with the same model, lid.176, on a part of the same documents. And what the score says of
languages that the model has no label for: lines of the Universal Declaration of Human Rights.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import zstandard

from benchmarks.measure import MEGABYTE, alternate, cpu_seconds
from dataprep.fasttext import Model, model_file, model_of, predictions
from dataprep.kernels.texts import Texts

PEER_BYTES = 2 * MEGABYTE
"""The library is ten times slower, so it gets this much of every file: every k-th document."""

LINE_CHARACTERS, LEAST_SCORE = 20, 0.65

FILES = {
    "language": "wiki/wiki_en.jsonl.zst",
    "language_many": "news_ntrex128/ntrex128_a.jsonl.zst",
    "language_zh": "wiki/wiki_zh.jsonl.zst",
}


def figures(data_pack: Path, quick: bool, rounds: int, read: Callable[[Path], list[str]]) -> dict[str, Any]:
    """MB of text per CPU second and core; `language_vs_fasttext` (a ratio of throughputs) and
    `language_agreement` (the share of documents with the same label) are of all files together."""
    model = model_of(model_file("lid.176"))
    strings = {name: read(data_pack / file) for name, file in FILES.items()}
    texts = {name: Texts.from_strings(each[:: 5 if quick else 1]) for name, each in strings.items()}
    start = cpu_seconds(lambda: predictions(model, texts["language"].slice(0, 1)))
    seconds = alternate({name: _work(model, each) for name, each in texts.items()}, rounds)
    return {
        "language_start_seconds": round(start, 3),
        **{f"{name}_mb_s": round(texts[name].num_bytes / MEGABYTE / seconds[name], 1) for name in texts},
        **_beside_fasttext(model, [text for each in strings.values() for text in _part(each)], rounds),
        **_of_the_declaration(model, data_pack),
    }


def _work(model: Model, texts: Texts) -> Callable[[], object]:
    return lambda: predictions(model, texts)


def _part(strings: list[str]) -> list[str]:
    return strings[:: max(1, sum(len(each.encode()) for each in strings) // PEER_BYTES)]


def _beside_fasttext(model: Model, strings: list[str], rounds: int) -> dict[str, Any]:
    if find_spec("fasttext") is None:
        return {"language_vs_fasttext": None, "language_agreement": None, "fasttext": "absent"}
    from fasttext.FastText import _FastText

    theirs = _FastText(model_path=model.path).f  # its wrapper in Python fails with numpy 2
    texts = Texts.from_strings(strings)
    found: dict[str, list[str]] = {}

    def ours() -> None:
        found["ours"] = [f"__label__{model.names[label]}" for label in predictions(model, texts)[0][:, 0]]

    def peer() -> None:
        lines = [text.replace("\n", " ") + "\n" for text in strings]
        found["fasttext"] = [theirs.predict(line, 1, 0.0, "strict")[0][1] for line in lines]

    seconds = alternate({"ours": ours, "fasttext": peer}, rounds)
    same = sum(a == b for a, b in zip(found["ours"], found["fasttext"], strict=True))
    return {
        "language_vs_fasttext": round(seconds["fasttext"] / seconds["ours"], 1),
        "fasttext_mb_s": round(texts.num_bytes / MEGABYTE / seconds["fasttext"], 2),
        "language_agreement": round(same / len(strings), 4),
    }


def _of_the_declaration(model: Model, data_pack: Path) -> dict[str, Any]:
    """Shares of its lines of LINE_CHARACTERS and more: `udhr_unknown_...` in languages that the model has no
    label for, `udhr_known_...` in the others."""
    path = data_pack / "udhr" / "udhr.jsonl.zst"
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        records = [json.loads(line) for line in io.TextIOWrapper(stream, encoding="utf-8", newline="\n")]
    lines: dict[bool, list[str]] = {True: [], False: []}
    for record in records:
        cut = (line.strip() for line in record["text"].split("\n"))
        lines[record["lang"] in model.names] += [line for line in cut if len(line) >= LINE_CHARACTERS]
    unknown = predictions(model, Texts.from_strings(lines[False]))[1] / 1e6
    known = predictions(model, Texts.from_strings(lines[True]))[1] / 1e6
    sure = unknown[:, 0] >= LEAST_SCORE
    apart = sure & (unknown[:, 0] - unknown[:, 1] >= 0.5)
    return {
        "udhr_unknown_languages": len({each["lang"] for each in records} - set(model.names)),
        "udhr_unknown_lines": len(unknown),
        "udhr_unknown_over_score": round(float(sure.mean()), 4),
        "udhr_unknown_over_score_and_margin": round(float(apart.mean()), 4),
        "udhr_known_below_score": round(float((known[:, 0] < LEAST_SCORE).mean()), 4),
    }
