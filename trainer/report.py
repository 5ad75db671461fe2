"""What a run says about itself in words and tables: before it starts, and at the end. No torch is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainer.data.plan_facts import mean_row_targets
from trainer.data.rows import RowPlan


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a call ended. Tokens are trained targets of the whole run, all attempts together."""

    run: str
    reason: str  # "done", "until" or "signal"
    first_step: int
    step: int
    total_steps: int
    loss: float | None  # of the last step of this call; None when there was none to do
    tokens: dict[str, int]
    planned: dict[str, float]  # share of targets by the weights asked for, over the steps done
    checkpoint: str
    ledger: str
    metrics: str
    seconds: float


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need: the first to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        first, *others = zip(row, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()

    return "\n".join([line(head), line(["-" * width for width in widths]), *map(line, rows)])


def plan_table(summary: Mapping[str, Any]) -> str:
    """What `RowPlan.summary()` says, a table of weights for each phase and one of sources."""
    parts = [
        f"{summary['steps']:,} steps, {summary['rows']:,} rows, blocks of {summary['block_tokens']:,} tokens"
    ]
    for index, phase in enumerate(summary["phases"]):
        total = sum(weight["asked"] for weight in phase["weights"].values())
        parts.append(
            f"\nphase {index}: from step {phase['start_step']:,} (row {phase['start_row']:,}), "
            f"{'packed ' if phase['pack'] == 'best_fit' else ''}rows of {phase['sequence_length']:,} tokens"
        )
        weights = [
            (
                name,
                f"{weight['asked'] / total:.4%}",
                f"{weight['realised']:.4%}",
                f"{weight['targets_per_row']:,.1f}",
            )
            for name, weight in phase["weights"].items()
        ]
        parts.append(table(("source", "asked of targets", "realised of rows", "targets a row"), weights))
    rows = [
        (name, f"{source['tokens']:,}", f"{source['rows']:,}", f"{source['epochs']:.3f}")
        for name, source in summary["sources"].items()
    ]
    parts += ["", table(("source", "tokens", "rows", "epochs"), rows)]
    return "\n".join(parts)


def run_table(result: RunResult) -> str:
    """How a run stands: trained tokens by source, planned and realised share, loss, paths."""
    total = sum(result.tokens.values())
    rows = [
        (name, f"{tokens:,}", f"{result.planned[name]:.2%}", f"{tokens / max(1, total):.2%}")
        for name, tokens in result.tokens.items()
    ]
    rows.append(("total", f"{total:,}", f"{sum(result.planned.values()):.2%}", f"{min(total, 1):.2%}"))
    loss = "no step in this call" if result.loss is None else f"{result.loss:.4f}"
    return "\n".join(
        [
            table(("source", "tokens trained", "planned", "realised"), rows),
            "",
            f"steps       {result.step} of {result.total_steps} ({result.reason})",
            f"loss        {loss}",
            f"seconds     {result.seconds:.1f}",
            f"checkpoint  {result.checkpoint}",
            f"ledger      {result.ledger}",
            f"metrics     {result.metrics}",
        ]
    )


def planned_shares(plan: RowPlan, step: int) -> dict[str, float]:
    """Share of each source in the targets of the steps before `step`, by the weights asked for."""
    end = plan.first_row(step)
    starts = [min(phase.start_row, end) for phase in plan.phases] + [end]
    targets = np.zeros(len(plan.sources))
    for phase, first, last in zip(plan.phases, starts, starts[1:], strict=False):
        weights = np.array(phase.weights)
        rows = np.array(phase.quota) / plan.period
        means = [mean_row_targets(source, phase) for source in plan.sources]
        targets += (last - first) * float(rows @ means) * weights / weights.sum()
    shares = targets / max(1.0, targets.sum())
    return {source.name: round(float(share), 6) for source, share in zip(plan.sources, shares, strict=True)}


def describe_start(plan: RowPlan, first_step: int, last_step: int, num_parameters: int, ranks: int) -> str:
    """The line before the first step."""
    if first_step == last_step:
        return f"nothing to do: step {first_step} of {plan.num_steps} is done already"
    rows = plan.first_row(last_step) - plan.first_row(first_step)
    sources = ", ".join(source.name for source in plan.sources)
    return (
        f"model of {num_parameters / 1e6:.2f}M parameters, {ranks} rank{'s' if ranks > 1 else ''}; "
        f"steps {first_step + 1} to {last_step} of {plan.num_steps}, {rows:,} rows from {sources}"
    )
