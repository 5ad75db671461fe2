"""The ledger: one JSON line a step of what was trained on; append-only, fsynced, chained.

    {"step": 31, "row": 480, "rows": 16,
     "sources": {"quickstart/code": {"rows": 8, "trained": 2048, "masked": 0, ..., "epoch_sum": 3}},
     "row_digest": "<16 hex>", "token_digest": "<16 hex>", "chain": "<32 hex>", "outside": {"loss": 5.1}}

`step` counts from 1: the line of step k is the last one that a checkpoint after k steps counts. Sources
without a row in the step are left out. `epoch_sum` adds up the epoch numbers (from 0) of the rows.
`counts.py` says where all of it comes from.

`chain` is BLAKE2b-128 of the chain before and the canonical JSON of the line without `chain` and `outside`,
so an edited or missing line shows. A resume that goes back appends
    {"event": "rewind", "steps": 30, "lines": 7, "torn_bytes": 0, "chain": ...}
and keeps the 7 lines that no longer count: what counts is what counted before them, 30 steps. A line is
complete when its newline is on the disk; an unclean kill may leave a torn last line, which is cut off on
resume, as no checkpoint counts it.

The file is held by one process (data-parallel rank 0). `audit.py` proves it against the manifests.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from manifests.errors import UserError
from manifests.files import fsync_directory
from manifests.fingerprint import UnstableValue, canonical_json
from trainer.counts import COLUMNS, StepCounts, count_batch, step_record, zero_counts
from trainer.data.rows import RowPlan

__all__ = [
    "COLUMNS",
    "START",
    "Ledger",
    "LedgerError",
    "LedgerPosition",
    "StepCounts",
    "count_batch",
    "effective_lines",
    "iterate_ledger",
    "read_ledger",
    "zero_counts",
]

GENESIS = "0" * 32
"""The chain before the first line."""


class LedgerError(UserError):
    """A ledger that was cut, edited, or does not reach what a checkpoint counts."""


@dataclass(frozen=True, slots=True)
class LedgerPosition:
    """How far a ledger reaches: what a checkpoint counts, as JSON by dataclasses.asdict."""

    lines: int
    bytes: int
    chain: str


START = LedgerPosition(0, 0, GENESIS)


def chain_digest(before: str, record: Mapping[str, Any]) -> str:
    """The chain after a record, which may have the fields chain and outside: they are left out."""
    chained = {name: value for name, value in record.items() if name not in ("chain", "outside")}
    return hashlib.blake2b(before.encode() + canonical_json(chained), digest_size=16).hexdigest()


def iterate_ledger(path: Path) -> Iterator[tuple[dict[str, Any], LedgerPosition]]:
    """Each record with the position after it, in the order of the file, the chain verified.

    Ends before a torn last line: one without a newline, or that is no JSON. Raises LedgerError, with the
    number of the line, for anything else that is wrong.
    """
    position = START
    with open(path, "rb") as stream:
        for line in stream:
            parsed = _parse(line, position.chain)
            if parsed is None:
                # A line without its newline is the last: the trainer may be writing its rest just now.
                if line.endswith(b"\n") and stream.read(1):
                    raise LedgerError("a line is damaged", where=f"{path}:{position.lines + 1}")
                return
            record, chain = parsed
            if record.get("chain") != chain:
                raise LedgerError(
                    f"the chain is broken: {record.get('chain')} instead of {chain}, so a line was edited, "
                    "added or removed",
                    where=f"{path}:{position.lines + 1}",
                )
            position = LedgerPosition(position.lines + 1, position.bytes + len(line), chain)
            yield record, position


def read_ledger(path: Path) -> list[dict[str, Any]]:
    """All complete records, in the order of the file. Raises LedgerError."""
    return [record for record, _ in iterate_ledger(path)]


def effective_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of steps that count, without those that a rewind took back. Memory: a few numbers a line.

    A LedgerError comes after the steps that count by the lines before the wrong one.
    """
    states = [_State(0, -1, 0)]
    failure: LedgerError | None = None
    try:
        for number, (record, _) in enumerate(iterate_ledger(path)):
            states.append(_next_state(states, record, f"{path}:{number + 1}"))
    except LedgerError as error:
        failure = error
    wanted = set()
    state = states[-1]
    while state.steps:
        wanted.add(state.line)
        state = states[state.before]
    if wanted:
        for number, (record, _) in enumerate(iterate_ledger(path)):
            if number in wanted:
                yield record
            if number == states[-1].line:
                break
    if failure is not None:
        raise failure


