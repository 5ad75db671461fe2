"""Readers of layouts against slow twins, and beyond 32 bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.corpora import tokenfile as module
from dataprep.corpora.layouts import layout_of, read_datatrove, token_files
from dataprep.corpora.mds import read_mds
from dataprep.corpora.megatron import read_megatron
from dataprep.corpora.tokenfile import scan_documents
from manifests.errors import UserError
from manifests.shard import encode_index

LARGE = st.lists(st.integers(2**29, 2**31 - 1) | st.integers(1, 1000), min_size=2, max_size=12)
EOS = 3
GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "mds"


def documents_slowly(tokens: list[int]) -> list[int]:
    """Lengths of the documents that EOS closes."""
    lengths, length = [], 0
    for token in tokens:
        length += 1
        if token == EOS:
            lengths.append(length)
            length = 0
    return [*lengths, length] if length else lengths


@given(tokens=st.lists(st.integers(0, 4), max_size=60), at_once=st.sampled_from([1, 2, 7, 1 << 24]))
def test_scan(tokens: list[int], at_once: int) -> None:
    notes: list[str] = []
    before, module.SCAN_TOKENS = module.SCAN_TOKENS, at_once
    try:
        found = scan_documents(np.array(tokens, np.uint16), EOS, notes)
    finally:
        module.SCAN_TOKENS = before
    assert found.tolist() == documents_slowly(tokens)
    assert ("the last document has no end-of-text token" in notes) == bool(tokens and tokens[-1] != EOS)


@given(lengths=LARGE, dtype=st.sampled_from(["uint16", "int32"]))
def test_beyond_32_bits(lengths: list[int], dtype: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sparse files: pointers, ends and sums of lengths above 2^31 and 2^32."""
    folder = tmp_path_factory.mktemp("sparse")
    size_bytes = sum(lengths) * np.dtype(dtype).itemsize
    for name in ("a.bin", "a.ds"):
        with open(folder / name, "wb") as stream:
            stream.truncate(size_bytes)
    (folder / "a.idx").write_bytes(encode_index(np.array(lengths, np.int32), dtype))
    (folder / "a.ds.index").write_bytes(np.cumsum(lengths).astype("<u8").tobytes())
    for found in (read_megatron(folder / "a.bin", None, None), read_datatrove(folder / "a.ds", None)):
        assert found.lengths.tolist() == lengths and found.dtype.itemsize == np.dtype(dtype).itemsize
        assert found.read().size == sum(lengths) and not found.notes
    for name in ("a.bin", "a.ds"):
        (folder / name).unlink()


@given(lengths=LARGE, cut=st.integers(1, 7))
def test_a_large_file_that_was_cut(
    lengths: list[int], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    with open(folder / "a.bin", "wb") as stream:
        stream.truncate(sum(lengths) * 2 - cut)
    (folder / "a.idx").write_bytes(encode_index(np.array(lengths, np.int32), "uint16"))
    with pytest.raises(UserError, match=r"the index describes|the index says"):
        read_megatron(folder / "a.bin", None, None)
    (folder / "a.bin").unlink()


def test_layouts_by_name(tmp_path: Path) -> None:
    for name in (
        "a.bin",
        "a.idx",
        "b.bin",
        "c.ds",
        "c.ds.index",
        "c.ds.metadata",
        "d.npy",
        "d.csv.gz",
        "e.mds",
    ):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "folder").mkdir()
    found = token_files(str(tmp_path))
    assert [path.name for path in found] == ["a.bin", "b.bin", "c.ds", "d.npy", "e.mds"]
    assert [layout_of(path) for path in found] == ["megatron", "raw", "datatrove", "raw", "mds"]
    assert token_files(str(tmp_path / "*.npy")) == [tmp_path / "d.npy"]


@pytest.mark.parametrize(("name", "dtype"), [("dynamic", None), ("fixed", None), ("bytes", "int64")])
def test_what_streaming_wrote(name: str, dtype: str | None) -> None:
    """The golden files were written by MDSWriter of mosaicml-streaming 0.13.0, with a column before the
    tokens and one after them."""
    rows = [[(7 * row + place * place) % 500 for place in range(16)] for row in range(12)]
    wanted = [token for row in rows for token in row]
    eos_id = wanted[40]
    given = None if dtype is None else np.dtype(dtype)
    found = read_mds(GOLDEN / f"{name}.mds", given, eos_id)
    assert found.read().tolist() == wanted
    ends = [place + 1 for place, token in enumerate(wanted) if token == eos_id]
    assert np.cumsum(found.lengths).tolist() == [*ends, len(wanted)] and len(ends) > 1
