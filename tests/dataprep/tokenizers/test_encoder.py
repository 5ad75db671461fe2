from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from dataprep.kernels.texts import Texts
from dataprep.tokenizers import Encoder, backends, strip_special
from dataprep.tokenizers.backends import Gigatoken, Reference, batches
from dataprep.tokenizers.probe import FRAGMENTS
from dataprep.tokenizers.unsettled import UNSETTLED
from manifests.errors import UserError
from tests.dataprep.kernels.strategies import sliced

EOS = 319
BOS = 317
"""Any other id: none of this tokenizer is called so."""
texts = st.lists(st.sampled_from(FRAGMENTS) | st.characters(exclude_categories=["Cs"]), max_size=12).map(
    "".join
)


@pytest.fixture(scope="session")
def encoders(tiny_json: str) -> dict[str, Encoder]:
    encoding_json = strip_special(tiny_json, "text")
    return {engine: Encoder(encoding_json, engine, EOS) for engine in ("gigatoken", "tokenizers")}


@pytest.fixture(scope="session")
def reference(tiny_json: str) -> Tokenizer:
    return Tokenizer.from_str(strip_special(tiny_json, "text"))


def slow_encode(tokenizer: Tokenizer, strings: list[str], eos: list[int]) -> list[list[int]]:
    return [tokenizer.encode(string, add_special_tokens=False).ids + eos for string in strings]


