"""What the first rank writes, and no other: lock, attempt, config, data plan, ledger, metrics, checkpoints.

Opened before the model is built, so that a run folder that cannot be used is refused in a second.
"""

from __future__ import annotations

import os
import platform
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import nn

from manifests.fingerprint import digest_value
from trainer import checkpoint
from trainer.audit import write_data_plan
from trainer.checkpoint import Checkpoint
from trainer.config import TrainConfig
from trainer.data.order import ORDER_VERSION
from trainer.data.rows import RowPlan
from trainer.errors import Superseded
from trainer.ledger import Ledger
from trainer.metrics import MetricsFile
from trainer.run_folder import RunFolder, lock, open_run_folder, start_attempt, superseded
from trainer.start import check_unchanged, find_start, open_ledger
from trainer.state import model_state, optimizer_state


@dataclass(slots=True)
class RunWriter:
    folder: RunFolder
    held: BinaryIO
    attempt: int
    found: Checkpoint | None  # what this start goes on from
    plan: RowPlan
    config: TrainConfig
    ledger: Ledger
    metrics: MetricsFile
    world_size: int
    saved: set[int] = field(default_factory=set)  # steps that need no saving again

    @classmethod
    def open(
        cls, config: TrainConfig, plan: RowPlan, world_size: int, *, fresh: bool, say: Callable[[str], None]
    ) -> RunWriter:
        """Take the folder for this process, decide where to start, record the attempt. Raises UserError."""
        folder = open_run_folder(config.run, fresh=fresh)
        held = lock(folder)
        try:
            return cls.take(folder, held, config, plan, world_size, say)
        except BaseException:
            held.close()
            raise

    @classmethod
    def take(
        cls,
        folder: RunFolder,
        held: BinaryIO,
        config: TrainConfig,
        plan: RowPlan,
        world_size: int,
        say: Callable[[str], None],
    ) -> RunWriter:
        """The part of `open` that needs the lock."""
        for path in checkpoint.sweep(folder.checkpoints):
            say(f"removed {path.name}, left by a save that was killed")
        found = find_start(folder, say)
        resolved = config.model_dump(mode="json")
        if found is not None:
            check_unchanged(found, resolved, plan, say)
        ledger = open_ledger(folder, found)
        first_step = 0 if found is None else found.step
        attempt = start_attempt(folder, describe_process(world_size, first_step) | {"config": resolved})
        folder.write_config(resolved)
        write_data_plan(folder.path, plan)
        saved = set() if found is None else {found.step}
        metrics = MetricsFile(folder.metrics, attempt)
        return cls(folder, held, attempt, found, plan, config, ledger, metrics, world_size, saved)

    def save(
        self, step: int, model: nn.Module, optimizer: torch.optim.Optimizer, trained: np.ndarray
    ) -> None:
        """Write the checkpoint of a state after `step` steps; nothing when this state is saved already."""
        if step in self.saved:
            return
        parts = {"weights": model_state(model), "optimizer": optimizer_state(model, optimizer)}
        data, config = self.plan.facts(), self.config.model_dump(mode="json")
        names = [source.key_name for source in self.plan.sources]  # a config may call them otherwise later
        facts = {
            "next_row": self.plan.first_row(step),
            "seed": self.config.seed,
            "order_version": ORDER_VERSION,
            "fingerprints": data["fingerprints"] | {"config": digest_value(config)},
            "data": data,
            "config": config,
            "ledger": asdict(self.ledger.position()),
            "trained": dict(zip(names, map(int, trained), strict=True)),
            "world_size": self.world_size,
            "attempt": self.attempt,
            "torch": str(torch.__version__),
        }
        checkpoint.save(self.folder.checkpoints, step, parts, facts, keep=self.config.checkpoint.keep)
        self.saved.add(step)

    def check(self) -> None:
        """Raise Superseded when a newer attempt has taken over: two writers would mix their ledgers."""
        if superseded(self.folder, self.attempt):
            raise Superseded(f"attempt {self.attempt + 1} of {self.folder.path} has started; this one stops")

    def close(self) -> None:
        self.ledger.close()
        self.metrics.close()
        self.held.close()


def describe_process(world_size: int, first_step: int) -> dict[str, Any]:
    """Who started: for people who look for a run, never read back."""
    return {
        "first_step": first_step,
        "world_size": world_size,
        "host": socket.gethostname(),
        "process_id": os.getpid(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }
