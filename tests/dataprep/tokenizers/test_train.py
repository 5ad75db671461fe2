from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from dataprep.tokenizers import describe, train_bpe
from manifests.errors import UserError
from tests.dataprep.tokenizers.children import trained_in_a_child

# Many pairs with equal counts: the worst case for a merge order that depends on hashing.
TIES = [f"{left}{right} {right}{left}" for left in "abcdefgh" for right in "ijklmnop"]

CHILD = """
import sys
from hashlib import sha256
from dataprep.tokenizers import train_bpe
texts = sys.stdin.read().split("\\x00")
print(sha256(train_bpe(texts, 400).encode()).hexdigest())
"""


def trained(texts: list[str], **environment: str) -> str:
    return trained_in_a_child(CHILD, texts, **environment)[0]


def test_same_bytes_in_every_process_with_any_threads_in_any_order() -> None:
    texts = TIES + [path.read_text("utf-8") for path in sorted(Path(os.__file__).parent.glob("*.py"))[:6]]
    expected = sha256(train_bpe(texts, 400).encode()).hexdigest()
    assert trained(texts, RAYON_NUM_THREADS="1") == expected
    assert trained(texts[::-1], RAYON_NUM_THREADS="2", TOKENIZERS_PARALLELISM="true") == expected


@given(st.permutations(TIES), st.integers(257, 400))
def test_order_of_texts_never_matters(texts: list[str], vocab_size: int) -> None:
    assert train_bpe(texts, vocab_size) == train_bpe(TIES, vocab_size)


def test_ids_are_bytes_then_merges_then_eos(tiny_json: str) -> None:
    facts = describe(tiny_json)
    assert facts.vocab_size == 320
    assert facts.eos_token == "<|endoftext|>"
    assert facts.eos_id == 319
    config = json.loads(tiny_json)
    assert sorted(config["model"]["vocab"].values()) == list(range(319))
    assert all(len(token) == 1 for token, number in config["model"]["vocab"].items() if number < 256)


def test_other_eos_leaves_the_ids_of_text_alone(tiny_json: str) -> None:
    from tests.dataprep.tokenizers.conftest import TRAINING_TEXTS

    other = json.loads(train_bpe(TRAINING_TEXTS, 320, eos="<end>"))
    assert other["model"] == json.loads(tiny_json)["model"]


def test_too_little_text_gives_fewer_ids_which_describe_tells() -> None:
    facts = describe(train_bpe(["abab"], 1000))
    assert facts.vocab_size == 256 + 1 + 1  # "ab"; "abab" occurs once
    assert facts.eos_id == 257
    assert describe(train_bpe([], 300)).vocab_size == 257


def test_vocabulary_without_room_for_bytes_is_refused() -> None:
    assert describe(train_bpe(["aa aa"], 257)).vocab_size == 257
    with pytest.raises(UserError, match="256 bytes") as error:
        train_bpe(["aa aa"], 256)
    assert "257" in str(error.value.hint)


def test_eos_that_is_a_word_of_the_text_is_refused() -> None:
    with pytest.raises(UserError, match="ordinary word"):
        train_bpe(["END END END"], 300, eos="END")


@given(st.text(max_size=60))
def test_any_text_can_be_decoded_again(tiny_json: str, text: str) -> None:
    tokenizer = Tokenizer.from_str(tiny_json)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == text
