"""Random streams as pure functions of (seed, stream, coordinates): no generator state is ever saved.

Used for the starting weights and, re-keyed each step, for dropout. The order of the data has keys of its own
(`trainer/data/order.py`), so a change here never moves a row.
"""

from __future__ import annotations

import hashlib
import json

import torch


def stream_seed(seed: int, stream: str, *coordinates: int | str) -> int:
    """63-bit seed of one stream at one place, by BLAKE2b: neighbouring coordinates give unrelated streams."""
    text = json.dumps(["headrace-stream", seed, stream, *coordinates], separators=(",", ":"))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator(seed: int, stream: str, *coordinates: int | str) -> torch.Generator:
    """A fresh CPU generator for one stream at one place."""
    return torch.Generator().manual_seed(stream_seed(seed, stream, *coordinates))


def rekey(seed: int, step: int, coordinate: int) -> None:
    """Set torch's default generators (CPU and accelerators) for one step of one data-parallel coordinate."""
    torch.manual_seed(stream_seed(seed, "step", step, coordinate))
