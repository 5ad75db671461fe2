"""A task entry that dies: kills its own process the first `times` times that a chosen task is run.

Chosen by the environment, since it runs in worker processes: HEADRACE_TEST_KILL = "stage:index:times:folder".
The folder counts the deaths. Everything else is the real `dataprep.task.execute`.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from dataprep import task
from dataprep.cache import Cache

VARIABLE = "HEADRACE_TEST_KILL"


def execute(plan: Path, stage: str, index: int) -> dict[str, Any]:
    wanted_stage, wanted_index, times, folder = os.environ[VARIABLE].split(":", 3)
    if (stage, index) == (wanted_stage, int(wanted_index)):
        deaths = len(list(Path(folder).iterdir()))
        if deaths < int(times):
            (Path(folder) / str(deaths)).touch()
            _die_before_commit(plan, stage, index)
    return task.execute(plan, stage, index)


def _die_before_commit(plan: Path, stage: str, index: int) -> None:
    """Do the whole task, then die where the result would get its name: the worst moment."""

    def die(*args: Any, **kwargs: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    Cache.commit = die  # type: ignore[method-assign]
    task.execute(plan, stage, index)
