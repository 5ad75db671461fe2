"""Plans for tests, without files: corpora that only know their tokens, plans of a short period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from trainer.data.cursors import Phase
from trainer.data.mixture import quotas
from trainer.data.rows import PlanManifest, PlanSource, RowPlan
from trainer.data.schedule import BatchSchedule, DataSpec, PhaseSpec


@dataclass
class FakeCorpus:
    """What planning asks of a corpus. `tokens` by source, all in one shard; `packed` has (rows, targets) by
    length of row and source."""

    tokens: Mapping[str, int]
    packed: Mapping[int, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    corpus: str = "tiny"
    version: str = "1.0.0"
    tokenizer: str = "sha256:aa"
    folder: Path = field(default_factory=lambda: Path("/nowhere"))

    @property
    def manifest(self) -> Any:
        return SimpleNamespace(
            corpus=self.corpus,
            version=self.version,
            content_digest=f"blake2b-128:{self.corpus}{self.version}",
            tokenizer=SimpleNamespace(digest=self.tokenizer),
            sources=dict.fromkeys(self.tokens),
        )

    def shards_of(self, source: str, subset: str) -> tuple[Any, ...]:
        tokens = self.tokens[source] if subset == "train" else 0
        return (SimpleNamespace(name=source, tokens=tokens, bin_sha256=f"{self.corpus}/{source}"),)

    def packings(self, sequence_length: int) -> dict[str, Any]:
        return {
            source: SimpleNamespace(rows=rows, targets=targets, file_sha256=f"{rows:064x}")
            for source, (rows, targets) in self.packed[sequence_length].items()
        }


TOKENS = {"code": 1000, "prose": 700, "licences": 300}
WEIGHTS = {"code": 0.5, "prose": 0.3, "licences": 0.2}


def spec(**changes: Any) -> DataSpec:
    values: dict[str, Any] = {
        "seed": 7,
        "phases": (PhaseSpec(0, 16, WEIGHTS),),
        "batch": BatchSchedule.constant(5),
        "steps": 20,
    }
    return DataSpec(**{**values, **changes})


PACKED = {
    8: {"code": (131, 950), "prose": (97, 640), "licences": (36, 288)},
    16: {"code": (63, 950), "prose": (41, 640), "licences": (18, 288)},
}
"""(rows, targets) of the packings of TOKENS."""


def plan(*, tokens: Mapping[str, int] = TOKENS, **changes: Any) -> RowPlan:
    corpora: Any = [FakeCorpus(tokens, PACKED)]
    return RowPlan.build(corpora, spec(**changes))


def short_plan(
    tokens: Sequence[int],
    phases: Sequence[tuple[int, int, Sequence[float]]],
    *,
    block_tokens: int,
    period: int = 32,
    batch: BatchSchedule | None = None,
    extent: int = 1,
    seed: int = 7,
) -> RowPlan:
    """A plan of a short period; `phases` are (start row, sequence length, weights)."""
    batch = batch or BatchSchedule.constant(1)
    return RowPlan(
        seed=seed,
        subset="train",
        manifests=[PlanManifest("/nowhere", "tiny", "1.0.0", "blake2b-128:00")],
        sources=[PlanSource(f"s{k:02}", "tiny", f"s{k:02}", count) for k, count in enumerate(tokens)],
        phases=[
            Phase(start, length, block_tokens, tuple(weights), tuple(quotas(weights, period).tolist()))
            for start, length, weights in phases
        ],
        batch=batch,
        num_steps=100,
        document_mask=False,
        shuffle_extent=extent,
        period=period,
    )
