"""How a model is spread over processes: model in, model out."""

from __future__ import annotations
