"""Decoding gives back what was encoded, and the same as `tokenizers`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from dataprep.kernels.texts import Texts
from dataprep.tokenizers import decode as module
from dataprep.tokenizers import strip_special, train_bpe
from dataprep.tokenizers.decode import Decoder, byte_alphabet, document_groups
from manifests.errors import UserError

TOKENIZER_JSON = train_bpe(
    ["the river and the mill, the mill and the water " * 20, "ein schöner Tag " * 9], 400
)
ENCODER = Tokenizer.from_str(strip_special(TOKENIZER_JSON, "text"))
DECODER = Decoder(TOKENIZER_JSON)
VOCAB_SIZE = Tokenizer.from_str(TOKENIZER_JSON).get_vocab_size()
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


def encoded(texts: list[str], dtype: str = "int32") -> tuple[np.ndarray, np.ndarray]:
    ids = [encoding.ids for encoding in ENCODER.encode_batch(texts, add_special_tokens=False)]
    return (
        np.array([token for row in ids for token in row], dtype),
        np.array([len(row) for row in ids], np.int64),
    )


@given(texts=st.lists(TEXT, max_size=8))
def test_a_round_trip_is_exact(texts: list[str]) -> None:
    found = DECODER.decode(*encoded(texts)) if texts else Texts.from_strings([])
    assert list(found) == [text.encode() for text in texts]


@given(texts=st.lists(TEXT, min_size=1, max_size=8), at_once=st.sampled_from([1, 7, 1 << 20]))
def test_by_the_library(texts: list[str], at_once: int) -> None:
    """A vocabulary that is not of bytes: what `tokenizers` makes of it, however much it is given at once."""
    config = json.loads(TOKENIZER_JSON) | {"decoder": {"type": "Fuse"}}
    decoder = Decoder(json.dumps(config))
    tokens, lengths = encoded(texts)
    before, module.TOKENS_AT_ONCE = module.TOKENS_AT_ONCE, at_once
    try:
        found = decoder.decode(tokens, lengths)
    finally:
        module.TOKENS_AT_ONCE = before
    reference = Tokenizer.from_str(json.dumps(config))
    ends = np.cumsum(lengths)
    rows = [tokens[end - length : end].tolist() for end, length in zip(ends, lengths, strict=True)]
    assert found.to_strings() == [reference.decode(row, skip_special_tokens=False) for row in rows]
    assert not decoder.is_byte_level


@given(lengths=st.lists(st.integers(0, 9), max_size=20), limit=st.integers(1, 20), first=st.integers(0, 99))
def test_groups_of_documents(lengths: list[int], limit: int, first: int) -> None:
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64) + first
    groups = list(document_groups(ends, limit))
    assert [row for start, stop in groups for row in range(start, stop)] == list(range(len(lengths)))
    assert all(ends[stop] - ends[start] <= limit or stop == start + 1 for start, stop in groups)


@given(ids=st.lists(st.integers(0, VOCAB_SIZE - 1), max_size=40))
def test_any_ids_as_tokenizers_has_them(ids: list[int]) -> None:
    """The slow twin: `tokenizers`, whose strings replace bytes that are no UTF-8."""
    (found,) = DECODER.decode(np.array(ids, np.uint16), np.array([len(ids)]))
    assert found.decode("utf-8", errors="replace") == ENCODER_WITH_SPECIAL.decode(
        ids, skip_special_tokens=False
    )


ENCODER_WITH_SPECIAL = Tokenizer.from_str(TOKENIZER_JSON)


def test_the_alphabet_is_that_of_tokenizers() -> None:
    from tokenizers import pre_tokenizers

    alphabet = byte_alphabet()
    assert set(alphabet) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(alphabet.values()) == list(range(256))


def test_an_id_outside_the_vocabulary() -> None:
    for ids in ([VOCAB_SIZE], [-1]):
        with pytest.raises(UserError, match=f"there are 0 to {VOCAB_SIZE - 1}"):
            DECODER.decode(np.array(ids), np.array([1]))
    with pytest.raises(ValueError, match="2 tokens by the lengths"):
        DECODER.decode(np.array([1]), np.array([2]))
    with pytest.raises(UserError, match=r"not a tokenizer\.json"):
        Decoder("{}")


def test_what_rewrites_a_text_is_said() -> None:
    config = json.loads(TOKENIZER_JSON)
    assert DECODER.is_byte_level and DECODER.rewrites == ""
    config["normalizer"] = {"type": "NFC"}
    config["pre_tokenizer"]["add_prefix_space"] = True
    assert Decoder(json.dumps(config)).rewrites == "NFC, a space before every text"


@pytest.mark.parametrize(
    ("name", "is_byte_level"), [("gpt2", True), ("qwen3", True), ("pegasus_unigram", False)]
)
def test_published_tokenizers(name: str, is_byte_level: bool, data_pack: Path) -> None:
    data = (data_pack / "tokenizers" / name / "tokenizer.json.zst").read_bytes()
    text = zstandard.ZstdDecompressor().decompressobj().decompress(data).decode()
    decoder = Decoder(text)
    assert decoder.is_byte_level == is_byte_level
    texts = ["The mill, 1923.\n\n\tTwo spaces  and \u00e9, \u4e2d\u56fd, \U0001f600.", "a"]
    ids = [each.ids for each in Tokenizer.from_str(text).encode_batch(texts, add_special_tokens=False)]
    tokens = np.array([token for row in ids for token in row])
    found = decoder.decode(tokens, np.array([len(row) for row in ids]))
    if is_byte_level:
        assert found.to_strings() == texts
    else:
        assert found.to_strings()[1].strip() == "a"
