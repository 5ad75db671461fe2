from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from dataprep.kernels.covered import byte_spans
from dataprep.kernels.texts import Texts
from dataprep.tokenizers import Encoder, strip_special
from dataprep.tokenizers.spelling import bytes_as_tokens, spelling_of, tokenized
from manifests.errors import UserError
from tests.dataprep.kernels.strategies import sliced, text_lists
from tests.reference import substrings as slow


def encoder_of(tokenizer_json: str) -> Encoder:
    return Encoder(strip_special(tokenizer_json, "text"), "gigatoken", None)


@given(strings=text_lists)
def test_tokens_are_the_bytes_of_the_text(tiny_json: str, strings: list[str]) -> None:
    spelling, texts = spelling_of(tiny_json), sliced(strings)
    tokens, offsets = tokenized(texts, encoder_of(tiny_json), spelling)
    assert tokens.dtype == np.uint16 and len(offsets) == len(strings) + 1
    for index, string in enumerate(strings):
        own = tokens[offsets[index] : offsets[index + 1]].tolist()
        assert b"".join(spelling.pieces[token] for token in own) == string.encode()
        assert spelling.sizes[own].sum() == len(string.encode())


@given(strings=text_lists)
def test_spans_of_tokens_are_whole_characters(tiny_json: str, strings: list[str]) -> None:
    spelling, texts = spelling_of(tiny_json), sliced(strings)
    tokens, offsets = tokenized(texts, encoder_of(tiny_json), spelling)
    ranges, wanted = [], []
    for index in range(len(strings)):
        for start in range(int(offsets[index]), int(offsets[index + 1]), 3):
            end = min(start + 2, int(offsets[index + 1]))
            ranges.append([index, start, end])
            before = int(spelling.sizes[tokens[offsets[index] : start]].sum())
            size = int(spelling.sizes[tokens[start:end]].sum())
            first, last = slow.whole_characters(texts[index], before, before + size)
            at = int(texts.offsets[index])
            wanted += [[index, at + first, at + last, 0]] if last > first else []
    rows = np.array(ranges, dtype=np.int64).reshape(-1, 3)
    assert byte_spans(rows, tokens, offsets, spelling.sizes, texts.data, texts.offsets).tolist() == wanted


def test_bytes_as_tokens_start_at_zero() -> None:
    tokens, offsets = bytes_as_tokens(sliced(["ab", "", "\u4e2d"]))
    assert tokens.tolist() == [*"ab\u4e2d".encode()] and offsets.tolist() == [0, 2, 2, 5]


@pytest.mark.parametrize("name", ["gpt2", "qwen3"])
def test_published_vocabularies(pack_tokenizer: Callable[[str], str], name: str) -> None:
    tokenizer_json = pack_tokenizer(name)
    spelling = spelling_of(tokenizer_json)
    texts = Texts.from_strings(["Hello, w\u00f6rld! \u4e2d\u6587 \U0001f600<|endoftext|>", ""])
    tokens, _ = tokenized(texts, encoder_of(tokenizer_json), spelling)
    assert tokens.dtype == (np.uint16 if name == "gpt2" else np.uint32)
    assert b"".join(spelling.pieces[token] for token in tokens.tolist()) == texts[0]


def test_a_tokenizer_that_changes_text_is_refused(pack_tokenizer: Callable[[str], str]) -> None:
    """Qwen's puts text into NFC, so its tokens of a decomposed letter are not the bytes of the text."""
    tokenizer_json = pack_tokenizer("qwen3")
    with pytest.raises(UserError, match="not the bytes of every text") as error:
        tokenized(
            Texts.from_strings(["fine", "e\u0301"]), encoder_of(tokenizer_json), spelling_of(tokenizer_json)
        )
    assert "e\\xcc\\x81" in str(error.value)


def test_other_kinds_are_refused(tiny_json: str) -> None:
    config = json.loads(tiny_json)
    config["pre_tokenizer"] = {"type": "Whitespace"}
    with pytest.raises(UserError, match="not bytes of the text"):
        spelling_of(json.dumps(config))
    config["model"]["vocab"] = [["a", 0.0]]
    with pytest.raises(UserError, match="not bytes of the text"):
        spelling_of(json.dumps(config))
