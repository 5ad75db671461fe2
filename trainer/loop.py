"""The hot loop: one step after the other, every decision taken by all ranks together.

A step is: read the batch; one int64 sum over ranks of flags, counts and digests; forward and backward, each
loss divided by the trained targets of the whole batch; one float64 sum of losses; a joint look at whether
they are finite; clip; update; ledger line. Everything it uses is built in `train.py`; it looks nothing up in
a config.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from trainer.control import FLAGS, Control, Decision
from trainer.counts import COLUMNS, StepCounts, count_batch, zero_counts
from trainer.data.loader import Batch
from trainer.data.rows import RowPlan, rank_slice
from trainer.errors import NonFinite
from trainer.ledger import Ledger
from trainer.metrics import Spans, StepMetrics
from trainer.model.loss import row_losses
from trainer.optim import clip_gradients, gradient_norm, set_learning_rate
from trainer.parallel.ddp import World, delay_sync
from trainer.randomness import rekey
from trainer.schedule import LearningRate

TRAINED = COLUMNS.index("trained")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a loop ended."""

    step: int  # steps done in the whole run
    loss: float | None  # of the last step; None when there was none
    stopped: bool  # by a signal, before the last step asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What the loop works with.

    check    raises when this rank must not go on
    ledger   None on every rank but the first
    trained  int64 [K]: trained targets of each source so far; the loop adds to it
    save     collective: saves the state after that many steps, unless it is saved already
    tell     is given the metrics of each step
    """

    world: World
    plan: RowPlan
    model: nn.Module
    optimizer: torch.optim.Optimizer
    learning_rate: LearningRate
    clip: float
    micro_rows: int
    seed: int
    control: Control
    check: Callable[[], None]
    ledger: Ledger | None
    trained: np.ndarray
    save: Callable[[int], None]
    save_every: int
    tell: Callable[[StepMetrics], None]


def run(loop: Loop, batches: Iterator[Batch], first_step: int, last_step: int) -> Outcome:
    """Run the steps [first_step, last_step); saves every `save_every` steps, on request, and at the end.

    Raises NonFinite on all ranks before weights change, RankFailed when another rank failed, and whatever
    failed here.
    """
    loop.model.train()
    loss: float | None = None
    for step in range(first_step, last_step):
        spans = Spans()
        rekey(loop.seed, step, loop.world.rank)
        with spans.time("data"):
            batch, failure = take(loop, batches)
        with spans.time("exchange"):
            decision, counts = exchange(loop, step, batch, failure)
        if decision.stop or decision.save:
            loop.save(step)
        if decision.stop:
            return Outcome(step, loss, True)
        assert batch is not None, "exchange raises when any rank has no batch"

        num_trained = int(counts.counts[:, TRAINED].sum())
        with spans.time("compute"):
            losses_B = forward_backward(loop, batch, num_trained)
            norm = float(gradient_norm(loop.model.parameters()))
        with spans.time("exchange"):
            source_losses, finite = sum_losses(loop, batch, losses_B, norm)
        loss = float(source_losses.sum()) / max(1, num_trained)
        if not finite:
            raise NonFinite(describe_non_finite(loop, step, source_losses, norm))

        with spans.time("optimizer"):
            rate = loop.learning_rate.at(step)
            set_learning_rate(loop.optimizer, rate)
            clip_gradients(loop.model.parameters(), norm, loop.clip)
            loop.optimizer.step()
            loop.optimizer.zero_grad(set_to_none=False)
        np.add(loop.trained, counts.counts[:, TRAINED], out=loop.trained)
        with spans.time("ledger"):
            if loop.ledger is not None:
                loop.ledger.append(loop.plan, step, counts, {"loss": loss})
        if (step + 1) % loop.save_every == 0 or step + 1 == last_step:
            with spans.time("checkpoint"):
                loop.save(step + 1)
        metrics = describe_step(loop, step, loss, source_losses, counts, norm, rate, spans)
        loop.tell(metrics)
    return Outcome(last_step, loss, False)


def take(loop: Loop, batches: Iterator[Batch]) -> tuple[Batch | None, Exception | None]:
    """The next batch, or what went wrong on this rank: it is told to the others before it is raised."""
    try:
        loop.check()
        return next(batches), None
    except Exception as error:
        return None, error


def exchange(
    loop: Loop, step: int, batch: Batch | None, failure: Exception | None
) -> tuple[Decision, StepCounts]:
    """The one int64 sum of a step: flags, and what entered the model on all ranks together.

    Row numbers come from this rank's coordinate and the rest from the batch, so that swapped ranks show in
    the digest.
    """
    counts = zero_counts(loop.plan)
    if batch is not None:
        rows = rank_slice(loop.plan.rows_of_step(step), loop.world.rank, loop.world.size)
        counts = count_batch(loop.plan, rows, batch.refs, batch.tokens.numpy(), batch.classes)
    flags = loop.control.flags(failure, loop.world.rank)
    total = loop.world.sum(np.concatenate((flags, counts.to_vector())))
    return loop.control.decide(total[:FLAGS], failure), StepCounts.from_vector(total[FLAGS:])


def forward_backward(loop: Loop, batch: Batch, num_trained: int) -> np.ndarray:
    """Add this rank's share of the gradient of the mean loss; return summed losses of its rows, float64 [B].

    DDP averages over ranks, hence the factor: the gradient is the same for any number of ranks and any
    micro_rows, up to the order of float additions. Gradients meet once, in the last micro-batch.
    """
    device = loop.world.device
    scale = loop.world.size / max(1, num_trained)
    micros = list(batch.split(loop.micro_rows))
    losses = []
    for index, micro in enumerate(micros):
        tokens = micro.tokens.to(device, non_blocking=True)
        documents, positions = (
            None if each is None else each.to(device, non_blocking=True)
            for each in (micro.documents, micro.positions)
        )
        with delay_sync(loop.model) if index + 1 < len(micros) else nullcontext():
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                logits = loop.model(tokens[:, :-1], documents, positions)
            losses_B = row_losses(logits, tokens[:, 1:], micro.trained.to(device, non_blocking=True))
            (losses_B.sum() * scale).backward()
        losses.append(losses_B.detach())
    return torch.cat(losses).double().cpu().numpy()


def sum_losses(loop: Loop, batch: Batch, losses_B: np.ndarray, norm: float) -> tuple[np.ndarray, bool]:
    """Summed loss of each source over all ranks, float64 [K]; whether all losses and norms are finite."""
    local = np.bincount(batch.refs.source, losses_B, minlength=len(loop.plan.sources))
    total = loop.world.sum(np.append(local, 0.0 if math.isfinite(norm) else math.nan))
    return total[:-1], bool(np.isfinite(total).all())


def describe_non_finite(loop: Loop, step: int, source_losses: np.ndarray, norm: float) -> str:
    rows = loop.plan.rows_of_step(step)
    odd = [
        source.name
        for source, loss in zip(loop.plan.sources, source_losses, strict=True)
        if not math.isfinite(loss)
    ]
    return (
        f"loss or gradient is not finite in step {step + 1} (rows {rows[0]} to {rows[-1]}): "
        f"gradient norm {norm}, loss of {', '.join(odd) or 'no source'}; this step changed no weight"
    )


def describe_step(
    loop: Loop,
    step: int,
    loss: float,
    source_losses: np.ndarray,
    counts: StepCounts,
    norm: float,
    rate: float,
    spans: Spans,
) -> StepMetrics:
    names = [source.name for source in loop.plan.sources]
    trained = {
        name: int(count) for name, count in zip(names, counts.counts[:, TRAINED], strict=True) if count
    }
    by_source = dict(zip(names, source_losses, strict=True))
    return StepMetrics(
        step=step + 1,
        loss=loss,
        source_loss={name: float(by_source[name]) / count for name, count in trained.items()},
        gradient_norm=norm,
        learning_rate=rate,
        trained=trained,
        seconds=spans.close(),
    )
