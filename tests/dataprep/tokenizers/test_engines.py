from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from tokenizers import Tokenizer

from dataprep.kernels.texts import Texts
from dataprep.tokenizers import Encoder, choose_engine, engines, strip_special
from dataprep.tokenizers.backends import Reference

PROBE = Texts.from_strings(["the water runs", "", "the wheel's stone\n\n\tturns  "])


def with_model(tokenizer_json: str, **fields: Any) -> str:
    config = json.loads(tokenizer_json)
    return json.dumps({**config, "model": {**config["model"], **fields}})


def with_fields(tokenizer_json: str, **fields: Any) -> str:
    return json.dumps({**json.loads(tokenizer_json), **fields})


def byte_level(*, use_regex: bool, add_prefix_space: bool) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def added_token(tokenizer_json: str, content: str, **flags: bool) -> str:
    config = json.loads(tokenizer_json)
    entry = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False) | flags
    tokens = [*config["added_tokens"], {"id": 320, "content": content, **entry}]
    return with_fields(tokenizer_json, added_tokens=[*tokens, {**tokens[-1], "id": 321, "content": "  Y"}])


def test_gigatoken_is_chosen_when_every_id_is_equal(tiny_json: str) -> None:
    choice = choose_engine(strip_special(tiny_json, "text"), PROBE)
    assert choice.engine == "gigatoken"
    assert "on 3 texts of the corpus" in choice.reason
    assert choice == choose_engine(strip_special(tiny_json, "text"), PROBE)


def test_prefix_space_and_nfc_are_equal_too(tiny_json: str) -> None:
    prefixed = with_fields(tiny_json, pre_tokenizer=byte_level(use_regex=True, add_prefix_space=True))
    composed = with_fields(tiny_json, normalizer={"type": "NFC"})
    for text in (prefixed, composed, added_token(tiny_json, "<call>")):
        assert choose_engine(text, PROBE).engine == "gigatoken"


def unigram_json() -> str:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}
    parts = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return json.dumps({"version": "1.0", "added_tokens": [], **parts, "model": model})


def test_what_gigatoken_refuses_goes_to_tokenizers_with_its_words(tiny_json: str) -> None:
    choice = choose_engine(with_fields(tiny_json, normalizer={"type": "NFKC"}), PROBE)
    assert choice.engine == "tokenizers"
    assert "refuses it" in choice.reason
    assert "NFKC" in choice.reason
    choice = choose_engine(unigram_json(), PROBE)
    assert choice.engine == "tokenizers"
    assert "Unigram" in choice.reason


# Settings that gigatoken 0.10.0 accepts and then ignores.
IGNORED: dict[str, Callable[[str], str]] = {
    "no regex": lambda text: with_fields(
        text, pre_tokenizer=byte_level(use_regex=False, add_prefix_space=False)
    ),
    "end of word": lambda text: with_model(text, end_of_word_suffix="</w>"),
    "single word": lambda text: added_token(text, "QX", single_word=True),
    "strip right": lambda text: added_token(text, "QX", rstrip=True),
    "normalized": lambda text: added_token(
        with_fields(text, normalizer={"type": "NFC"}), "\xe9Q", normalized=True
    ),
}


@pytest.mark.parametrize("name", IGNORED)
def test_what_gigatoken_gets_wrong_is_found_without_help_from_the_corpus(tiny_json: str, name: str) -> None:
    choice = choose_engine(IGNORED[name](tiny_json), Texts.from_strings(["plain"]))
    assert choice.engine == "tokenizers"
    assert "gives other ids than tokenizers for" in choice.reason


def test_a_difference_in_the_corpus_is_named(tiny_json: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "built_in_texts", lambda encoding_json, step: [])
    differing = IGNORED["single word"](tiny_json)
    choice = choose_engine(differing, Texts.from_strings(["a QX b", "a wheelQX", "bQX"]))
    assert choice.engine == "tokenizers"
    assert "text 1 of the corpus probe 'a wheelQX'" in choice.reason
    assert choose_engine(differing, Texts.from_strings([])).engine == "gigatoken"


def test_a_panic_is_a_refusal_and_an_interrupt_is_not(
    tiny_json: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        pass

    def fail(error: BaseException) -> Callable[..., Any]:
        def encode(*_: Any) -> Any:
            raise error

        return encode

    monkeypatch.setattr(Encoder, "encode", fail(PanicException("index out of bounds\nmore")))
    choice = choose_engine(tiny_json, PROBE)
    assert (choice.engine, choice.reason.partition(": ")[2]) == ("tokenizers", "index out of bounds")
    monkeypatch.setattr(Encoder, "encode", fail(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        choose_engine(tiny_json, PROBE)


@pytest.mark.slow
def test_real_text_has_equal_ids_and_decodes_again(
    data_pack: Path, pack_tokenizer: Callable[[str], str]
) -> None:
    with zstandard.ZstdDecompressor().stream_reader(
        (data_pack / "sample" / "mixed_1k.jsonl.zst").open("rb")
    ) as stream:
        strings = [json.loads(line)["text"] for line in stream.read().splitlines()]
    encoding_json = strip_special(pack_tokenizer("gpt2"), "text")
    texts = Texts.from_strings(strings)
    tokens, lengths = Encoder(encoding_json, "gigatoken", None).encode(texts)
    expected, offsets = Reference(encoding_json).encode(texts)
    assert np.array_equal(tokens, expected)
    assert np.array_equal(lengths, np.diff(offsets))
    decoder = Tokenizer.from_str(encoding_json)
    ids = np.split(tokens, np.cumsum(lengths)[:-1])
    assert [decoder.decode(each.tolist(), skip_special_tokens=False) for each in ids] == strings


@pytest.mark.slow
def test_every_code_point_is_settled_or_left_to_the_reference(
    tiny_json: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "SWEEP_STEP", 1)
    for text in (tiny_json, with_fields(tiny_json, normalizer={"type": "NFC"})):
        choice = choose_engine(text, PROBE)
        assert choice.engine == "gigatoken", choice.reason


def test_probe_reference_is_what_tokenizers_gives(tiny_json: str) -> None:
    ids, offsets = Reference(tiny_json).encode(PROBE)
    single = [Tokenizer.from_str(tiny_json).encode(text).ids for text in PROBE.to_strings()]
    assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == single
