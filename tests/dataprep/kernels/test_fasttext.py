"""Sums and labels of fastText models: equal to the slow twin's, whatever is in the cache."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataprep.fasttext import Model, label_scores, predictions, read_model
from dataprep.fasttext import tables as tables_module
from dataprep.kernels.fasttext_dictionary import fnv
from dataprep.kernels.fasttext_labels import huffman_tree, sigmoid_table
from dataprep.kernels.fasttext_rows import LANES
from dataprep.kernels.fasttext_sums import new_cache, token_sums
from dataprep.kernels.texts import Texts
from tests.dataprep.fasttext.models import ALPHABETS, GOLDEN
from tests.dataprep.kernels.strategies import PIECES, sliced
from tests.reference import fasttext as slow

NAMES = ["softmax.bin", "tree.ftz"]
WORDS = [
    "</s>",
    "__label__",
    "__label__more",
    "__label__nothing",
    "<",
    ">",
    "</s",
    "\x00",
    "\x01",
    "\u4e00" * 20,
]

texts = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.one_of(st.sampled_from(PIECES + WORDS), st.text("".join(ALPHABETS), min_size=1, max_size=9)),
        max_size=12,
    ).map(" ".join),
    st.lists(st.sampled_from(PIECES + WORDS), max_size=20).map("".join),
)
text_lists = st.lists(texts, max_size=5)


@lru_cache
def model_of(name: str) -> Model:
    return read_model(GOLDEN / name)


@lru_cache
def twin_of(name: str) -> slow.Twin:
    return slow.read(GOLDEN / name)


def found(model: Model, batch: Texts) -> list[list[tuple[str, int]]]:
    labels, scores = predictions(model, batch)
    return [
        [(model.names[label], score) for label, score in zip(*row, strict=True) if label >= 0]
        for row in zip(labels.tolist(), scores.tolist(), strict=True)
    ]


def ppm(score: float) -> int:
    return round(min(score, 1.0) * 1e6)


@pytest.mark.parametrize("name", NAMES)
@given(strings=text_lists)
@example(
    strings=["", " \n\t", "</s>", "a</s> </s> b", "__label__more", "ab\x00ab", "x" * 31, "y" * 32, "z" * 33]
)
@example(strings=["ab cd " * 300, "\u0430\u0431\u0432" * 30, "\u4e00\u4e8c" * 3 + "\n" + "klm"])
def test_labels_are_those_of_the_slow_twin(name: str, strings: list[str]) -> None:
    model, twin = model_of(name), twin_of(name)
    batch = sliced(strings)
    every = {label: label_scores(model, batch, label) for label in model.names}
    for index, (string, ours) in enumerate(zip(strings, found(model, batch), strict=True)):
        wanted = twin.scores(string.encode())
        assert [label for label, _ in ours] == [label for label, _ in wanted[:2]]
        for (_, score), (_, other) in zip(ours, wanted, strict=False):
            assert abs(score - ppm(other)) <= 1  # the last bit of an exponential
        for label, scores in every.items():
            assert abs(scores[index] - ppm(dict(wanted).get(label, 0.0))) <= 10 + bool(wanted)


@pytest.mark.parametrize("name", NAMES)
@given(strings=text_lists, seed=st.integers(0, 100))
def test_no_result_depends_on_what_was_asked_before(name: str, strings: list[str], seed: int) -> None:
    """Any order, any batches, a cache of two entries or many: the same sums to the last bit."""
    tables = model_of(name).tables
    batch = Texts.from_strings([*strings, "ab", "ab cd ab", "\u0430\u0431 ab"])
    sums, counts, tokens = token_sums(batch.data, batch.offsets, tables, new_cache(tables))
    small, order = new_cache(tables)[:2], np.random.default_rng(seed).permutation(len(batch))
    for row in order:
        one = batch.slice(int(row), int(row) + 1)
        again = token_sums(one.data, one.offsets, tables, small)
        assert again[0].tobytes() == sums[row : row + 1].tobytes()
        assert (again[1][0], again[2][0]) == (counts[row], tokens[row])


def test_threads_do_not_share_a_cache() -> None:
    model = read_model(GOLDEN / "tree.ftz")
    words = [f"{a}{b}{c}" for a in ALPHABETS[0] for b in ALPHABETS[1] for c in ALPHABETS[2]]
    batch = Texts.from_strings([" ".join(words[start::97]) for start in range(97)] * 20)
    wanted = found(model, batch)
    with ThreadPoolExecutor(4) as pool:
        assert all(each == wanted for each in pool.map(lambda _: found(model, batch), range(8)))


@pytest.mark.parametrize("name", NAMES)
@given(strings=text_lists)
def test_rows_are_added_as_the_slow_twin_adds_them(name: str, strings: list[str]) -> None:
    model, twin = model_of(name), twin_of(name)
    batch = sliced(strings)
    sums, counts, _ = token_sums(batch.data, batch.offsets, model.tables, new_cache(model.tables))
    assert sums.shape[1] % LANES == 0 and not sums[:, twin.dim :].any()
    for string, total in zip(strings, sums, strict=True):
        tokens = [token for token in slow.SEPARATORS.split(string.encode()) if token] + [b"</s>"]
        tokens = tokens[: tokens.index(b"</s>") + 1]
        words = [token for token in tokens if token in twin.words or not token.startswith(b"__label__")]
        rows = [row for token in words for row in twin.rows_of(token)]
        hashes = slow.word_ngrams([slow.fnv(word) for word in words], twin.word_ngrams)
        rows += [row for each in hashes.elements() for row in twin.ngram_row(each % twin.bucket)]
        wanted = twin.inputs[rows].astype(np.float64).sum(axis=0) if rows else np.zeros(twin.dim)
        assert np.allclose(total[: twin.dim], wanted, rtol=0, atol=1e-9)
    assert (counts > 0).all()  # of "</s>" at least


@pytest.mark.parametrize("name", NAMES)
def test_a_packed_matrix_gives_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_module, "UNPACK_BYTES", 0)
    packed = read_model(GOLDEN / name)
    assert (packed.tables.rows.size == 0) == name.endswith(".ftz")
    batch = Texts.from_strings(["ab cd", "\u0430\u0431\u0432 \u4e00", "abcdefghij klmno" * 9])
    assert found(packed, batch) == found(model_of(name), batch)


@given(data=st.binary(max_size=40))
def test_hash_is_that_of_the_slow_twin(data: bytes) -> None:
    assert fnv(np.frombuffer(data + b".", dtype=np.uint8), 0, len(data)) == slow.fnv(data)


@given(counts=st.lists(st.integers(0, 10**6), min_size=1, max_size=40))
def test_tree_is_that_of_the_slow_twin(counts: list[int]) -> None:
    counts = sorted(counts, reverse=True)
    tree = huffman_tree(np.array(counts, dtype=np.int64))
    assert {node: tuple(pair) for node, pair in enumerate(tree.tolist()) if pair[0] >= 0} == slow.huffman(
        counts
    )


@pytest.mark.parametrize("counts", [[], [-1], [10**15], [10**15 // 2, 10**15 // 2]])
def test_counts_that_make_no_tree(counts: list[int]) -> None:
    with pytest.raises(ValueError, match="counts"):
        huffman_tree(np.array(counts, dtype=np.int64))


def test_sigmoids_are_those_of_the_slow_twin() -> None:
    steps = [step * 16 / 512 - 8 for step in range(513)]
    assert np.allclose(sigmoid_table(), [slow.sigmoid(x) for x in steps], rtol=0, atol=1e-7)


def test_no_texts() -> None:
    labels, scores = predictions(model_of("tree.ftz"), Texts.from_strings([]))
    assert labels.shape == scores.shape == (0, 2)
    assert label_scores(model_of("tree.ftz"), Texts.from_strings([]), "more").shape == (0,)


def test_golden_models_are_where_they_should_be() -> None:
    assert sorted(path.name for path in Path(GOLDEN).iterdir()) == NAMES
