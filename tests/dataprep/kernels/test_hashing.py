from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.hashing import hash128, hash_normalized, mix128
from dataprep.kernels.texts import Texts
from tests.dataprep.kernels.strategies import sliced, text_lists
from tests.reference import hashing as slow
from tests.reference.normalize import collapse_white_space

words64 = st.integers(0, 2**64 - 1)


def rows(hashes: np.ndarray) -> list[tuple[int, int]]:
    return [tuple(map(int, row)) for row in hashes]


@given(st.lists(st.binary(max_size=70), max_size=5), st.integers(0, 2**32 - 1))
def test_hash_is_that_of_the_slow_twin(values: list[bytes], seed: int) -> None:
    texts = Texts.from_bytes([b"before", *values]).slice(1, 1 + len(values))
    assert rows(hash128(texts.data, texts.offsets, seed)) == [slow.murmur(value, seed) for value in values]


@given(st.lists(st.binary(max_size=200), max_size=5), st.integers(0, 2**32 - 1))
def test_hash_is_that_of_the_package_mmh3(values: list[bytes], seed: int) -> None:
    mmh3 = pytest.importorskip("mmh3")
    texts = Texts.from_bytes(values)
    assert rows(hash128(texts.data, texts.offsets, seed)) == [
        mmh3.hash64(v, seed, signed=False) for v in values
    ]


def test_every_tail_length_and_known_values() -> None:
    values = [bytes(range(200, 200 + size)) for size in range(50)]
    texts = Texts.from_bytes(values)
    assert rows(hash128(texts.data, texts.offsets)) == [slow.murmur(value) for value in values]
    fox = Texts.from_strings(["The quick brown fox jumps over the lazy dog", ""])
    assert rows(hash128(fox.data, fox.offsets)) == [(0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347), (0, 0)]


@given(text_lists)
def test_normalized_hash_is_that_of_the_collapsed_text(strings: list[str]) -> None:
    texts = sliced(strings)
    wanted = [slow.murmur(collapse_white_space(string).encode(), 7) for string in strings]
    assert rows(hash_normalized(texts.data, texts.offsets, 7)) == wanted


@given(st.lists(st.tuples(words64, words64), max_size=5), st.binary(min_size=16, max_size=16))
def test_mix_is_that_of_the_slow_twin(values: list[tuple[int, int]], key: bytes) -> None:
    hashes = np.array(values, dtype=np.uint64).reshape(-1, 2)
    assert rows(mix128(hashes, key)) == [slow.mix(high, low, key) for high, low in values]


def test_keys_give_unrelated_orders() -> None:
    hashes = np.stack([np.arange(4000, dtype=np.uint64), np.zeros(4000, dtype=np.uint64)], axis=1)
    first = mix128(hashes, b"a" * 16)[:, 0].argsort().argsort()
    second = mix128(hashes, b"b" * 16)[:, 0].argsort().argsort()
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1
    assert abs(np.corrcoef(first, np.arange(4000))[0, 1]) < 0.1


def test_wrong_seed_or_key_is_refused() -> None:
    texts = Texts.from_strings(["a"])
    with pytest.raises(ValueError, match="seed"):
        hash128(texts.data, texts.offsets, 2**32)
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        mix128(np.zeros((1, 2), dtype=np.uint64), b"abc")


def test_read_only_input_of_no_texts() -> None:
    nothing = Texts.from_strings([])
    assert hash128(nothing.data, nothing.offsets).shape == (0, 2)
    assert hash_normalized(nothing.data, nothing.offsets).shape == (0, 2)
