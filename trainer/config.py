"""The schema of `train.yaml`: frozen, strict, complete before work starts.

Reading goes through `manifests.strict`, so an unknown key names its nearest valid one and all errors come at
once. Nothing here opens a file: what the manifests decide (vocabulary, sources, rows) is checked when
`train.py` opens them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from manifests.strict import parse
from trainer.data.schedule import BatchSchedule, DataSpec, PhaseSpec

Count = Annotated[int, Field(ge=1, lt=2**31)]  # products of two stay whole numbers of 64 bits
Weight = Annotated[float, Field(gt=0, le=1e15, allow_inf_nan=False)]
MAX_EPOCHS = 4.0
"""How often a source may repeat where the config sets no limit: repeated tokens teach less and less."""
PHASE_START = re.compile(r"^(\d+|\d+ (rows|steps)|\d+(\.\d+)?[kMGT]? tokens)$")


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PhaseConfig(Strict):
    """A stretch of rows with fixed weights; it starts at a row, or at "30 steps" or "2M tokens"."""

    start: int | str = 0
    sequence_length: Count
    pack: Literal["concat", "best_fit"] = "concat"
    """Rows of consecutive tokens, or of the packings that the corpora were made with."""
    weights: Annotated[dict[str, Weight], Field(min_length=1)]

    @field_validator("start")
    @classmethod
    def _readable(cls, start: int | str) -> int | str:
        if not PHASE_START.match(str(start)):
            raise ValueError(
                f'{start!r} is not a count of rows, "N rows", "N steps" or "N tokens" (such as 2.5M)'
            )
        return start


class DataConfig(Strict):
    manifests: Annotated[list[Path], Field(min_length=1)]
    block_tokens: Count | None = None
    document_mask: bool = False
    max_epochs: dict[str, Annotated[float, Field(gt=0)]] = {}  # by source; "default" for the others
    accept_rounding: bool = False
    accept_repeat: bool = False
    phases: Annotated[list[PhaseConfig], Field(min_length=1)]

    @model_validator(mode="after")
    def _begins_at_zero(self) -> Self:
        if self.phases[0].start not in (0, "0", "0 rows", "0 steps"):
            raise ValueError(f"the first phase starts at {self.phases[0].start!r}, not at 0")
        return self


class BatchConfig(Strict):
    rows: Count  # of a whole step, over all ranks
    micro_rows: Count  # of one forward pass of one rank; changes memory and speed, never the gradient


class ModelConfig(Strict):
    name: Literal["transformer"] = "transformer"
    dim: Count
    layers: Count
    heads: Count
    kv_heads: Count | None = None
    ffn_multiple: Annotated[float, Field(gt=0)] = 8 / 3
    rope_theta: Annotated[float, Field(gt=0)] = 10_000.0
    norm_eps: Annotated[float, Field(gt=0)] = 1e-5
    tie_embeddings: bool = True
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.dim % self.heads or (self.dim // self.heads) % 2:
            raise ValueError(
                f"dim {self.dim} over {self.heads} heads must give an even head width (RoPE turns pairs)"
            )
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ValueError(f"kv_heads {self.kv_heads} must divide heads {self.heads}")
        return self

    @property
    def ffn_dim(self) -> int:
        """`ffn_multiple` times `dim`, rounded up to a multiple of 16."""
        return -(-round(self.ffn_multiple * self.dim) // 16) * 16


class OptimizerConfig(Strict):
    name: Literal["adamw"] = "adamw"
    lr: Annotated[float, Field(gt=0)]
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (0.9, 0.95)
    eps: Annotated[float, Field(gt=0)] = 1e-8
    weight_decay: Annotated[float, Field(ge=0)] = 0.1
    clip: Annotated[float, Field(gt=0)] | None = 1.0  # greatest global gradient norm; null = never clip


class ScheduleConfig(Strict):
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    decay: Literal["constant", "linear", "cosine"] = "cosine"
    decay_steps: Count | None = None  # the last steps that decay; null = all after the warm-up
    min_ratio: Annotated[float, Field(ge=0, le=1)] = 0.1  # of lr, at the last step


class CheckpointConfig(Strict):
    every: Count
    keep: Count = 3


class EvaluateConfig(Strict):
    """Evaluation sets that the model will be scored on. A start compares their digests with what the training
    manifests say they were checked against."""

    sets: list[Path] = []
    unchecked: Literal["refuse", "warn", "ignore"] = "refuse"


class TrainConfig(Strict):
    run: Path
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    data: DataConfig
    batch: BatchConfig
    steps: Count
    model: ModelConfig
    optimizer: OptimizerConfig
    schedule: ScheduleConfig = ScheduleConfig()
    checkpoint: CheckpointConfig
    evaluate: EvaluateConfig = EvaluateConfig()
    device: Literal["auto", "cpu", "cuda"] = "auto"
    timeout_seconds: Annotated[float, Field(gt=0)] = 600.0
    """Of every collective: a lost rank is noticed after this, and a checkpoint must be written in less."""

    @model_validator(mode="after")
    def _schedule_fits(self) -> Self:
        if self.schedule.warmup_steps + (self.schedule.decay_steps or 0) > self.steps:
            raise ValueError(f"warmup_steps and decay_steps of schedule exceed steps {self.steps}")
        return self


def load_config(path: Path, sets: Sequence[str] = ()) -> TrainConfig:
    """Parse a train.yaml with `--set` overrides; a UserError lists every mistake with its line."""
    return parse(TrainConfig, path, sets)


def data_spec(config: TrainConfig) -> DataSpec:
    """What the order of rows depends on, besides the manifests."""
    data = config.data
    return DataSpec(
        seed=config.seed,
        phases=tuple(
            PhaseSpec(phase.start, phase.sequence_length, phase.weights, phase.pack) for phase in data.phases
        ),
        batch=BatchSchedule.constant(config.batch.rows),
        steps=config.steps,
        block_tokens=data.block_tokens,
        document_mask=data.document_mask,
        max_epochs={"default": MAX_EPOCHS, **data.max_epochs},
        accept_rounding=data.accept_rounding,
        accept_repeat=data.accept_repeat,
    )
