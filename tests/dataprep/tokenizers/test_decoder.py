"""Ids decode to the texts that they were made of, by table or by `tokenizers`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from dataprep.kernels.texts import Texts
from dataprep.tokenizers.decoder import Decoder
from dataprep.tokenizers.encoder import Encoder
from dataprep.tokenizers.train import train_bpe

TEXTS = Texts.from_strings(
    ["It is the wheel that turns the mill.", "\u00e9t\u00e9 \u4e2d\u6587 \U0001f600", ""] * 9
)
TRAINED = train_bpe(TEXTS.to_strings(), 300)


def lossless(tokenizer_json: str, strings: list[str]) -> None:
    tokens, lengths = Encoder(tokenizer_json, "tokenizers", None).encode(Texts.from_strings(strings))
    assert Decoder(tokenizer_json).decode(tokens, lengths).to_strings() == strings


@given(st.lists(st.text(max_size=30), max_size=4))
def test_by_table(strings: list[str]) -> None:
    lossless(TRAINED, strings)


def test_special_tokens_leave_nothing_and_the_two_ways_agree() -> None:
    tokenizer = Tokenizer.from_str(TRAINED)
    special = [entry["id"] for entry in json.loads(TRAINED)["added_tokens"] if entry["special"]]
    ids = np.array([*tokenizer.encode("turns the").ids, *special, *tokenizer.encode(" mill").ids])
    assert Decoder(TRAINED).decode(ids, np.array([ids.size])).to_strings() == ["turns the mill"]
    assert tokenizer.decode(ids.tolist()) == "turns the mill"


def test_by_the_library() -> None:
    vocabulary = {"[UNK]": 0, "turns": 1, "the": 2, "mill": 3}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    decoder = Decoder(tokenizer.to_str())
    texts = decoder.decode(np.array([1, 2, 3, 2, 3]), np.array([3, 0, 2]))
    assert texts.to_strings() == ["turns the mill", "", "the mill"]


@pytest.mark.parametrize("name", ["gpt2", "qwen3"])
def test_published_tokenizers(name: str, data_pack) -> None:  # type: ignore[no-untyped-def]
    import zstandard

    packed = (data_pack / "tokenizers" / name / "tokenizer.json.zst").read_bytes()
    tokenizer_json = zstandard.ZstdDecompressor().stream_reader(packed).read().decode()
    lossless(tokenizer_json, ["It's \u4e2d\u6587, \u00e9t\u00e9 \U0001f600!\n\tx  y", "", "a"])
