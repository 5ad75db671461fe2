"""SentencePiece models: read without the library, encoded with it or with gigatoken, decoded again."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts
from dataprep.tokenizers import Encoder, choose_engine, describe, strip_special
from dataprep.tokenizers.backends import SentencePiece
from dataprep.tokenizers.decode import Decoder
from dataprep.tokenizers.probe import FRAGMENTS
from dataprep.tokenizers.sentencepiece_model import BYTE, CONTROL, UNKNOWN, as_text, parse_model
from dataprep.tokenizers.spelling import spelling_of
from manifests.errors import UserError
from tests.dataprep.kernels.strategies import sliced
from tests.dataprep.tokenizers.models import BYTE_BPE, UNIGRAM, trained

sentencepiece = pytest.importorskip("sentencepiece")
PROBE = Texts.from_strings(["the water runs", "", "  the wheel's\n\n\tstone  "])
OTHERS: dict[str, dict[str, Any]] = {
    "byte bpe": BYTE_BPE,
    "no prefix": BYTE_BPE | {"add_dummy_prefix": False},
    "user symbols": BYTE_BPE | {"user_defined_symbols": "<call>,<|endoftext|>"},
    "nfkc": BYTE_BPE | {"normalization_rule_name": "nfkc"},
    "unigram": UNIGRAM,
    "unigram of bytes": UNIGRAM | {"byte_fallback": True, "vocab_size": 400},
    "spaces after": UNIGRAM | {"treat_whitespace_as_suffix": True},
    "words": {"model_type": "word", "vocab_size": 20},
    "characters": {"model_type": "char", "vocab_size": 60},
}
texts = st.lists(st.sampled_from(FRAGMENTS) | st.characters(exclude_categories=["Cs"]), max_size=12).map(
    "".join
)


def processor(model: bytes) -> Any:
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def documents(tokens: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return [tokens[start:stop].tolist() for start, stop in pairwise(ends)]


@pytest.mark.parametrize("name", OTHERS)
def test_the_file_says_what_the_library_says(name: str) -> None:
    data = trained(**OTHERS[name])
    model, library = parse_model(data), processor(data)
    assert len(model.pieces) == library.vocab_size()
    for token_id, piece in enumerate(model.pieces):
        assert piece.text == library.id_to_piece(token_id)
        assert piece.score == pytest.approx(library.get_score(token_id))
        assert (piece.kind == CONTROL) == library.is_control(token_id)
        assert (piece.kind == UNKNOWN) == library.is_unknown(token_id)
        assert (piece.kind == BYTE) == library.is_byte(token_id)
    facts = describe(data)
    assert (facts.eos_id, facts.bos_id, facts.vocab_size) == (2, 1, library.vocab_size())
    assert facts.file == "tokenizer.model"


ENGINES = {
    "byte bpe": "gigatoken 0.10.0 gives the ids of sentencepiece",
    "no prefix": "gigatoken 0.10.0 gives the ids of sentencepiece",
    "user symbols": "gives other ids than sentencepiece for the built-in text '<call>'",
    "nfkc": "gives other ids than sentencepiece for the built-in text",
    "unigram": 'refuses it: Unsupported model type "Unigram"',
    "spaces after": "refuses it: a SentencePiece model with spaces at the end of words",
    "words": "refuses it: a SentencePiece model of type Word",
}


@pytest.mark.parametrize("name", ENGINES)
def test_the_engine_and_its_reason(name: str) -> None:
    choice = choose_engine(strip_special(trained(**OTHERS[name]), "text"), PROBE)
    assert ENGINES[name].removeprefix("gigatoken 0.10.0 ") in choice.reason
    assert choice.engine == ("gigatoken" if "gives the ids" in choice.reason else "sentencepiece")


@pytest.mark.parametrize(
    ("name", "engine"), [("byte bpe", "gigatoken"), *((name, "sentencepiece") for name in OTHERS)]
)
@given(strings=st.lists(texts, max_size=4))
def test_equals_the_library_one_text_at_a_time(name: str, engine: str, strings: list[str]) -> None:
    data = strip_special(trained(**OTHERS[name]), "text")
    slow = [[*ids, 2] for ids in map(processor(data).encode, strings)]
    assert documents(*Encoder(data, engine, 2).encode(sliced(strings))) == slow


@pytest.mark.parametrize("name", [name for name in OTHERS if name != "spaces after"])
@given(strings=st.lists(texts, max_size=4))
def test_decodes_as_the_library_does(name: str, strings: list[str]) -> None:
    data = trained(**OTHERS[name])
    ids, offsets = SentencePiece(data).encode(Texts.from_strings(strings))
    found = Decoder(data).decode(ids, np.diff(offsets)).to_strings()
    assert found == [processor(data).decode(ids[start:stop].tolist()) for start, stop in pairwise(offsets)]


@given(strings=st.lists(texts, max_size=4))
def test_bytes_and_no_normalization_decode_to_the_text(strings: list[str]) -> None:
    strings = [text.replace("\u2581", "") for text in strings]
    data = trained(**BYTE_BPE)
    assert Decoder(data).rewrites == ""
    tokens, lengths = Encoder(data, "gigatoken", None).encode(Texts.from_strings(strings))
    assert Decoder(data).decode(tokens, lengths).to_strings() == strings


def test_what_is_rewritten_is_said() -> None:
    assert Decoder(trained(**UNIGRAM)).rewrites == "nmt_nfkc, extra spaces are removed"
    with pytest.raises(UserError, match="there are 0 to"):
        Decoder(trained(**BYTE_BPE)).decode(np.array([100_000]), np.array([1]))
    with pytest.raises(UserError, match="are not bytes of the text"):
        spelling_of(trained(**BYTE_BPE))


def test_special_tokens_are_text_unless_asked() -> None:
    data = trained(**OTHERS["user symbols"])
    assert describe(data, eos="<|endoftext|>").eos_id == 4
    raw = Texts.from_strings(["a<|endoftext|></s><s><unk><call>"])
    for policy, expected in (("text", {3}), ("parse", {3, 4})):
        tokens, _ = Encoder(strip_special(data, policy), "sentencepiece", None).encode(raw)  # type: ignore[call-overload]
        assert {token for token in tokens.tolist() if token < 5} == expected
    plain = trained(**BYTE_BPE)
    assert strip_special(plain, "text") == plain
    assert as_text(data, []) == data
    with pytest.raises(UserError, match="'<nothing>' is not in the tokenizer"):
        describe(plain, eos="<nothing>")


@pytest.mark.parametrize("cut", [0, 1, 3, 40, 2000])
def test_damaged_models_are_refused(cut: int) -> None:
    data = trained(**BYTE_BPE)
    for damaged in (data[:cut], b"\n" + data[:cut] + b"\xff" * 12):
        with pytest.raises(UserError, match="not a SentencePiece model"):
            parse_model(damaged)
        with pytest.raises(UserError, match="not a SentencePiece model"):
            SentencePiece(damaged)


def test_without_the_library_it_decodes_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = trained(**BYTE_BPE)
    ids, offsets = SentencePiece(data).encode(PROBE)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    assert Decoder(data).decode(ids, np.diff(offsets)).to_strings() == PROBE.to_strings()
    with pytest.raises(UserError, match="not installed"):
        choose_engine(data, PROBE)


@pytest.mark.parametrize("name", ["mistral_v1_sp", "sp_unigram_en_1k", "sp_unigram_ja_8k"])
def test_published_models(data_pack: Path, name: str) -> None:
    data = (data_pack / "tokenizers" / name / "tokenizer.model").read_bytes()
    facts = describe(data)
    assert (facts.eos_token, facts.eos_id, facts.bos_id) == ("</s>", 2, 1)
    assert facts.special_tokens == {"<s>": 1, "</s>": 2}
    tokens, _ = SentencePiece(data).encode(Texts.from_strings(["a</s><s>b </s>"]))
    assert not {1, 2} & set(tokens.tolist())
