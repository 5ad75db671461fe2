"""Texts to token ids: training a vocabulary, choosing an engine, encoding whole batches.

`train` makes a byte-level BPE tokenizer.json and `unigram` a SentencePiece model; `special` says what a
tokenizer.json holds and takes special tokens out of what encodes; `engines` decides once per run whether
gigatoken may be used; `encoder` turns Texts into flat arrays of ids. What happens to the ids afterwards is in
dataprep/runs.py and dataprep/pack.py.
"""

from __future__ import annotations

from dataprep.tokenizers.encoder import Encoder
from dataprep.tokenizers.engines import EngineChoice, choose_engine
from dataprep.tokenizers.special import TokenizerFacts, describe, strip_special
from dataprep.tokenizers.train import train_bpe
from dataprep.tokenizers.unigram import train_unigram

__all__ = [
    "Encoder",
    "EngineChoice",
    "TokenizerFacts",
    "choose_engine",
    "describe",
    "strip_special",
    "train_bpe",
    "train_unigram",
]
