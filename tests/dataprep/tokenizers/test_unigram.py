"""Unigram vocabularies trained here: the same bytes each time, no text left out, every text given back."""

from __future__ import annotations

import json
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts
from dataprep.tokenizers import choose_engine, describe, strip_special, train_unigram
from dataprep.tokenizers.backends import SentencePiece
from dataprep.tokenizers.decode import Decoder
from dataprep.tokenizers.probe import FRAGMENTS
from dataprep.tokenizers.sentencepiece_model import BYTE, CONTROL, UNKNOWN, parse_model
from dataprep.tokenizers.unigram import BOS_TOKEN, MIN_UNIGRAM_SIZE, RESERVED, SENTENCE_BYTES, sentences_of
from manifests.errors import UserError
from tests.dataprep.tokenizers.children import trained_in_a_child
from tests.dataprep.tokenizers.conftest import TRAINING_TEXTS

pytest.importorskip("sentencepiece")
LIBRARY = [path.read_text("utf-8") for path in sorted(Path(os.__file__).parent.glob("*.py"))[:6]]
"""Code that every Python has; several are longer than a sentence may be."""

CHILD = """
import sys
from hashlib import sha256
from dataprep.tokenizers import train_unigram
texts = sys.stdin.read().split("\\x00")
print(sha256(train_unigram(texts, 500)).hexdigest())
"""

strings = st.lists(st.sampled_from(FRAGMENTS) | st.characters(exclude_categories=["Cs"]), max_size=12).map(
    "".join
)


@pytest.fixture(scope="module")
def tiny() -> bytes:
    return train_unigram(TRAINING_TEXTS, 400)


def trained(texts: list[str], **environment: str) -> str:
    digest, said = trained_in_a_child(CHILD, texts, **environment)
    assert "trainer" not in said, "it talks of its progress"
    return digest


def round_trip(model: bytes, texts: list[str]) -> list[str]:
    ids, offsets = SentencePiece(model).encode(Texts.from_strings(texts))
    return Decoder(model).decode(ids, np.diff(offsets)).to_strings()


def test_same_bytes_in_every_process_with_any_threads_in_any_order() -> None:
    model = train_unigram(LIBRARY, 500)
    assert describe(model).vocab_size == 500
    assert train_unigram(iter(LIBRARY[::-1]), 500) == model
    expected = sha256(model).hexdigest()
    assert trained(LIBRARY, OMP_NUM_THREADS="1") == expected
    assert trained(LIBRARY[3:] + LIBRARY[:3], OMP_NUM_THREADS="2", PYTHONHASHSEED="7") == expected


@given(st.permutations(TRAINING_TEXTS[:8]))
def test_order_of_texts_never_matters(texts: list[str]) -> None:
    assert train_unigram(texts, 300) == train_unigram(TRAINING_TEXTS[:8], 300)


def test_special_pieces_then_bytes_then_text(tiny: bytes) -> None:
    facts = describe(tiny)
    assert (facts.model, facts.file, facts.eos_token, facts.eos_id) == (
        "Unigram", "tokenizer.model", "<|endoftext|>", 1,
    )  # fmt: skip
    assert (facts.bos_token, facts.bos_id) == (None, None)
    kinds = [piece.kind for piece in parse_model(tiny).pieces]
    assert kinds[:258] == [UNKNOWN, CONTROL, *[BYTE] * 256]
    begins = describe(train_unigram(TRAINING_TEXTS, 400, bos=BOS_TOKEN))
    assert (begins.eos_id, begins.bos_token, begins.bos_id) == (1, BOS_TOKEN, 2)
    assert parse_model(tiny).rewrites == ""


def test_special_tokens_in_a_text_are_text(tiny: bytes) -> None:
    raw = f"a<|endoftext|><unk>{BOS_TOKEN}</s><0x41>{RESERVED}"
    ids, _ = SentencePiece(tiny).encode(Texts.from_strings([raw]))
    assert not {0, 1} & set(ids.tolist())
    assert round_trip(tiny, [raw]) == [raw]


def test_gigatoken_refuses_it_and_the_reason_is_named(tiny: bytes) -> None:
    choice = choose_engine(strip_special(tiny, "text"), Texts.from_strings(TRAINING_TEXTS))
    assert choice.engine == "sentencepiece"
    assert 'refuses it: Unsupported model type "Unigram"' in choice.reason


