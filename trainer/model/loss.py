"""The loss: cross-entropy summed over the targets that count, row by row.

It never divides: the loop divides by the targets of the whole global batch, which no single rank or micro-
batch knows.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def row_losses(logits_BSV: Tensor, targets_BS: Tensor, trained_BS: Tensor) -> Tensor:
    """Sum of -log p(target) over the targets with `trained` set, float32 [B], in nats."""
    losses_BS = F.cross_entropy(
        logits_BSV.flatten(0, 1).float(), targets_BS.flatten(), reduction="none"
    ).view_as(targets_BS)
    return losses_BS.masked_fill(~trained_BS, 0.0).sum(dim=1)
