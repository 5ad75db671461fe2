"""Where tasks run. An engine places task references and reports how each ended; it never sees a step or a
document.

Cache, retries and order belong to `run.py`. Every engine runs `task.execute(plan, stage, index)` and
nothing else: what crosses a process boundary is that triple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from dataprep.engines.inline import InlineEngine
from dataprep.engines.local import LocalEngine
from dataprep.engines.outcome import Outcome, TaskReference

__all__ = ["ENGINES", "Engine", "InlineEngine", "LocalEngine", "Outcome", "TaskReference"]


class Engine(Protocol):
    """Runs tasks of one stage.

    `run` yields one outcome a reference, in order of completion. A task that raises is an outcome, and so
    is a worker that dies; the engine goes on with the others either way.
    """

    def run(self, references: Sequence[TaskReference]) -> Iterator[Outcome]: ...

    def close(self) -> None: ...


ENGINES: dict[str, Callable[[int], Engine]] = {"local": LocalEngine, "inline": InlineEngine}
