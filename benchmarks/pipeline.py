"""A whole `dataprep run` on real text, stage by stage, in this process, beside a floor of parsing alone.

The recipe is the quickstart's and more: read, normalize, all rules of Gopher and FineWeb, exact and
near-duplicates, every evaluation set of the data pack, tokenize, pack. MB are of text as read, over CPU
seconds of one core. Every stage is charged with all of the text, so 1 / mb_s adds up over stages. What stands
between them (listing, planning, publishing with a re-read of every byte) is `rest`. The floor decompresses
and parses the same files and does nothing else.

Three costs do not grow with the text and come apart: `start_seconds`, a first small run that compiles kernels
or loads them compiled; `eval_index_seconds`, the index of the evaluation sets, which a machine makes once;
and `tokenizer_start_seconds`, loading the tokenizer and comparing engines on a probe.

vs_datatrove is a ratio of throughputs over PROSE, to which all rules apply: ours on all of it, datatrove's
blocks (`peers.py`) on a sample, in turn, medians. Both leave Unicode forms out, which datatrove has no step
for, and look for 12-grams of the evaluation sets, as it does. Its index holds every 20th example, since one
of all takes it minutes; finding nothing in a larger one would cost it as much.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import zstandard

from benchmarks import peers, read
from benchmarks.measure import MEGABYTE, ROUNDS, cpu_seconds
from benchmarks.steps import strings_of
from dataprep.evals.definitions import DEFINITIONS
from dataprep.evals.sets import eval_files, read_set
from dataprep.evals.shared import shared_index
from dataprep.narrate import Narrator
from dataprep.recipe import Recipe, recipe_of
from dataprep.run import run as run_recipe

SOURCES = {
    "wiki": "wiki/wiki_en.jsonl.zst",
    "manuals": "manpages/manpages.jsonl.zst",
    "peps": "peps/peps.jsonl.zst",
    "documentation": "docs_versions/django_docs_4_versions.jsonl.zst",
    "books": "books/books_en.parquet",
    "code": "code/code.parquet",
}
PROSE = ("wiki", "peps", "books")
QUICK = ("peps", "books")
SMALL = {"mixed": "sample/mixed_1k.jsonl.zst", "peps": "dedup/pep_revisions.jsonl.zst"}
"""The second has near-duplicates, so that what compares them is loaded too."""

RULES = ("gopher_quality", "gopher_repetition", "fineweb_quality")
STRIDE = 20
"""Every so many examples of the evaluation sets are in the peer's index."""


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    sources = {name: path for name, path in SOURCES.items() if not quick or name in QUICK}
    evals = str(data_pack / "evals" / "*.jsonl.gz")
    with tempfile.TemporaryDirectory() as folder, _evals_kept_in(Path(folder) / "evals"):
        tokenizer = Path(folder) / "tokenizer.json"
        stored = (data_pack / "tokenizers" / "gpt2" / "tokenizer.json.zst").read_bytes()
        tokenizer.write_bytes(zstandard.ZstdDecompressor().stream_reader(stored).read())
        steps = _steps(sources, evals)
        index = cpu_seconds(lambda: shared_index(eval_files([evals]), DEFINITIONS["longest"]))
        small = Path(folder) / "small"
        start_seconds = cpu_seconds(lambda: _run(data_pack, SMALL, tokenizer, small, _steps(SMALL, evals)))
        rounds: list[dict[str, float]] = []
        floors: list[float] = []
        text_bytes = 0
        for number in range(1 if quick else ROUNDS):
            place = Path(folder) / f"round-{number}"
            seconds, text_bytes = _run(data_pack, sources, tokenizer, place, steps)
            rounds.append(seconds)
            floors.append(cpu_seconds(lambda: _parse([data_pack / path for path in sources.values()])))
        prose = {name: SOURCES[name] for name in PROSE if not quick or name == "wiki"}
        beside = _beside_datatrove(data_pack, prose, tokenizer, Path(folder), quick)
    floor = statistics.median(floors)
    stages = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    tokenizer_seconds = stages.pop("tokenizer")
    megabytes = text_bytes / MEGABYTE
    return {
        "mb_s": megabytes / stages["whole"],
        **beside,
        "floor_ratio": floor / stages["whole"],
        "floor_mb_s": megabytes / floor,
        "text_mb": megabytes,
        "start_seconds": start_seconds,
        "eval_index_seconds": index,
        "tokenizer_start_seconds": tokenizer_seconds,
        "stages": {
            name: {"mb_s": megabytes / seconds, "floor_ratio": floor / seconds}
            for name, seconds in stages.items()
            if name != "whole"
        },
    }


