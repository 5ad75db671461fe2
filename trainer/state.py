"""What a checkpoint holds of a model and its optimizer: tensors by parameter name.

Never by index, so that a reordered model or another layout finds its own weights and moments again. Loading
is strict: what one side lacks is named and refused.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from manifests.errors import UserError

Moments = dict[str, dict[str, Tensor]]


def model_state(model: nn.Module) -> dict[str, Tensor]:
    """The weights, without a copy; a tied one once, under its first name."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@torch.no_grad()
def load_model_state(model: nn.Module, saved: Mapping[str, Tensor]) -> None:
    """Copy saved weights into a model. Raises UserError on parameters of other names or shapes."""
    parameters = dict(model.named_parameters())
    refuse_differences(
        {name: str(tuple(tensor.shape)) for name, tensor in saved.items()},
        {name: str(tuple(parameter.shape)) for name, parameter in parameters.items()},
    )
    for name, parameter in parameters.items():
        parameter.copy_(saved[name])


def optimizer_state(model: nn.Module, optimizer: torch.optim.Optimizer) -> Moments:
    """The optimizer's tensors, without a copy; empty before the first step."""
    return {name: dict(optimizer.state[p]) for name, p in model.named_parameters() if p in optimizer.state}


def load_optimizer_state(model: nn.Module, optimizer: torch.optim.Optimizer, saved: Moments) -> None:
    """Put saved moments back. Raises UserError on parameters of other names, unless nothing was saved yet."""
    if not saved:
        return
    refuse_differences(dict.fromkeys(saved, "there"), {name: "there" for name, _ in model.named_parameters()})
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = {key: value.clone() for key, value in saved[name].items()}


def refuse_differences(saved: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Raise UserError naming what differs between the checkpoint and the model."""
    odd = [name for name in sorted(here.keys() | saved.keys()) if here.get(name) != saved.get(name)]
    if odd:
        lines = [f"  {name}: {saved.get(name, 'absent')} -> {here.get(name, 'absent')}" for name in odd[:10]]
        raise UserError("the model differs from the one in the checkpoint:\n" + "\n".join(lines))
