"""Rows to a trainer: our loader beside a plain loop over one memory map, on a corpus of random tokens.

The plain loop does the least that any loader must: shuffled starts, a copy of S + 1 tokens, a batch in 64
bits. It knows no sources, weights, documents or resume. Nothing is trained. `vs_best_peer` is null: no peer
is installed. Throughputs are tokens over CPU seconds of the process; `_threads` is read ahead by two threads;
`masked` and `packed` rows come with numbers of documents and positions, `packed` ones from a packing.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.measure import ROUNDS, alternate, cpu_seconds
from dataprep.fit import fit_documents
from manifests.shard import ShardReader
from manifests.store import open_corpus
from tests.manifests.corpora import Part, make_corpus
from trainer.data.loader import Loader
from trainer.data.rows import RowPlan
from trainer.data.schedule import BatchSchedule, DataSpec, PhaseSpec
from trainer.data.source_tokens import open_sources

SEQUENCE = 2048
ROWS = 64
WEIGHTS = {"web": 0.6, "code": 0.25, "books": 0.1, "notes": 0.05}
SHARDS = 4  # of each source
NUM_DOCUMENTS = 500_000  # that are packed, for the time of it
STEPS = 10**7  # planned, so that the last step is far away; few are read


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    shard_tokens, steps, rounds = (1_000_000, 20, 3) if quick else (8_000_000, 100, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        _make_corpus(Path(folder), shard_tokens)
        return _measure(Path(folder), steps, rounds)


def _measure(folder: Path, steps: int, rounds: int) -> dict[str, Any]:
    loader = _open(folder)
    masked, packed = _open(folder, document_mask=True), _open(folder, pack="best_fit")
    before_kb = _anonymous_kb()
    seconds = alternate(
        {
            "plain": lambda: _plain(folder / "web" / "train-00000", steps),
            "loader": lambda: _drain(loader, steps, 0),
            "threads": lambda: _drain(loader, steps, 2),
            "masked": lambda: _drain(masked, steps, 0),
            "packed": lambda: _drain(packed, steps, 0),
        },
        rounds,
    )
    tokens = steps * ROWS * SEQUENCE
    return {
        "tokens_s": tokens / seconds["loader"],
        "tokens_s_threads": tokens / seconds["threads"],
        "masked_tokens_s": tokens / seconds["masked"],
        "packed_tokens_s": tokens / seconds["packed"],
        "fit_us_per_document": _fit_seconds(folder, rounds) / NUM_DOCUMENTS * 1e6,
        "plain_tokens_s": tokens / seconds["plain"],
        "vs_plain": seconds["plain"] / seconds["loader"],
        "vs_best_peer": None,
        "start_seconds": _seconds_to(folder, 0, rounds),
        "resume_seconds": _seconds_to(folder, STEPS - 1, rounds),
        "rss_mb": (_anonymous_kb() - before_kb) / 1000,
    }


def _make_corpus(folder: Path, shard_tokens: int) -> None:
    """Documents of about 600 tokens with a long tail, as on the web; the same on every machine."""
    generator = np.random.default_rng(17)
    parts: list[Part] = []
    for name in WEIGHTS:
        for _ in range(SHARDS):
            lengths = np.minimum(
                1 + generator.lognormal(5.8, 1.1, shard_tokens // 300).astype(np.int64), 100_000
            )
            whole = lengths[np.cumsum(lengths) <= shard_tokens]
            parts.append(Part(name, "train", _as_ints(whole)))
    make_corpus(folder, parts, corpus="benchmark", vocab_size=50_000, packed=(SEQUENCE,))


def _fit_seconds(folder: Path, rounds: int) -> float:
    """CPU seconds of packing NUM_DOCUMENTS documents into rows, of the lengths of one shard over and over."""
    lengths = np.resize(ShardReader(folder / "web" / "train-00000").lengths, NUM_DOCUMENTS)
    fit_documents(lengths[:10], SEQUENCE)  # compiles
    return statistics.median(cpu_seconds(lambda: fit_documents(lengths, SEQUENCE)) for _ in range(rounds))


def _as_ints(lengths: np.ndarray) -> Sequence[int]:
    return [int(length) for length in lengths]


def _open(folder: Path, *, pack: str = "concat", document_mask: bool = False) -> Loader:
    corpora = [open_corpus(folder)]
    spec = DataSpec(
        seed=17,
        phases=(PhaseSpec(0, SEQUENCE, WEIGHTS, pack),),
        batch=BatchSchedule.constant(ROWS),
        steps=STEPS,
        document_mask=document_mask,
    )
    plan = RowPlan.build(corpora, spec)
    return Loader(plan, open_sources(plan, corpora), rank=0, world_size=1, workers=0)


def _drain(loader: Loader, steps: int, workers: int) -> None:
    reader = Loader(loader.plan, loader.sources, loader.rank, loader.world_size, workers)
    for batch in reader.batches(0, steps):
        assert batch.tokens.shape == (ROWS, SEQUENCE + 1)


def _plain(prefix: Path, steps: int) -> None:
    """What a training script of thirty lines does; it starts a new epoch when the shard is used up."""
    tokens = ShardReader(prefix).tokens
    count = (len(tokens) - 1) // SEQUENCE
    order = np.random.default_rng(17).permutation(count)
    for step in range(steps):
        chosen = order[np.arange(step * ROWS, (step + 1) * ROWS) % count] * SEQUENCE
        rows = [torch.from_numpy(tokens[start : start + SEQUENCE + 1].astype(np.int64)) for start in chosen]
        assert torch.stack(rows).shape == (ROWS, SEQUENCE + 1)


def _seconds_to(folder: Path, step: int, rounds: int) -> float:
    """Wall seconds from a path to the batch of `step`, file cache warm."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        _open(folder).read(step)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def _anonymous_kb() -> int:
    """Memory of this process that is no file: what a machine must really have for it."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise RuntimeError("no RssAnon in /proc/self/status: a kernel before Linux 4.5")
