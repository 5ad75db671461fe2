"""The rows of a report: how many documents, bytes and tokens of each source came through each stage.

A row's documents are those of the row before it less what it dropped or moved to another source, except for
`holdout` and `train`, the two parts of what was left; `check_funnel` holds a report to that. The counting is
in `decide/verdicts.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

READ = "read"
ENDS = ("holdout", "train")
"""The last two stages of a source: its subsets."""


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """One source after one stage.

    tokens    None where text has not become tokens yet
    dropped   reason -> documents, each under the first reason that applied
    joint     reason -> documents that it applied to, also beside others; empty when not counted
    moved     source -> documents that go on as documents of it (`route:`)
    """

    source: str
    stage: str
    documents: int
    text_bytes: int
    tokens: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    joint: Mapping[str, int] = field(default_factory=dict)
    moved: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShardRow:
    """One shard, as the report lists it."""

    name: str
    source: str
    subset: str
    documents: int
    tokens: int
    bin_bytes: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A document that a stage dropped, for a reader to judge whether it should have."""

    source: str
    stage: str
    reason: str
    where: str
    text: str


def funnel_of(rows: Iterable[Mapping[str, Any]]) -> list[FunnelRow]:
    """Rows of a report.json. Keys are those of FunnelRow; missing ones take its defaults."""
    return [FunnelRow(**row) for row in rows]


def by_source(rows: Iterable[FunnelRow]) -> dict[str, list[FunnelRow]]:
    """Source -> its rows, both in the order in which they come."""
    grouped: dict[str, list[FunnelRow]] = {}
    for row in rows:
        grouped.setdefault(row.source, []).append(row)
    return grouped


def totals(rows: Iterable[FunnelRow]) -> list[FunnelRow]:
    """`read`, `holdout` and `train` summed over the sources, under the source name `all`."""
    listed = list(rows)
    return [_total(stage, [row for row in listed if row.stage == stage]) for stage in (READ, *ENDS)]


def _total(stage: str, rows: Sequence[FunnelRow]) -> FunnelRow:
    tokens = [row.tokens for row in rows if row.tokens is not None]
    return FunnelRow(
        source="all",
        stage=stage,
        documents=sum(row.documents for row in rows),
        text_bytes=sum(row.text_bytes for row in rows),
        tokens=sum(tokens) if tokens else None,
    )


def check_funnel(rows: Iterable[FunnelRow]) -> list[str]:
    """What does not add up, as sentences; empty when every document is accounted for."""
    faults = []
    for source, mine in by_source(rows).items():
        left: int | None = None
        for row in mine:
            if row.stage in ENDS:
                continue
            gone = sum(row.dropped.values()) + sum(row.moved.values())
            if left is not None and left - gone != row.documents:
                faults.append(f"{source}, {row.stage}: {left:,} in, {gone:,} gone, {row.documents:,} out")
            left = row.documents
        ends = [row.documents for row in mine if row.stage in ENDS]
        if left is not None and ends and sum(ends) != left:
            faults.append(f"{source}: {left:,} left, {sum(ends):,} in {' and '.join(ENDS)}")
    return faults