def documents(tokens: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    assert tokens.dtype == np.uint32
    assert lengths.dtype == np.int64
    assert tokens.shape == (lengths.sum(),)
    ends = np.cumsum(lengths)
    return [tokens[end - length : end].tolist() for end, length in zip(ends, lengths, strict=True)]


@pytest.mark.parametrize("engine", ["gigatoken", "tokenizers"])
@given(strings=st.lists(texts, max_size=5))
def test_equals_tokenizers_one_text_at_a_time(
    encoders: dict[str, Encoder], reference: Tokenizer, engine: str, strings: list[str]
) -> None:
    found = documents(*encoders[engine].encode(sliced(strings)))
    assert found == slow_encode(reference, strings, [EOS])


@pytest.mark.parametrize("engine", ["gigatoken", "tokenizers"])
def test_empty_texts_and_no_texts(encoders: dict[str, Encoder], tiny_json: str, engine: str) -> None:
    assert documents(*encoders[engine].encode(Texts.from_strings(["", "", ""]))) == [[EOS]] * 3
    assert documents(*encoders[engine].encode(Texts.from_strings([]))) == []
    bare = Encoder(strip_special(tiny_json, "text"), engine, None)
    assert documents(*bare.encode(Texts.from_strings(["", "a", ""]))) == [
        [],
        [reference_id(tiny_json, "a")],
        [],
    ]


@pytest.mark.parametrize("engine", ["gigatoken", "tokenizers"])
@pytest.mark.parametrize("eos", [[], [EOS]])
@given(strings=st.lists(texts, max_size=5))
def test_a_begin_of_text_token_before_each(
    framing: dict[tuple[str, bool], Encoder],
    reference: Tokenizer,
    engine: str,
    eos: list[int],
    strings: list[str],
) -> None:
    """With or without one at the end; a text with a code point that is unsettled goes the other way round."""
    strings = [*strings, f"wheel{chr(UNSETTLED[0][0])}", "stone"]
    found = documents(*framing[engine, bool(eos)].encode(sliced(strings)))
    assert found == [[BOS, *ids] for ids in slow_encode(reference, strings, eos)]


@pytest.fixture(scope="session")
def framing(tiny_json: str) -> dict[tuple[str, bool], Encoder]:
    encoding_json = strip_special(tiny_json, "text")
    return {
        (engine, ends): Encoder(encoding_json, engine, EOS if ends else None, BOS)
        for engine in ("gigatoken", "tokenizers")
        for ends in (False, True)
    }


def test_a_begin_of_text_token_alone(framing: dict[tuple[str, bool], Encoder]) -> None:
    for (_, ends), encoder in framing.items():
        empty = [BOS, EOS] if ends else [BOS]
        assert documents(*encoder.encode(Texts.from_strings(["", ""]))) == [empty] * 2
        assert documents(*encoder.encode(Texts.from_strings([]))) == []
        encoder.spot_check(Texts.from_strings(["the wheel", "", "\u6c34"]))


def reference_id(tokenizer_json: str, token: str) -> int:
    return int(Tokenizer.from_str(tokenizer_json).token_to_id(token))


@pytest.mark.parametrize("engine", ["gigatoken", "tokenizers"])
def test_end_of_text_in_the_text_is_text_and_decodes_again(
    encoders: dict[str, Encoder], tiny_json: str, engine: str
) -> None:
    raw = "water<|endoftext|>wheel <|endoftext|>"
    tokens, lengths = encoders[engine].encode(Texts.from_strings([raw]))
    assert np.flatnonzero(tokens == EOS).tolist() == [lengths[0] - 1]
    assert Tokenizer.from_str(tiny_json).decode(tokens[:-1].tolist(), skip_special_tokens=False) == raw
    parsing = Encoder(strip_special(tiny_json, "parse"), engine, None)
    assert int((parsing.encode(Texts.from_strings([raw]))[0] == EOS).sum()) == 2


@given(strings=st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_byte_level_ids_decode_to_the_text(
    tiny_json: str, encoders: dict[str, Encoder], strings: list[str]
) -> None:
    found = documents(*encoders["gigatoken"].encode(Texts.from_strings(strings)))
    decoder = Tokenizer.from_str(tiny_json)
    assert [decoder.decode(ids[:-1], skip_special_tokens=False) for ids in found] == strings


def test_unsettled_code_points_get_the_ids_of_tokenizers(
    encoders: dict[str, Encoder], reference: Tokenizer, tiny_json: str
) -> None:
    # The first and last of every range, among texts that gigatoken encodes.
    strings = [f"wheel{chr(code)}'s" for span in UNSETTLED for code in span]
    strings[1::3] = ["the wheel's stone" + "!" * index for index in range(len(strings[1::3]))]
    expected = slow_encode(reference, strings, [EOS])
    assert documents(*encoders["gigatoken"].encode(Texts.from_strings(strings))) == expected
    # That there is something to settle: gigatoken alone differs.
    ids, offsets = Gigatoken(strip_special(tiny_json, "text")).encode(Texts.from_strings(strings))
    assert [[*ids[a:b].tolist(), EOS] for a, b in pairwise(offsets)] != expected


def test_batches_and_a_reloaded_cache_change_nothing(tiny_json: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sliced([f"wheel {number} " * (number % 7) for number in range(60)])
    whole = [backend.encode(texts) for backend in (Gigatoken(tiny_json), Reference(tiny_json))]
    loads: list[int] = []
    load = Gigatoken._load
    monkeypatch.setattr(Gigatoken, "_load", lambda self: (loads.append(1), load(self))[1])
    monkeypatch.setattr(backends, "GIGATOKEN_BATCH_BYTES", 100)
    monkeypatch.setattr(backends, "REFERENCE_BATCH_BYTES", 100)
    monkeypatch.setattr(backends, "CACHED_TOKENS", 200)
    for backend, (ids, offsets) in zip((Gigatoken(tiny_json), Reference(tiny_json)), whole, strict=True):
        found_ids, found_offsets = backend.encode(texts)
        assert np.array_equal(found_ids, ids)
        assert np.array_equal(found_offsets, offsets)
    assert len(loads) > 3


@given(st.lists(st.integers(0, 5).map("x".__mul__), max_size=12), st.integers(1, 9))
def test_batches_hold_every_text_once_and_stay_small(strings: list[str], limit: int) -> None:
    parts = batches(sliced(strings), limit)
    assert [text for part in parts for text in part.to_strings()] == strings
    assert all(part.num_bytes <= limit or len(part) == 1 for part in parts)
    assert all(len(part) for part in parts)


def test_spot_check_passes_on_what_is_equal_and_stops_on_what_is_not(
    encoders: dict[str, Encoder], tiny_json: str
) -> None:
    texts = sliced(["wheel", "", "\u6c34" * 3000, "a\ua7ce's", "the water " * 1000])
    for encoder in encoders.values():
        encoder.spot_check(texts)
        encoder.spot_check(Texts.from_strings([]))
    broken = Encoder(strip_special(tiny_json, "text"), "gigatoken", EOS)
    config = json.loads(tiny_json)
    config["pre_tokenizer"]["add_prefix_space"] = True
    broken._fast = Gigatoken(json.dumps(config))
    with pytest.raises(UserError, match="different ids, at token 0") as error:
        broken.spot_check(texts)
    assert "wheel" in str(error.value.where)


def test_spot_check_finds_the_longest_text(tiny_json: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder(strip_special(tiny_json, "text"), "gigatoken", EOS)
    looked_at: list[str] = []
    encode = Reference.encode

    def watched(self: Reference, texts: Texts) -> object:
        looked_at.extend(texts.to_strings())
        return encode(self, texts)

    monkeypatch.setattr(Reference, "encode", watched)
    encoder.spot_check(Texts.from_strings(["one", "two", "three", "\u6c34" * 3000, "last", "longer"]), n=4)
    assert looked_at == ["one", "two", "\u6c34" * (2048 // 3), "longer"]


def test_engines_and_ids_without_a_meaning_are_refused(tiny_json: str) -> None:
    with pytest.raises(ValueError, match="unknown engine"):
        Encoder(tiny_json, "auto", None)
    for eos_id in (-1, 2**31):
        with pytest.raises(UserError, match="is not a token id"):
            Encoder(tiny_json, "tokenizers", eos_id)
        with pytest.raises(UserError, match="is not a token id") as caught:
            Encoder(tiny_json, "tokenizers", EOS, eos_id)
        assert "say prepend_bos: false" in str(caught.value.hint)


def test_the_gpt2_of_the_data_pack_at_both_engines(pack_tokenizer: Callable[[str], str]) -> None:
    encoding_json = strip_special(pack_tokenizer("gpt2"), "text")
    strings = ["Hello world<|endoftext|>", "", "  two\n\n\nlines ", "a" * 5000]
    pair = [Encoder(encoding_json, engine, 50256).encode(Texts.from_strings(strings)) for engine in ENGINES]
    assert documents(*pair[0]) == documents(*pair[1])
    assert documents(*pair[0])[0].count(50256) == 1


ENGINES = ("gigatoken", "tokenizers")
