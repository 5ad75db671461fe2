"""The steps of a recipe on English text in memory, one core, and datatrove's quality filter beside ours.

Does not read files in the measured part, decide, or tokenize; `benchmarks.pipeline` measures the whole.
Compiling (or loading compiled code) and building tables come apart, as `*_start_seconds`.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from benchmarks import language
from benchmarks.measure import MEGABYTE, ROUNDS, alternate
from dataprep.batch import Batch
from dataprep.kernels.hashing import hash128, hash_normalized
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from dataprep.steps.base import Edit, Rule, Transform

PEER_BYTES = 2 * MEGABYTE
"""The peer works at less than 1 MB/s, so it gets this much: every k-th document of the file."""


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    """MB of text per CPU second and core; `quality_vs_datatrove` is a ratio of throughputs, null without
    the peer."""
    rounds = 3 if quick else ROUNDS
    strings = strings_of(data_pack / "wiki" / "wiki_en.jsonl.zst")
    texts = Texts.from_strings(strings[: len(strings) // 5] if quick else strings)
    works = _works(texts)
    first = _works(texts.slice(0, 1))
    figures: dict[str, Any] = {f"{name}_start_seconds": seconds_of(work) for name, work in first.items()}
    for name, seconds in alternate(works, rounds).items():
        figures[f"{name}_mb_s"] = round(texts.num_bytes / MEGABYTE / seconds, 1)
    of_language = language.figures(data_pack, quick, rounds, strings_of)
    return figures | _beside_datatrove(strings, rounds) | of_language


def _works(texts: Texts) -> dict[str, Callable[[], object]]:
    quality, normalize = STEPS["gopher_quality"], STEPS["normalize"]
    c4, fineweb = STEPS["c4"], STEPS["fineweb_quality"]
    assert isinstance(quality, Rule) and isinstance(normalize, Transform)
    assert isinstance(c4, Edit) and isinstance(fineweb, Rule)
    limits, forms = quality.params(), normalize.params()
    line_rules, line_limits = c4.params(), fineweb.params()
    return {
        "quality": lambda: quality.checks(quality.measure(Batch.of(texts), limits), limits),
        "c4": lambda: c4.edit(Batch.of(texts), line_rules),
        "fineweb": lambda: fineweb.checks(fineweb.measure(Batch.of(texts), line_limits), line_limits),
        "normalize": lambda: normalize.apply(Batch.of(texts), forms),
        "hash": lambda: hash128(texts.data, texts.offsets),
        "hash_normalized": lambda: hash_normalized(texts.data, texts.offsets),
    }


def _beside_datatrove(strings: list[str], rounds: int) -> dict[str, Any]:
    """Our rule and theirs on the same 2 MB, in turn, and the share of equal verdicts there."""
    if find_spec("datatrove") is None or find_spec("spacy") is None:
        return {"quality_vs_datatrove": None, "datatrove": "absent"}
    from datatrove.data import Document
    from datatrove.pipeline.filters.gopher_quality_filter import GopherQualityFilter

    stride = max(1, sum(map(len, strings)) // PEER_BYTES)
    sample = strings[::stride]
    texts, theirs = Texts.from_strings(sample), GopherQualityFilter()
    verdicts: dict[str, list[bool]] = {}

    def peer() -> None:
        verdicts["datatrove"] = [theirs.filter(Document(text=text, id="")) is True for text in sample]

    quality = STEPS["gopher_quality"]
    assert isinstance(quality, Rule)
    limits = quality.params()

    def ours() -> None:
        checks = quality.checks(quality.measure(Batch.of(texts), limits), limits)
        verdicts["ours"] = (~np.any([check.dropped for check in checks], axis=0)).tolist()

    start_seconds = seconds_of(lambda: theirs.filter(Document(text=sample[0], id="")))
    seconds = alternate({"ours": ours, "datatrove": peer}, rounds)
    same = sum(a == b for a, b in zip(verdicts["ours"], verdicts["datatrove"], strict=True))
    return {
        "quality_vs_datatrove": round(seconds["datatrove"] / seconds["ours"], 1),
        "datatrove_start_seconds": start_seconds,
        "datatrove_mb_s": round(texts.num_bytes / MEGABYTE / seconds["datatrove"], 3),
        "quality_agreement": round(same / len(sample), 4),
    }


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return round(time.perf_counter() - start, 3)


def strings_of(path: Path) -> list[str]:
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        lines = io.TextIOWrapper(stream, encoding="utf-8", newline="\n")
        return [json.loads(line)["text"] for line in lines]
