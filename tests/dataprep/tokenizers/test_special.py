from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import Tokenizer

from dataprep.tokenizers import describe, strip_special
from manifests.errors import UserError


def ids(tokenizer_json: str, text: str) -> list[int]:
    found: list[int] = Tokenizer.from_str(tokenizer_json).encode(text, add_special_tokens=False).ids
    return found


def added(token_id: int, content: str, special: bool) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": token_id, "content": content, "special": special, **flags}


def changed(tokenizer_json: str, **fields: Any) -> str:
    return json.dumps({**json.loads(tokenizer_json), **fields})


@pytest.fixture
def mixed_json(tiny_json: str) -> str:
    """Special and ordinary added tokens in turn, none of them in the model's vocabulary."""
    first = json.loads(tiny_json)["added_tokens"]
    tokens = [added(320, "<call>", False), added(321, "<s>", True), added(322, "</call>", False)]
    return changed(tiny_json, added_tokens=[*first, *tokens])


def test_special_text_is_text_by_default_and_a_token_on_request(tiny_json: str) -> None:
    assert 319 not in ids(strip_special(tiny_json, "text"), "a<|endoftext|> <|endoftext|>")
    assert ids(strip_special(tiny_json, "parse"), "<|endoftext|>") == [319]


def test_what_stays_keeps_its_id(mixed_json: str) -> None:
    # Without care, `tokenizers` gives "<call>" the id of the removed end-of-text token.
    without = changed(mixed_json, added_tokens=[added(320, "<call>", False), added(322, "</call>", False)])
    assert ids(without, "<call>") != [320]
    stripped = strip_special(mixed_json, "text")
    assert ids(stripped, "<call></call>") == [320, 322]
    assert not {319, 321} & set(ids(stripped, "<s> a<s>b <|endoftext|>"))
    assert describe(stripped).vocab_size == describe(mixed_json).vocab_size == 323


def test_text_without_special_tokens_has_the_same_ids(mixed_json: str) -> None:
    text = "the wheel's <call> water\n\n 123"
    assert ids(strip_special(mixed_json, "text"), text) == ids(mixed_json, text)


@pytest.mark.parametrize("policy", ["text", "parse"])
def test_stored_truncation_and_padding_do_not_cut_documents(tiny_json: str, policy: Any) -> None:
    cut = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    pad = {
        "strategy": {"Fixed": 50},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "x",
    }
    assert len(ids(changed(tiny_json, truncation=cut), "water wheel stone")) == 2
    whole = ids(tiny_json, "water wheel stone")
    assert (
        ids(strip_special(changed(tiny_json, truncation=cut, padding=pad), policy), "water wheel stone")
        == whole
    )


def test_random_tokenizer_is_refused(tiny_json: str) -> None:
    model = {**json.loads(tiny_json)["model"], "dropout": 0.1}
    with pytest.raises(UserError, match="at random"):
        strip_special(changed(tiny_json, model=model), "text")


def test_special_token_that_the_model_spells_is_refused(tiny_json: str) -> None:
    vocab = json.loads(tiny_json)["model"]["vocab"]
    spelled = next(token for token in vocab if token.isascii() and token.isalpha() and len(token) > 2)
    number = vocab[spelled]
    with pytest.raises(UserError, match=f"would still give the id {number}"):
        strip_special(changed(tiny_json, added_tokens=[added(number, spelled, True)]), "text")


def test_unigram_pieces_of_special_tokens_are_unreachable() -> None:
    vocab = [
        ["<unk>", 0.0],
        ["</s>", 0.0],
        ["\u2581a", -1.0],
        ["a", -2.0],
        ["<", -3.0],
        ["/", -3.0],
        ["s", -3.0],
    ]
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": False}
    config = {
        "version": "1.0",
        "added_tokens": [added(0, "<unk>", True), added(1, "</s>", True), added(9, "<x>", False)],
        "normalizer": None,
        "pre_tokenizer": space,
        "post_processor": None,
        "decoder": space,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab},
    }
    text = json.dumps(config)
    # `tokenizers` itself ignores the gap in the ids and gives the next free one.
    assert 1 in ids(text, "a</s>a")
    stripped = strip_special(text, "text")
    assert 1 not in ids(stripped, "a</s>a</s>")
    assert ids(stripped, "<x>") == ids(text, "<x>")


def test_facts_and_usual_names(mixed_json: str) -> None:
    facts = describe(mixed_json)
    assert (facts.eos_id, facts.bos_token, facts.bos_id) == (319, "<s>", 321)
    assert facts.special_tokens == {"<|endoftext|>": 319, "<s>": 321}
    assert facts.model == "BPE"
    assert describe(mixed_json, eos="</call>").eos_id == 322
    assert facts.digest != describe(mixed_json + " ").digest  # of the text, not of what it means


def test_no_usual_name_gives_no_id_and_a_wrong_name_is_refused(tiny_json: str) -> None:
    bare = changed(tiny_json, added_tokens=[added(319, "<|fin|>", True)])
    assert describe(bare).eos_id is None
    with pytest.raises(UserError, match="'<nothing>' is not in the tokenizer") as error:
        describe(bare, eos="<nothing>")
    assert "<|fin|>" in str(error.value.hint)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"model": {"type": "BPE"}}', "\x00"])
def test_what_is_no_tokenizer_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="not a tokenizer"):
        describe(text)
    with pytest.raises(UserError, match="not a tokenizer"):
        strip_special(text, "text")


def test_data_pack_facts(pack_tokenizer: Callable[[str], str]) -> None:
    facts = describe(pack_tokenizer("gpt2"))
    assert (facts.vocab_size, facts.eos_id, facts.model) == (50257, 50256, "BPE")
    pegasus = pack_tokenizer("pegasus_unigram")
    facts = describe(pegasus)
    assert (facts.vocab_size, facts.eos_token, facts.model) == (96103, "</s>", "Unigram")
    assert 1 not in ids(strip_special(pegasus, "text"), "a</s>a")


@pytest.mark.slow
def test_data_pack_ids_after_removed_special_tokens(pack_tokenizer: Callable[[str], str]) -> None:
    qwen3 = pack_tokenizer("qwen3")
    facts = describe(qwen3)
    assert (facts.vocab_size, facts.eos_id) == (151669, 151643)
    found = Tokenizer.from_str(strip_special(qwen3, "text"))
    assert found.encode("<think>", add_special_tokens=False).ids == [151667]  # special: false
    assert 151643 not in found.encode("<|endoftext|>", add_special_tokens=False).ids
