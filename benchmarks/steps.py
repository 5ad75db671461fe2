"""The steps of a recipe on English text in memory, one core, and datatrove's four quality filters beside
ours.

Does not read files in the measured part, decide, or tokenize; `benchmarks.pipeline` measures the whole.
Compiling (or loading compiled code) and building tables come apart, as `*_start_seconds`.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import zstandard

from benchmarks import language
from benchmarks.measure import MEGABYTE, ROUNDS, alternate
from dataprep.batch import Batch
from dataprep.kernels.hashing import hash128, hash_normalized
from dataprep.kernels.texts import Texts
from dataprep.readers.records import CHUNK_TEXT_BYTES
from dataprep.steps import STEPS
from dataprep.steps.base import Check, Edit, Rule, Transform

QUALITY = ("gopher_quality", "gopher_repetition", "fineweb_quality", "c4")
"""The families of rules for prose; the first three and the edit see the same text."""

PEER_ROUNDS = 3
SAMPLE_BYTES, LONGEST = 2 * MEGABYTE, 20_000
"""The peer works at less than 1 MB/s, so it gets this much: equal parts of SAMPLE, long texts cut."""
SAMPLE = (
    "wiki/wiki_en.jsonl.zst",
    "books/books_en.parquet",
    "qa_stackexchange/posts.jsonl.zst",
    "blogs/blogs_18f_rust.jsonl.zst",
    "docs_versions/django_docs_4_versions.jsonl.zst",
)


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    """MB of text per CPU second and core, `quality_mb_s` for the four families together;
    `quality_vs_datatrove` is a ratio of throughputs, null without the peer."""
    rounds = 3 if quick else ROUNDS
    strings = strings_of(data_pack / "wiki" / "wiki_en.jsonl.zst")
    texts = Texts.from_strings(strings[: len(strings) // 5] if quick else strings)
    works = _works(texts)
    first = _works(texts.slice(0, 1))
    figures: dict[str, Any] = {f"{name}_start_seconds": seconds_of(work) for name, work in first.items()}
    for name, seconds in alternate(works, rounds).items():
        figures[f"{name}_mb_s"] = round(texts.num_bytes / MEGABYTE / seconds, 1)
    of_language = language.figures(data_pack, quick, rounds, strings_of)
    return figures | _beside_datatrove(sample_of(data_pack)) | of_language


def _works(texts: Texts) -> dict[str, Callable[[], object]]:
    normalize, pii, boilerplate = STEPS["normalize"], STEPS["pii"], STEPS["boilerplate_lines"]
    assert isinstance(normalize, Transform) and isinstance(pii, Edit) and isinstance(boilerplate, Edit)
    forms, kinds, rules = normalize.params(), pii.params(), boilerplate.params()
    chunks = _chunks(texts)

    def judge(names: Sequence[str]) -> Callable[[], object]:
        return lambda: [judged(Batch.of(chunk), names) for chunk in chunks]

    return {
        "quality": judge(QUALITY),
        **{name: judge([name]) for name in QUALITY},
        "normalize": lambda: normalize.apply(Batch.of(texts), forms),
        "pii": lambda: pii.edit(Batch.of(texts), kinds),
        "boilerplate_lines": lambda: boilerplate.edit(Batch.of(texts), rules),
        "hash": lambda: hash128(texts.data, texts.offsets),
        "hash_normalized": lambda: hash_normalized(texts.data, texts.offsets),
    }


def _chunks(texts: Texts) -> list[Texts]:
    """The texts in the chunks that readers hand out."""
    starts = np.flatnonzero(np.diff(texts.offsets[:-1] // CHUNK_TEXT_BYTES, prepend=-1)).tolist()
    return [texts.slice(start, stop) for start, stop in zip(starts, [*starts[1:], len(texts)], strict=True)]


def judged(batch: Batch, names: Sequence[str]) -> list[Check]:
    """What the steps of those names say of a batch, with the defaults. An edit's text goes to no other."""
    found: list[Check] = []
    for name in names:
        step = STEPS[name]
        assert isinstance(step, Rule | Edit)
        params = step.params()
        signals = step.edit(batch, params)[1] if isinstance(step, Edit) else step.measure(batch, params)
        found += step.checks(signals, params)
    return found


def sample_of(data_pack: Path) -> list[str]:
    """SAMPLE_BYTES of documents, evenly from each file of SAMPLE; the same ones every time."""
    sample: list[str] = []
    for name in SAMPLE:
        path = data_pack / name
        every = pq.read_table(path)["text"].to_pylist() if path.suffix == ".parquet" else strings_of(path)
        cut = [text[:LONGEST] for text in every]
        stride = max(1, sum(map(len, cut)) * len(SAMPLE) // SAMPLE_BYTES)
        sample += cut[::stride]
    return sample


def _beside_datatrove(sample: list[str]) -> dict[str, Any]:
    """The four families of rules and theirs on the same sample, in turn, and the share of equal verdicts
    there. As in a pipeline of theirs, a document that one filter drops does not reach the next; ours judge
    all. c4 comes last, since it rewrites."""
    if find_spec("datatrove") is None or find_spec("spacy") is None:
        return {"quality_vs_datatrove": None, "datatrove": "absent"}
    from datatrove.data import Document
    from datatrove.pipeline.filters.c4_filters import C4QualityFilter
    from datatrove.pipeline.filters.fineweb_quality_filter import FineWebQualityFilter
    from datatrove.pipeline.filters.gopher_quality_filter import GopherQualityFilter
    from datatrove.pipeline.filters.gopher_repetition_filter import GopherRepetitionFilter

    texts = Texts.from_strings(sample)
    theirs = [GopherQualityFilter(), GopherRepetitionFilter(), FineWebQualityFilter(), C4QualityFilter()]
    verdicts: dict[str, list[bool]] = {}

    def kept(text: str) -> bool:
        document = Document(text=text, id="")
        return all(rule.filter(document) is True for rule in theirs)

    def peer() -> None:
        verdicts["datatrove"] = [kept(text) for text in sample]

    def ours() -> None:
        checks = judged(Batch.of(texts), QUALITY)
        verdicts["ours"] = (~np.any([check.dropped for check in checks], axis=0)).tolist()

    start_seconds = seconds_of(lambda: kept(sample[0]))
    seconds = alternate({"ours": ours, "datatrove": peer}, PEER_ROUNDS)
    same = sum(a == b for a, b in zip(verdicts["ours"], verdicts["datatrove"], strict=True))
    return {
        "quality_vs_datatrove": round(seconds["datatrove"] / seconds["ours"], 1),
        "datatrove_start_seconds": start_seconds,
        "datatrove_mb_s": round(texts.num_bytes / MEGABYTE / seconds["datatrove"], 3),
        "quality_agreement": round(same / len(sample), 4),
        "quality_sample_mb": round(texts.num_bytes / MEGABYTE, 2),
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
