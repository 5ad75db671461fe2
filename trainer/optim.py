"""The optimizer, its parameter groups, and the global gradient norm.

The learning rate is set from outside each step (`schedule.py`); state is saved and loaded by `state.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from trainer.config import OptimizerConfig


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Two groups: matrices, which decay, and vectors (norms), which do not. A tied matrix is listed once."""
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    matrices = [parameter for _, parameter in named if parameter.dim() >= 2]
    vectors = [parameter for _, parameter in named if parameter.dim() < 2]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def build_adamw(model: nn.Module, config: OptimizerConfig) -> torch.optim.Optimizer:
    groups = parameter_groups(model, config.weight_decay)
    return torch.optim.AdamW(groups, lr=config.lr, betas=config.betas, eps=config.eps, fused=True)


OPTIMIZERS: dict[str, Callable[[nn.Module, OptimizerConfig], torch.optim.Optimizer]] = {"adamw": build_adamw}


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


@torch.no_grad()
def gradient_norm(parameters: Iterable[nn.Parameter]) -> Tensor:
    """Euclidean norm of all gradients together, a float32 scalar; under DDP the same on every rank."""
    norms = [torch.linalg.vector_norm(p.grad.float()) for p in parameters if p.grad is not None]
    return torch.linalg.vector_norm(torch.stack(norms))


@torch.no_grad()
def clip_gradients(parameters: Iterable[nn.Parameter], norm: float, limit: float) -> None:
    """Scale all gradients so that their global norm is at most `limit`; `norm` is what `gradient_norm`
    measured.
    """
    if norm <= limit:
        return
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad.mul_(limit / norm)
