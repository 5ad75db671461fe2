"""Megatron-Core itself reads what we write, and we read what it writes."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from manifests.shard import ShardReader, bin_path, dtype_for_vocab, encode_index, idx_path, write_shard

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def megatron() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its optional parts, which are not needed here
        return pytest.importorskip("megatron.core.datasets.indexed_dataset")


LENGTHS = {
    "one document": [7],
    "one token each": [1, 1, 1],
    "many": np.random.default_rng(5).integers(1, 300, 1000).tolist(),
}


def draw_tokens(lengths: list[int], dtype: str) -> np.ndarray:
    high = 65_500 if dtype == "uint16" else 2**31
    return np.random.default_rng(1).integers(0, high, sum(lengths))


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("dtype", ["uint16", "int32"])
@pytest.mark.parametrize("name", LENGTHS)
def test_megatron_reads_ours(name: str, dtype: str, mmap: bool, megatron: ModuleType, tmp_path: Path) -> None:
    lengths = LENGTHS[name]
    tokens = draw_tokens(lengths, dtype)
    write_shard(tmp_path / "s", tokens, np.array(lengths), dtype)
    dataset = megatron.IndexedDataset(str(tmp_path / "s"), mmap=mmap)
    assert len(dataset) == len(lengths)
    assert dataset.index.dtype == np.dtype(dtype)
    assert dataset.sequence_lengths.tolist() == lengths
    assert dataset.document_indices.tolist() == list(range(len(lengths) + 1))
    assert np.concatenate([dataset[i] for i in range(len(dataset))]).tolist() == tokens.tolist()


@pytest.mark.parametrize("dtype", ["uint16", "int32"])
@pytest.mark.parametrize("name", LENGTHS)
def test_we_read_megatrons_byte_for_byte(name: str, dtype: str, megatron: ModuleType, tmp_path: Path) -> None:
    lengths = LENGTHS[name]
    tokens = draw_tokens(lengths, dtype)
    builder = megatron.IndexedDatasetBuilder(str(bin_path(tmp_path / "theirs")), dtype=getattr(np, dtype))
    ends = np.cumsum(lengths)
    for start, end in zip(ends - lengths, ends, strict=True):
        builder.add_document(tokens[start:end], [int(end - start)])
    builder.finalize(str(idx_path(tmp_path / "theirs")))

    reader = ShardReader(tmp_path / "theirs")
    assert reader.dtype == np.dtype(dtype)
    assert reader.tokens.tolist() == tokens.tolist()
    assert reader.lengths.tolist() == lengths

    write_shard(tmp_path / "ours", tokens, np.array(lengths), dtype)
    for path in (bin_path, idx_path):
        assert path(tmp_path / "ours").read_bytes() == path(tmp_path / "theirs").read_bytes()


def test_the_same_rule_for_the_dtype(megatron: ModuleType) -> None:
    for vocab_size in (1, 50_257, 65_499, 65_500, 65_535, 65_536, 70_000, 2**31):
        theirs = megatron.DType.optimal_dtype(vocab_size)
        assert dtype_for_vocab(vocab_size) == np.dtype(theirs)


@pytest.mark.parametrize("dtype", ["uint16", "int32"])
def test_megatron_reads_beyond_32_bits(dtype: str, megatron: ModuleType, tmp_path: Path) -> None:
    """More than 2^31 tokens in more than 2^32 bytes, in a sparse file; the last token of each document is
    really there."""
    lengths = [2**30, 5, 2**30 + 7, 3, 2**29]
    ends = np.cumsum(lengths) * np.dtype(dtype).itemsize
    assert sum(lengths) > 2**31 and ends[-1] > 2**32
    idx_path(tmp_path / "s").write_bytes(encode_index(np.array(lengths), dtype))
    with open(bin_path(tmp_path / "s"), "wb") as stream:
        stream.truncate(int(ends[-1]))
        for number, end in enumerate(ends):
            stream.seek(int(end) - np.dtype(dtype).itemsize)
            stream.write(np.array([number + 1], dtype).tobytes())
    theirs, ours = megatron.IndexedDataset(str(tmp_path / "s"), mmap=True), ShardReader(tmp_path / "s")
    for number, length in enumerate(lengths):
        found = theirs.get(number, offset=max(0, length - 4), length=min(length, 4))
        assert found.tolist() == ours.document(number)[-4:].tolist() and found[-1] == number + 1
    bin_path(tmp_path / "s").unlink()
