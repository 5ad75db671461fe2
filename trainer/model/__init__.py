"""Models: one file each. `MODELS` is the one table that lists them."""

from __future__ import annotations

from collections.abc import Callable

from trainer.model.transformer import Transformer, build_transformer

MODELS: dict[str, Callable[..., Transformer]] = {"transformer": build_transformer}