def _beside_datatrove(
    data_pack: Path, sources: dict[str, str], tokenizer: Path, folder: Path, quick: bool
) -> dict[str, Any]:
    """Ratio of throughputs of the steps that both have; ours stage by stage, theirs step by step."""
    if not peers.has_datatrove():
        return {"vs_datatrove": None, "datatrove": "absent"}
    evals = str(data_pack / "evals" / "*.jsonl.gz")
    sets = [read_set(file) for file in eval_files([evals])]
    index = folder / "index"
    stride = 10 * STRIDE if quick else STRIDE
    peers.write_index([replace(each, examples=each.examples[::stride]) for each in sets], index)
    texts = [text for path in sources.values() for text in _strings(data_pack / path)]
    few, sample, sample_bytes = peers.sample_lines(texts, folder)
    start_seconds = cpu_seconds(lambda: peers.datatrove(few, tokenizer, index, folder / "few")())
    peer = peers.datatrove(sample, tokenizer, index, folder / "peer")
    steps: list[dict[str, Any]] = [{name: {}} for name in (*RULES, "exact_dedup", "minhash_dedup")]
    steps.append({"decontaminate": {"evals": [evals], "definition": "datatrove"}})
    shared_index(eval_files([evals]), DEFINITIONS["datatrove"])
    ours, theirs, text_bytes = [], [], 0
    for number in range(1 if quick else ROUNDS):
        seconds, text_bytes = _run(data_pack, sources, tokenizer, folder / f"beside-{number}", steps)
        ours.append(seconds["whole"])
        theirs.append(peer())
    our_mb_s = text_bytes / MEGABYTE / statistics.median(ours)
    their_mb_s = sample_bytes / MEGABYTE / statistics.median(sum(each.values()) for each in theirs)
    steps_mb_s = {
        name: {"mb_s": sample_bytes / MEGABYTE / statistics.median(each[name] for each in theirs)}
        for name in theirs[0]
    }
    return {
        "vs_datatrove": our_mb_s / their_mb_s,
        "prose_mb_s": our_mb_s,
        "datatrove_mb_s": their_mb_s,
        "datatrove_start_seconds": start_seconds,
        "datatrove_steps": steps_mb_s,
    }


class Clock(Narrator):
    """Says nothing; takes the CPU seconds of each stage."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str, total: int) -> Iterator[None]:
        start = time.process_time()
        yield
        self.seconds[name] = time.process_time() - start


def _run(
    data_pack: Path, sources: dict[str, str], tokenizer: Path, folder: Path, steps: list[dict[str, Any]]
) -> tuple[dict[str, float], int]:
    """CPU seconds of each stage, of the rest and of the whole but the tokenizer stage; bytes of text read."""
    clock = Clock()
    recipe = _recipe(data_pack, sources, tokenizer, folder, steps)
    start = time.process_time()
    result = run_recipe(recipe, workers=0, narrator=clock)
    whole = time.process_time() - start
    text_bytes = sum(row["text_bytes"] for row in result.report["funnel"] if row["stage"] == "read")
    rest = whole - sum(clock.seconds.values())
    return {**clock.seconds, "rest": rest, "whole": whole - clock.seconds["tokenizer"]}, text_bytes


def _steps(sources: dict[str, str], evals: str) -> list[dict[str, Any]]:
    # The rules would drop nearly all of these, and the run would stop.
    others = [name for name in ("code", "manuals", "documentation") if name in sources]
    chosen = {"except": others} if others else {}
    return [
        {"normalize": {}},
        *({name: chosen} for name in RULES),
        {"exact_dedup": {}},
        {"minhash_dedup": {}},
        {"decontaminate": {"evals": [evals]}},
    ]


def _recipe(
    data_pack: Path, sources: dict[str, str], tokenizer: Path, folder: Path, steps: list[dict[str, Any]]
) -> Recipe:
    return recipe_of(
        {
            "corpus": "benchmark",
            "version": "1.0.0",
            "sources": {name: {"path": str(data_pack / path), "id": "id"} for name, path in sources.items()},
            "steps": steps,
            "tokenizer": {"file": str(tokenizer)},
            "holdout": {"documents": 0.01},
            "shards": {"tokens": 10_000_000},
            "output": str(folder),
        }
    )


@contextlib.contextmanager
def _evals_kept_in(folder: Path) -> Iterator[None]:
    """Indexes of evaluation sets are made anew, whatever earlier runs left on this machine."""
    before = os.environ.get("HEADRACE_EVALS")
    os.environ["HEADRACE_EVALS"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HEADRACE_EVALS"]
        else:
            os.environ["HEADRACE_EVALS"] = before


def _strings(path: Path) -> list[str]:
    if path.suffix != ".parquet":
        return strings_of(path)
    strings: list[str] = pq.read_table(path, columns=["text"])["text"].to_pylist()
    return strings


def _parse(paths: list[Path]) -> None:
    for path in paths:
        if path.suffix == ".parquet":
            pq.read_table(path, columns=["id", "text"], use_threads=False)
        else:
            read.floor(path.read_bytes())
