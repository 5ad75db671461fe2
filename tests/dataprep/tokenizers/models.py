"""Small SentencePiece models, trained here: the same bytes each time."""

from __future__ import annotations

import functools
import io
from typing import Any

import pytest

from tests.dataprep.tokenizers.conftest import TRAINING_TEXTS

BYTE_BPE: dict[str, Any] = {
    "model_type": "bpe",
    "vocab_size": 400,
    "byte_fallback": True,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
}
"""Llama's kind."""
UNIGRAM: dict[str, Any] = {"model_type": "unigram", "vocab_size": 80}


def trained(**options: Any) -> bytes:
    return _trained(tuple(options.items()))


@functools.cache
def _trained(options: tuple[tuple[str, Any], ...]) -> bytes:
    sentencepiece = pytest.importorskip("sentencepiece")
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TRAINING_TEXTS),
        model_writer=out,
        minloglevel=2,
        num_threads=1,
        hard_vocab_limit=False,
        **dict(options),
    )
    return out.getvalue()
