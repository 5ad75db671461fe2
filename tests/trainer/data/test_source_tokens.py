from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.shard import ShardReader, bin_path, encode_index, idx_path
from tests.manifests.corpora import Part, make_corpus
from tests.trainer.data.plans import FakeCorpus, spec
from trainer.data.rows import RowPlan
from trainer.data.schedule import PhaseSpec
from trainer.data.source_tokens import SourceTokens, open_sources

LENGTHS = [(3, 1, 4), (), (1, 5, 9, 2), (6,), (), (1, 1, 1)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Six shards of one source, two of them empty, among shards of others."""
    folder = tmp_path_factory.mktemp("corpus")
    parts = [Part("code", "train", lengths) for lengths in LENGTHS]
    make_corpus(folder, [*parts, Part("code", "holdout", (7,)), Part("prose", "train", (5, 3))])
    return open_corpus(folder)


@pytest.fixture(scope="module")
def whole(corpus: Corpus) -> np.ndarray:
    """All tokens, by the reader of each shard."""
    return np.concatenate([corpus.reader(shard).tokens for shard in corpus.shards_of("code", "train")])


TOTAL = sum(map(sum, LENGTHS))
FIRSTS = np.cumsum([0] + [length for lengths in LENGTHS for length in lengths])[:-1].tolist()


@given(st.integers(0, TOTAL), st.integers(0, TOTAL))
def test_any_window(corpus: Corpus, whole: np.ndarray, start: int, end: int) -> None:
    start, end = min(start, end), max(start, end)
    tokens = SourceTokens(corpus, "code")
    assert tokens.num_tokens == TOTAL == len(whole)
    found = tokens.read(start, end - start)
    assert found.dtype == tokens.dtype == np.dtype("uint16")
    np.testing.assert_array_equal(found, whole[start:end])
    expected = [first - start for first in FIRSTS if start <= first < end]
    assert tokens.document_starts(start, end - start).tolist() == expected


@given(
    lengths=st.lists(
        st.lists(st.integers(2**29, 2**31 - 1) | st.integers(1, 1000), min_size=1, max_size=3),
        min_size=2,
        max_size=4,
    ),
    dtype=st.sampled_from(["uint16", "int32"]),
)
def test_beyond_32_bits(
    lengths: list[list[int]], dtype: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Sparse files stand for the shards; the last token of each document is really there."""
    folder, size = tmp_path_factory.mktemp("sparse"), np.dtype(dtype).itemsize
    number = 0
    for index, shard in enumerate(lengths):
        idx_path(folder / str(index)).write_bytes(encode_index(np.array(shard), dtype))
        with open(bin_path(folder / str(index)), "wb") as stream:
            stream.truncate(sum(shard) * size)
            for end in np.cumsum(shard).tolist():
                number += 1
                stream.seek((end - 1) * size)
                stream.write(np.array([number], dtype).tobytes())
    tokens = SourceTokens(Sparse(folder, lengths, dtype), "web")  # type: ignore[arg-type]
    ends = np.cumsum([length for shard in lengths for length in shard]).tolist()
    assert tokens.num_tokens == ends[-1]
    for document, end in enumerate(ends):
        assert tokens.read(end - 1, 1).tolist() == [document + 1]
        after = min(2, ends[-1] - end)
        wanted = [start - end + 1 for start in (0, *ends[:-1]) if end - 1 <= start < end + after]
        assert tokens.document_starts(end - 1, 1 + after).tolist() == wanted
    for index in range(len(lengths)):
        bin_path(folder / str(index)).unlink()


class Sparse:
    """What SourceTokens asks of a corpus."""

    def __init__(self, folder: Path, lengths: list[list[int]], dtype: str) -> None:
        self._folder = folder
        self._shards = [SimpleNamespace(index=at, tokens=sum(shard)) for at, shard in enumerate(lengths)]
        self.manifest = SimpleNamespace(dtype=dtype)

    def shards_of(self, source: str, subset: str) -> list[SimpleNamespace]:
        return self._shards

    def reader(self, shard: SimpleNamespace) -> ShardReader:
        return ShardReader(self._folder / str(shard.index))


def test_subsets_are_apart(corpus: Corpus) -> None:
    assert SourceTokens(corpus, "code", "holdout").num_tokens == 7
    assert SourceTokens(corpus, "prose", "holdout").num_tokens == 0


@pytest.mark.parametrize(("start", "count"), [(-1, 1), (0, TOTAL + 1), (TOTAL, 1), (3, -1)])
def test_outside(corpus: Corpus, start: int, count: int) -> None:
    tokens = SourceTokens(corpus, "code")
    with pytest.raises(IndexError):
        tokens.read(start, count)
    with pytest.raises(IndexError):
        tokens.document_starts(start, count)


def test_what_was_read_is_a_copy(corpus: Corpus, whole: np.ndarray) -> None:
    tokens = SourceTokens(corpus, "code")
    tokens.read(0, 5)[:] = 9
    np.testing.assert_array_equal(tokens.read(0, 5), whole[:5])


def test_open_sources_in_the_order_of_the_plan(corpus: Corpus) -> None:
    plan = RowPlan.build([corpus], spec(phases=(PhaseSpec(0, 2, {"prose": 0.5, "code": 0.5}),)))
    assert [tokens.num_tokens for tokens in open_sources(plan, [corpus])] == [TOTAL, 8]


def test_a_plan_for_other_tokens_is_refused(corpus: Corpus) -> None:
    other: Any = FakeCorpus({"prose": 100})
    plan = RowPlan.build([other], spec(phases=(PhaseSpec(0, 2, {"prose": 1.0}),)))
    with pytest.raises(UserError, match="has 8 tokens; the plan was made for 100"):
        open_sources(plan, [corpus])


def test_a_shard_that_was_cut_is_refused_when_it_is_first_read(tmp_path: Path) -> None:
    make_corpus(tmp_path, [Part("code", "train", (4,)), Part("code", "train", (4,))])
    path = tmp_path / "code" / "train-00001.bin"
    path.write_bytes(path.read_bytes()[:-2])
    tokens = SourceTokens(open_corpus(tmp_path), "code")
    tokens.read(0, 4)
    with pytest.raises(UserError, match=r"train-00001\.bin"):
        tokens.read(3, 2)
