"""A trainer without a model: feeds the steps of a plan into the ledger as `world` ranks would, torch-free."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from manifests.corpus import Corpus, open_corpus
from tests.manifests.corpora import Part, make_corpus
from trainer.audit import write_data_plan
from trainer.data.rows import RowPlan, RowRefs, rank_slice
from trainer.data.schedule import BatchSchedule, DataSpec, PhaseSpec
from trainer.data.source_tokens import SourceTokens, open_sources
from trainer.data.targets import classify, classify_packed
from trainer.ledger import Ledger, StepCounts, count_batch, zero_counts

WEIGHTS = {"code": 0.5, "prose": 0.3, "licences": 0.2}
Batch = tuple[np.ndarray, RowRefs, np.ndarray, np.ndarray]
"""What count_batch takes: rows, refs, tokens [B, S + 1], classes [B, S]."""


def make_tiny_corpus(folder: Path, **options: Any) -> Corpus:
    """Three sources of some 900, 350 and 300 tokens, documents of 1 to 40, the first in two shards."""
    lengths = np.random.default_rng(3).integers(1, 40, 80).tolist()
    parts = [
        Part("code", "train", lengths[:25]),
        Part("code", "train", lengths[25:45]),
        Part("prose", "train", lengths[45:65]),
        Part("licences", "train", lengths[65:]),
        Part("prose", "holdout", (9,)),
    ]
    make_corpus(folder, parts, vocab_size=60, packed=(8, 16), **options)
    return open_corpus(folder)


def make_plan(corpus: Corpus, **changes: Any) -> RowPlan:
    """Three phases with another length in the middle, two batch sizes, 24 steps, several epochs."""
    values: dict[str, Any] = {
        "seed": 5,
        "phases": (
            PhaseSpec(0, 8, WEIGHTS),
            PhaseSpec("7 steps", 16, {"prose": 0.8, "licences": 0.2}),
            PhaseSpec("2k tokens", 8, {"code": 0.1, "prose": 0.1, "licences": 0.8}),
        ),
        "batch": BatchSchedule((0, 10), (7, 9)),
        "steps": 24,
        "document_mask": True,
    }
    return RowPlan.build([corpus], DataSpec(**{**values, **changes}))


def read_rows(plan: RowPlan, sources: tuple[SourceTokens, ...], rows: np.ndarray, step: int) -> Batch:
    length = plan.sequence_length(step)
    is_packed = plan.phase_at(plan.first_row(step)).is_packed
    refs = plan.locate(np.where(rows < 0, plan.first_row(step), rows))
    tokens = np.zeros((len(rows), length + 1), np.int64)
    classes = np.zeros((len(rows), length), np.uint8)
    for index in np.flatnonzero(rows >= 0).tolist():
        source, start = sources[refs.source[index]], int(refs.start[index])
        if is_packed:
            row = source.packed(length).read(int(refs.block[index]))
            tokens[index], classes[index] = row.tokens, classify_packed(row.starts, row.used, length)
            continue
        tokens[index] = source.read(start, length + 1)
        classes[index] = classify(source.document_starts(start, length + 1), length, plan.document_mask)
    return rows, refs, tokens, classes


def count_step(
    plan: RowPlan,
    sources: tuple[SourceTokens, ...],
    step: int,
    world: int = 1,
    tamper: Callable[[int, int, Batch], Batch] = lambda step, rank, batch: batch,
) -> StepCounts:
    """What all ranks of `world` feed into a step; `tamper` may change a rank's batch, as a bug would."""
    total = zero_counts(plan)
    for rank in range(world):
        rows = rank_slice(plan.rows_of_step(step), rank, world)
        batch = tamper(step, rank, read_rows(plan, sources, rows, step))
        total = total + StepCounts.from_vector(count_batch(plan, *batch).to_vector())
    return total


def feed(
    plan: RowPlan, corpus: Corpus, ledger: Ledger, steps: Iterable[int], world: int = 1, **options: Any
) -> None:
    sources = open_sources(plan, [corpus])
    for step in steps:
        ledger.append(plan, step, count_step(plan, sources, step, world, **options), {"loss": 1 / (step + 1)})


def make_run(folder: Path, corpus: Corpus, plan: RowPlan, steps: int | None = None, **options: Any) -> Path:
    """A run folder with its data plan and the ledger of the first steps."""
    folder.mkdir()
    write_data_plan(folder, plan)
    ledger = Ledger.create(folder / "ledger.jsonl")
    feed(plan, corpus, ledger, range(plan.num_steps if steps is None else steps), **options)
    ledger.close()
    return folder