class _State(NamedTuple):
    """What counts after a line: `steps` steps, the last in `line`, the rest as it was after `before` lines.

    A rewind goes back to an earlier state, which need not be one that led to the last: a newer checkpoint
    that can be read again takes the run back to lines that an older one had put aside.
    """

    steps: int
    line: int  # from 0; -1 without a step
    before: int


def _next_state(states: Sequence[_State], record: Mapping[str, Any], where: str) -> _State:
    """The state after a record, given those after 0, 1, 2, ... lines. Raises LedgerError."""
    steps = states[-1].steps
    if record.get("event") == "rewind":
        lines = record.get("lines")
        back = len(states) - 1 - lines if isinstance(lines, int) else -1
        if 0 <= back < len(states) and states[back].steps == record.get("steps"):
            return states[back]
        raise LedgerError("a rewind leads to no state that the ledger had", where=where)
    if record.get("step") == steps + 1:
        return _State(steps + 1, len(states) - 1, len(states) - 1)
    raise LedgerError(f"step {steps + 1} should come next, not {record.get('step')}", where=where)


class Ledger:
    """An open ledger, to append to. Use `create` or `resume`."""

    def __init__(self, path: Path, position: LedgerPosition, next_step: int) -> None:
        self.path = path
        self.next_step = next_step
        self._position = position
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        fsync_directory(path.parent)

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new ledger. Raises LedgerError when there is one that holds anything."""
        if path.exists() and path.stat().st_size:
            raise LedgerError(
                "there is a ledger already, of a run that is not being resumed",
                where=str(path),
                hint="resume that run, or start the new one in another folder",
            )
        return cls(path, START, 0)

    @classmethod
    def resume(cls, path: Path, position: LedgerPosition, next_step: int) -> Self:
        """Go on after a checkpoint that counts up to `position` and `next_step` steps.

        What lies beyond stays, under a rewind line; a torn last line is cut off. Raises LedgerError when the
        ledger is shorter than the checkpoint says, or other than what it counted.
        """
        end, chain_there = START, None if position.lines else GENESIS
        if path.exists():
            for _, end in iterate_ledger(path):
                if end.lines == position.lines and end.bytes == position.bytes:
                    chain_there = end.chain
        if end.lines < position.lines:
            raise LedgerError(
                f"the checkpoint counts {position.lines} lines, but the ledger has {end.lines}: what was "
                "trained on is no longer on record",
                where=str(path),
                hint="restore the ledger from a backup, or resume an older checkpoint",
            )
        if chain_there != position.chain:
            raise LedgerError(
                f"line {position.lines} is not the one that the checkpoint counts",
                where=f"{path}:{position.lines}",
                hint="ledger and checkpoint belong to different runs, or the ledger was edited",
            )
        size_bytes = path.stat().st_size if path.exists() else 0
        ledger = cls(path, end, next_step)
        if size_bytes > end.bytes:
            os.ftruncate(ledger._file, end.bytes)
        if size_bytes > position.bytes:
            ledger._append(
                {
                    "event": "rewind",
                    "steps": next_step,
                    "lines": end.lines - position.lines,
                    "torn_bytes": size_bytes - end.bytes,
                }
            )
        return ledger

    def append(
        self, plan: RowPlan, step: int, counts: StepCounts, outside: Mapping[str, Any] | None = None
    ) -> None:
        """Write the line of `step` (from 0) and fsync it. `outside` (loss, seconds) is not in the chain."""
        if step != self.next_step:
            raise ValueError(f"step {self.next_step} comes next, not {step}")
        self._append(step_record(plan, step, counts), outside)
        self.next_step += 1

    def position(self) -> LedgerPosition:
        """What a checkpoint that is written now may count: all of it is on the disk."""
        return self._position

    def close(self) -> None:
        os.close(self._file)

    def _append(self, record: dict[str, Any], outside: Mapping[str, Any] | None = None) -> None:
        chain = chain_digest(self._position.chain, record)
        whole = {**record, "chain": chain, **({"outside": dict(outside)} if outside else {})}
        line = json.dumps(whole, separators=(",", ":")).encode() + b"\n"
        written = os.write(self._file, line)
        if written != len(line):
            what = f"only {written} of {len(line)} bytes of a line were written"
            raise OSError(errno.ENOSPC, what, str(self.path))
        os.fsync(self._file)
        self._position = LedgerPosition(self._position.lines + 1, self._position.bytes + len(line), chain)


def _parse(line: bytes, chain_before: str) -> tuple[dict[str, Any], str] | None:
    """The record of a complete line and the chain after it, else None."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
        # 1e400 and NaN can be read, but no line was ever written with them, and they have no digest.
        return (record, chain_digest(chain_before, record)) if isinstance(record, dict) else None
    except (ValueError, RecursionError, UnstableValue):
        return None
