"""Headrace's trainer: feeds manifests to a model by mixture weights, exactly. Read `train.py` first."""

from __future__ import annotations
