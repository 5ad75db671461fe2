"""The engine without processes: every task runs in the caller, one after the other.

For debuggers and for tests; `--workers 0` selects it. A task that kills its process kills the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dataprep.engines.outcome import ENTRY, Outcome, TaskReference, call


class InlineEngine:
    def __init__(self, workers: int = 0, entry: str = ENTRY) -> None:
        del workers  # one signature for all engines
        self.entry = entry

    def run(self, references: Sequence[TaskReference]) -> Iterator[Outcome]:
        for reference in references:
            kind, result, detail = call(reference, self.entry)
            yield Outcome(reference, kind, result, detail)

    def close(self) -> None:
        return None