@given(texts=st.lists(strings, max_size=4))
def test_every_text_comes_back_but_for_one_character(tiny: bytes, texts: list[str]) -> None:
    """U+2581 is how SentencePiece writes a space: it comes back as one."""
    assert round_trip(tiny, texts) == [text.replace("\u2581", " ") for text in texts]


def test_texts_of_many_languages_come_back(data_pack: Path) -> None:
    path = data_pack / "sample" / "mixed_1k.jsonl.zst"
    if not path.is_file():
        pytest.skip("the data pack has no sample")
    with zstandard.ZstdDecompressor().stream_reader(path.read_bytes()) as stream:
        records = [json.loads(line) for line in stream.read().splitlines()]
    texts = [record["text"] for record in records]
    assert len({record["lang"] for record in records}) > 50
    model = train_unigram([text[:300] for text in texts[::4]], 4000)
    assert round_trip(model, texts) == [text.replace("\u2581", " ") for text in texts]


def test_indentation_is_one_token() -> None:
    model = train_unigram(LIBRARY, 500)
    ids, _ = SentencePiece(model).encode(Texts.from_strings(["\n        return"]))
    assert "\u2581" * 7 in [parse_model(model).pieces[token].text for token in ids.tolist()]


class TestSentences:
    @given(
        st.lists(st.sampled_from(["ab", "\n", " ", "\u6c34", RESERVED, "x" * 4000, "\n" * 4100]), max_size=9)
    )
    def test_nothing_is_lost(self, parts: list[str]) -> None:
        text = "".join(parts)
        found = list(sentences_of(text))
        assert "".join(found) == text.replace(RESERVED, "")
        assert all(0 < len(sentence.encode()) <= SENTENCE_BYTES for sentence in found)

    def test_where_they_end(self) -> None:
        line = "word " * 300
        first, second = sentences_of(f"{line}\n\n{line}\n\n{line}")
        assert (first, second) == (f"{line}\n\n{line}", f"\n\n{line}")
        first, second = sentences_of("word " * 1000)
        assert len(first) == 4094 and second.startswith(" word")
        first, second = sentences_of("\u6c34" * 2000)
        assert (len(first), len(second)) == (1365, 635)

    def test_a_long_text_is_trained_on(self) -> None:
        """And one with the character for which the trainer leaves sentences out."""
        long = "the miller sleeps " * 10_000
        assert "\u2581miller" in pieces(train_unigram([long], 300))
        assert "\u2581wheel" in pieces(train_unigram([f"the wheel turns {RESERVED} the wheel"] * 50, 300))


def pieces(model: bytes) -> list[str]:
    return [piece.text for piece in parse_model(model).pieces]


def test_too_little_text_gives_fewer_ids_which_describe_tells() -> None:
    assert 258 + 2 <= describe(train_unigram(["ab"] * 3, 1000)).vocab_size <= 258 + 3  # a, b, perhaps ab
    assert describe(train_unigram(["a"], 2**31 - 1)).vocab_size == MIN_UNIGRAM_SIZE


@pytest.mark.parametrize(
    ("texts", "options", "what", "hint"),
    [
        (["ab"], {"vocab_size": 258}, "cannot hold the 256 bytes", "259 or more"),
        (["ab"], {"vocab_size": 259, "bos": BOS_TOKEN}, "cannot hold the 256 bytes", "260 or more"),
        (
            ["abcdefghij"],
            {"vocab_size": 260},
            "260 has no room for the characters that make up 99.95%",
            "268 or",
        ),
        ([], {"vocab_size": 300}, "there is no text", None),
        (["", "\n", "\0", RESERVED], {"vocab_size": 300}, "there is no text", None),
        (["ab"], {"vocab_size": 300, "eos": "<e>", "bos": "<e>"}, "sentencepiece cannot train", None),
    ],
)
def test_what_is_refused(texts: list[str], options: dict[str, Any], what: str, hint: str | None) -> None:
    with pytest.raises(UserError, match=what) as error:
        train_unigram(texts, **options)
    assert hint is None or hint in str(error.value.hint)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(UserError, match="not installed") as error:
        train_unigram(TRAINING_TEXTS, 400)
    assert error.value.hint == "pip install 'headrace[sentencepiece]'"
