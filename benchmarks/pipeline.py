"""A whole `dataprep run` on real text, stage by stage, in this process, beside a floor of parsing alone.

MB are of text as read, over CPU seconds of one core. Every stage is charged with all of the text, so 1 / mb_s
adds up over stages. What stands between them (listing, planning, publishing with a re-read of every byte) is
`rest`. The floor decompresses and parses the same files and does nothing else.

Two costs do not grow with the text and come apart: `start_seconds`, a first small run that compiles kernels
or loads them compiled, and `tokenizer_start_seconds`, loading the tokenizer and comparing engines on a probe.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import zstandard

from benchmarks import peers, read
from benchmarks.measure import MEGABYTE, ROUNDS, cpu_seconds
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
QUICK = ("peps", "books")
SMALL = {"mixed": "sample/mixed_1k.jsonl.zst"}


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    sources = {name: path for name, path in SOURCES.items() if not quick or name in QUICK}
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = Path(folder) / "tokenizer.json"
        stored = (data_pack / "tokenizers" / "gpt2" / "tokenizer.json.zst").read_bytes()
        tokenizer.write_bytes(zstandard.ZstdDecompressor().stream_reader(stored).read())
        start_seconds = cpu_seconds(lambda: _run(data_pack, SMALL, tokenizer, Path(folder) / "small"))
        rounds: list[dict[str, float]] = []
        floors: list[float] = []
        text_bytes = 0
        for number in range(1 if quick else ROUNDS):
            seconds, text_bytes = _run(data_pack, sources, tokenizer, Path(folder) / f"round-{number}")
            rounds.append(seconds)
            floors.append(cpu_seconds(lambda: _parse([data_pack / path for path in sources.values()])))
        beside = _beside_datatrove(data_pack, tokenizer, Path(folder), 1 if quick else ROUNDS)
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
        "tokenizer_start_seconds": tokenizer_seconds,
        "stages": {
            name: {"mb_s": megabytes / seconds, "floor_ratio": floor / seconds}
            for name, seconds in stages.items()
            if name != "whole"
        },
    }


def _beside_datatrove(data_pack: Path, tokenizer: Path, folder: Path, rounds: int) -> dict[str, Any]:
    """Ratio of throughputs on one file: read, filter, tokenize, shuffle, write; in turn, medians."""
    if not peers.has_datatrove():
        return {"vs_datatrove": None, "datatrove": "absent"}
    few, sample, sample_bytes = peers.sample_lines(data_pack / SOURCES["wiki"], folder)
    start_seconds = cpu_seconds(peers.datatrove(few, tokenizer, folder / "few"))
    steps: list[dict[str, Any]] = [{"gopher_quality": {}}]
    ours, theirs, text_bytes = [], [], 0
    for number in range(rounds):
        place = folder / f"beside-{number}"
        seconds, text_bytes = _run(data_pack, {"wiki": SOURCES["wiki"]}, tokenizer, place, steps)
        ours.append(seconds["whole"])
        theirs.append(cpu_seconds(peers.datatrove(sample, tokenizer, folder / f"peer-{number}")))
    our_mb_s = text_bytes / MEGABYTE / statistics.median(ours)
    their_mb_s = sample_bytes / MEGABYTE / statistics.median(theirs)
    return {
        "vs_datatrove": our_mb_s / their_mb_s,
        "datatrove_mb_s": their_mb_s,
        "datatrove_start_seconds": start_seconds,
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
    data_pack: Path,
    sources: dict[str, str],
    tokenizer: Path,
    folder: Path,
    steps: list[dict[str, Any]] | None = None,
) -> tuple[dict[str, float], int]:
    """CPU seconds of each stage, of the rest and of the whole but the tokenizer stage; bytes of text read."""
    clock = Clock()
    recipe = _recipe(data_pack, sources, tokenizer, folder, steps or _steps(sources))
    start = time.process_time()
    result = run_recipe(recipe, workers=0, narrator=clock)
    whole = time.process_time() - start
    text_bytes = sum(row["text_bytes"] for row in result.report["funnel"] if row["stage"] == "read")
    rest = whole - sum(clock.seconds.values())
    return {**clock.seconds, "rest": rest, "whole": whole - clock.seconds["tokenizer"]}, text_bytes


def _steps(sources: dict[str, str]) -> list[dict[str, Any]]:
    # The rule would drop nearly all of these, and the run would stop.
    others = [name for name in ("code", "manuals", "documentation") if name in sources]
    return [{"normalize": {}}, {"gopher_quality": {"except": others} if others else {}}, {"exact_dedup": {}}]


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


def _parse(paths: list[Path]) -> None:
    for path in paths:
        if path.suffix == ".parquet":
            pq.read_table(path, columns=["id", "text"], use_threads=False)
        else:
            read.floor(path.read_bytes())
