"""Data parallelism: every rank holds the whole model and takes its own slice of each batch.

`World` is the one door to other ranks. Its sums travel over gloo on the CPU, int64 and float64 apart;
gradients go through torch's DistributedDataParallel (nccl on CUDA). Alone, every method is the identity.
Every group has an explicit timeout, so that a lost rank ends the others instead of holding them.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from trainer.errors import RankFailed, RanksDiffer


@dataclass(frozen=True, slots=True)
class World:
    """The data-parallel group as one rank sees it."""

    rank: int
    size: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Element-wise sum over ranks of int64 (modulo 2^64, so digests add up too) or float64 values."""
        if self.size == 1:
            return values
        total = torch.from_numpy(values.copy())
        dist.all_reduce(total)
        return total.numpy()

    def gather(self, value: str) -> list[str]:
        """One string of every rank, in rank order."""
        if self.size == 1:
            return [value]
        values: list[str | None] = [None] * self.size
        dist.all_gather_object(values, value)
        return [str(value) for value in values]

    def broadcast(self, value: str) -> str:
        """The string of rank 0."""
        return self.gather(value)[0]


def pick_device(wanted: str, local_rank: int) -> torch.device:
    if wanted == "cpu" or (wanted == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    return torch.device("cuda", local_rank)


def join(device: str, timeout_seconds: float) -> World:
    """Join the group that torchrun described in the environment, or be alone without one."""
    size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    where = pick_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    if where.type == "cuda":
        torch.cuda.set_device(where)
    if size > 1 and not dist.is_initialized():
        backend = "cpu:gloo,cuda:nccl" if where.type == "cuda" else "gloo"
        dist.init_process_group(backend, timeout=timedelta(seconds=timeout_seconds))
    return World(rank, size, where)


@contextmanager
def joined(device: str, timeout_seconds: float) -> Iterator[World]:
    """`join`, and leave the group after success.

    After a failure that is left to the end of the process: taking the group down while other ranks wait in a
    collective may wait as well.
    """
    world = join(device, timeout_seconds)
    yield world
    if world.size > 1:
        dist.destroy_process_group()


def replicate(model: nn.Module, world: World) -> nn.Module:
    """Wrap a model so that its gradients are averaged over ranks at the end of a backward pass."""
    if world.size == 1:
        return model
    devices = [world.device.index] if world.device.type == "cuda" else None
    # The rope tables are the same everywhere, and gradients as views of the buckets save one copy of them.
    return DistributedDataParallel(
        model, device_ids=devices, forward_sync_buffers=False, gradient_as_bucket_view=True
    )


def delay_sync(model: nn.Module) -> AbstractContextManager[None]:
    """Within this context gradients stay on their rank: for all but the last micro-batch of a step."""
    return model.no_sync() if isinstance(model, DistributedDataParallel) else nullcontext()


@contextmanager
def together(world: World, doing: str) -> Iterator[None]:
    """Run a body that may fail on some ranks only: all ranks leave it, or all raise.

    The rank that failed raises its own exception, the others RankFailed. Without this they would wait for it
    in the next collective until the timeout.
    """
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        failure = error
    said = world.gather("" if failure is None else str(failure))
    if failure is not None:
        raise failure
    failed = [rank for rank, text in enumerate(said) if text]
    if failed:
        raise RankFailed(f"rank {failed[0]} failed while {doing}: {said[failed[0]].splitlines()[0]}")


def check_same(world: World, facts: dict[str, str]) -> None:
    """Raise RanksDiffer, naming ranks and hosts, unless all ranks hold the same facts."""
    mine = json.dumps([socket.gethostname(), facts])
    everyone = [json.loads(text) for text in world.gather(mine)]
    _, first = everyone[0]
    odd = [
        f"rank {rank} ({host}): {key} is {theirs.get(key)}, rank 0 has {first[key]}"
        for rank, (host, theirs) in enumerate(everyone)
        for key in first
        if theirs.get(key) != first[key]
    ]
    if odd:
        raise RanksDiffer("ranks differ before the first step\n" + "\n".join(odd))
