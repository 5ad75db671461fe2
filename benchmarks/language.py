"""Language identification, for the `steps` benchmark: ours on English, on 62 languages and on Chinese, and
the fastText library with the same model, lid.176, on a part of the same documents.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.measure import MEGABYTE, alternate, cpu_seconds
from dataprep.fasttext import Model, model_file, model_of, predictions
from dataprep.kernels.texts import Texts

PEER_BYTES = 2 * MEGABYTE
"""The library is ten times slower, so it gets this much of every file: every k-th document."""

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
