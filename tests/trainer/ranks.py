"""Runs a config as several ranks, forked after torch is imported, which costs little more than one rank.

    python -m tests.trainer.ranks CONFIG.json WORLD_SIZE PORT [FAULT]

prints "rank: result or error" for each rank. FAULT is what goes wrong on the last rank: "gone" makes its
reads fail from step 3 on, "nan" makes its loss NaN in step 3, "stop" sends it SIGTERM in step 3, "odd" gives
it another seed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing as mp

from tests.trainer.runs import Listener
from trainer import loop
from trainer.config import TrainConfig
from trainer.data import loader
from trainer.errors import RunError
from trainer.train import train


def break_something(fault: str) -> None:
    honest_read, honest_backward = loader.read_batch, loop.forward_backward

    def read_batch(plan: Any, sources: Any, step: int, rank: int, world_size: int) -> Any:
        if step >= 3 and fault == "gone":
            raise OSError("the disk is gone")
        return honest_read(plan, sources, step, rank, world_size)

    def forward_backward(parts: Any, batch: Any, num_trained: int) -> Any:
        losses = honest_backward(parts, batch, num_trained)
        if batch.step == 3 and fault == "nan":
            losses[0] = float("nan")
        if batch.step == 3 and fault == "stop":
            os.kill(os.getpid(), signal.SIGTERM)
        return losses

    loader.read_batch, loop.forward_backward = read_batch, forward_backward


def one_rank(rank: int, world_size: int, port: int, config: TrainConfig, fault: str) -> None:
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(world_size)
    )
    torch.set_num_threads(1)
    if rank == world_size - 1:
        break_something(fault)
        config = config.model_copy(update={"seed": config.seed + (fault == "odd")})
    # The newline is part of the text: unbuffered, print writes it apart, and lines of two ranks mix.
    try:
        result = train(config, workers=1, narrator=Listener())
        print(
            f"{rank}: {None if result is None else (result.reason, result.step, result.loss)}\n",
            end="",
            flush=True,
        )
    except (OSError, RunError) as error:
        print(f"{rank}: {type(error).__name__}: {error}\n", end="", flush=True)


if __name__ == "__main__":
    path, size, free_port, *faults = sys.argv[1:]
    settings = TrainConfig.model_validate(json.loads(Path(path).read_text()))
    arguments = (int(size), int(free_port), settings, faults[0] if faults else "")
    if int(size) == 1:
        one_rank(0, *arguments)
    else:
        mp.start_processes(one_rank, args=arguments, nprocs=int(size), start_method="fork")
