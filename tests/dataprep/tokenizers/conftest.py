"""Tokenizers to test with: a tiny one trained here, and those of the data pack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from dataprep.tokenizers import train_bpe

TRAINING_TEXTS = [
    "the water runs down the channel to the wheel, and the wheel turns the stone",
    "water under the bridge; the bridge's stones, the wheel's spokes",
    "def turn(wheel):\n    return wheel + 1\n",
    "das Wasser l\xe4uft zum Rad, \u6c34\u306f\u6d41\u308c\u308b",
] * 3


@pytest.fixture(scope="session")
def tiny_json() -> str:
    return train_bpe(TRAINING_TEXTS, 320)


@pytest.fixture(scope="session")
def pack_tokenizer(data_pack: Path) -> Callable[[str], str]:
    def load(name: str) -> str:
        path = data_pack / "tokenizers" / name / "tokenizer.json.zst"
        with zstandard.ZstdDecompressor().stream_reader(path.read_bytes()) as stream:
            return stream.read().decode("utf-8")

    return load
