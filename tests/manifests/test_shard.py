from __future__ import annotations

import os
import struct
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests import shard as shard_module
from manifests.files import DiskFull
from manifests.shard import (
    HEADER,
    MAGIC,
    ShardError,
    ShardReader,
    bin_path,
    dtype_for_vocab,
    encode_index,
    idx_path,
    write_shard,
)

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "shards"
LENGTHS = st.lists(st.integers(1, 40), max_size=30)


def tokens_of(lengths: list[int], high: int = 60_000) -> np.ndarray:
    return np.random.default_rng(len(lengths)).integers(0, high, sum(lengths))


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A sound shard of three documents; the dots in its name must not be taken for suffixes."""
    write_shard(tmp_path / "v1.0.x", np.arange(10), np.array([3, 2, 5]), np.uint16)
    return tmp_path / "v1.0.x"


# --- writing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vocab_size", "dtype"),
    [
        (1, "uint16"),
        (50_257, "uint16"),
        (65_499, "uint16"),
        (65_500, "int32"),
        (65_535, "int32"),
        (65_536, "int32"),
        (70_000, "int32"),
        (2**31, "int32"),
    ],
)
def test_dtype_follows_the_vocabulary(vocab_size: int, dtype: str, tmp_path: Path) -> None:
    found = dtype_for_vocab(vocab_size)
    assert found.name == dtype
    # The greatest id of that vocabulary survives the disk.
    write_shard(tmp_path / "s", np.array([0, vocab_size - 1]), np.array([2]), found)
    assert ShardReader(tmp_path / "s").document(0).tolist() == [0, vocab_size - 1]


@pytest.mark.parametrize("vocab_size", [0, -1, 2**31 + 1])
def test_vocabularies_without_a_dtype(vocab_size: int) -> None:
    with pytest.raises(ShardError, match="has no token dtype"):
        dtype_for_vocab(vocab_size)


@pytest.mark.parametrize(
    ("name", "dtype", "tokens", "lengths"),
    [
        ("uint16", "uint16", [1, 65_499, 0, 7, 0], [3, 2]),
        ("int32", "int32", [1, 70_000, 0, 2**31 - 1], [1, 3]),
        ("empty", "uint16", [], []),
    ],
)
def test_golden_bytes(name: str, dtype: str, tokens: list[int], lengths: list[int], tmp_path: Path) -> None:
    """The golden files were written by Megatron-Core's own IndexedDatasetBuilder."""
    write_shard(tmp_path / "s", np.array(tokens, np.int64), np.array(lengths, np.int32), dtype)
    for suffix in (".bin", ".idx"):
        assert Path(f"{tmp_path / 's'}{suffix}").read_bytes() == (GOLDEN / f"{name}{suffix}").read_bytes()


def test_layout_by_hand(prefix: Path) -> None:
    """FORMAT.md, spelled out."""
    assert bin_path(prefix).read_bytes() == struct.pack("<10H", *range(10))
    assert idx_path(prefix).read_bytes() == (
        b"MMIDIDX\x00\x00"
        + struct.pack("<QBQQ", 1, 8, 3, 4)
        + struct.pack("<3i", 3, 2, 5)
        + struct.pack("<3q", 0, 6, 10)
        + struct.pack("<4q", 0, 1, 2, 3)
    )


@given(lengths=LENGTHS, dtype=st.sampled_from(["uint16", "int32"]))
def test_round_trip(lengths: list[int], dtype: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    prefix = tmp_path_factory.mktemp("shard") / "s"
    tokens = tokens_of(lengths)
    write_shard(prefix, tokens, np.array(lengths, np.int64), dtype)
    reader = ShardReader(prefix)
    assert (reader.num_tokens, reader.num_documents, reader.dtype.name) == (len(tokens), len(lengths), dtype)
    assert reader.bin_bytes == tokens.size * reader.dtype.itemsize
    assert reader.tokens.tolist() == tokens.tolist()
    assert reader.lengths.tolist() == lengths and reader.lengths.dtype == np.int32
    assert reader.offsets.tolist() == [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    assert reader.offsets.dtype == np.int64
    documents = [reader.document(i).tolist() for i in range(len(lengths))]
    assert [token for document in documents for token in document] == tokens.tolist()
    assert [len(document) for document in documents] == lengths


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_tokens_of_any_integer_dtype_and_stride(dtype: str, tmp_path: Path) -> None:
    tokens = np.arange(40, dtype=dtype)[::4]
    write_shard(tmp_path / "s", tokens, np.array([10]), "uint16")
    assert ShardReader(tmp_path / "s").tokens.tolist() == list(range(0, 40, 4))


@pytest.mark.parametrize(
    ("dtype", "token", "place"),
    [("uint16", 65_536, 2), ("uint16", 70_000, 0), ("uint16", -1, 1), ("int32", 2**31, 2), ("int32", -5, 0)],
)
def test_id_out_of_range(dtype: str, token: int, place: int, tmp_path: Path) -> None:
    tokens = np.zeros(3, np.int64)
    tokens[place] = token
    with pytest.raises(ShardError, match=rf"token {place} has the id {token:,}; {dtype} holds 0 to"):
        write_shard(tmp_path / "s", tokens, np.array([3]), dtype)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("tokens", "lengths", "what"),
    [
        (np.zeros(3, np.int64), np.array([2]), "add up to 2 tokens, but there are 3"),
        (np.zeros(3, np.int64), np.array([2, 2]), "add up to 4 tokens, but there are 3"),
        (np.zeros(3, np.int64), np.array([], np.int32), "add up to 0 tokens, but there are 3"),
        (np.zeros(3, np.int64), np.array([3, 0]), "document 1 has 0 tokens"),
        (np.zeros(3, np.int64), np.array([4, -1]), "document 1 has -1 tokens"),
        (np.zeros(3, np.int64), np.array([3, 2**31]), "document 1 has 2,147,483,648 tokens; a shard holds"),
        (np.zeros((3, 1), np.int64), np.array([3]), "one row of integers"),
        (np.zeros(3), np.array([3]), "one row of integers"),
        (np.zeros(3, np.int64), np.array([3.0]), "one row of integers"),
        (np.zeros(3, np.int64), np.array([[3]]), "one row of integers"),
    ],
)
def test_impossible_shards(tokens: np.ndarray, lengths: np.ndarray, what: str, tmp_path: Path) -> None:
    with pytest.raises(ShardError, match=what):
        write_shard(tmp_path / "s", tokens, lengths, "uint16")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "uint32"])
def test_other_dtypes_are_not_written(dtype: str, tmp_path: Path) -> None:
    with pytest.raises(ShardError, match=f"uint16 or int32, not {dtype}"):
        write_shard(tmp_path / "s", np.zeros(1, np.int64), np.array([1]), dtype)


def test_full_disk_is_found_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory: Path, needed_bytes: int) -> None:
        assert needed_bytes == 6 + (34 + 20 + 8)
        raise DiskFull("no room")

    monkeypatch.setattr(shard_module, "check_free_space", refuse)
    with pytest.raises(DiskFull):
        write_shard(tmp_path / "s", np.zeros(3, np.int64), np.array([3]), "uint16")
    assert os.listdir(tmp_path) == []


def test_an_old_index_never_stands_beside_new_tokens(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the two files. Old and new documents have equal sizes, so only this order helps."""
    real = shard_module.write_atomic

    def fail_on_index(path: Path, *parts: bytes) -> None:
        if path.name.endswith(".idx"):
            raise OSError("killed")
        real(path, *parts)

    monkeypatch.setattr(shard_module, "write_atomic", fail_on_index)
    with pytest.raises(OSError, match="killed"):
        write_shard(prefix, np.arange(10), np.array([2, 3, 5]), np.uint16)
    with pytest.raises(ShardError, match="missing"):
        ShardReader(prefix)


# --- beyond 2^31 and 2^32 ----------------------------------------------------------------------------------


@given(
    lengths=st.lists(st.integers(2**29, 2**31 - 1) | st.integers(1, 1000), min_size=2, max_size=12),
    dtype=st.sampled_from(["uint16", "int32"]),
)
def test_offsets_beyond_32_bits(
    lengths: list[int], dtype: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A sparse file stands for the tokens; the last token of each document is really there."""
    prefix = tmp_path_factory.mktemp("sparse") / "s"
    itemsize = np.dtype(dtype).itemsize
    idx_path(prefix).write_bytes(encode_index(np.array(lengths, np.int32), dtype))
    with open(bin_path(prefix), "wb") as stream:
        stream.truncate(sum(lengths) * itemsize)
        for number in range(len(lengths)):
            stream.seek((sum(lengths[: number + 1]) - 1) * itemsize)
            stream.write(struct.pack("<H", number + 1))
    reader = ShardReader(prefix)
    assert reader.num_tokens == sum(lengths)
    assert reader.offsets.tolist() == [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    for number, length in enumerate(lengths):
        assert reader.document(number).size == length
        assert int(reader.document(number)[-1]) == number + 1
        assert reader.read(sum(lengths[: number + 1]) - 1, 1).tolist() == [number + 1]
    pointers = np.frombuffer(idx_path(prefix).read_bytes(), "<i8", len(lengths), 34 + 4 * len(lengths))
    assert pointers.tolist() == [sum(lengths[:i]) * itemsize for i in range(len(lengths))]
    bin_path(prefix).unlink()


# --- reading -----------------------------------------------------------------------------------------------


def test_bounds(prefix: Path) -> None:
    reader = ShardReader(prefix)
    assert reader.read(0, 10).tolist() == list(range(10))
    assert reader.read(10, 0).tolist() == []
    for start, count in ((-1, 1), (0, 11), (10, 1), (3, -1)):
        with pytest.raises(IndexError):
            reader.read(start, count)
    for index in (-1, 3):
        with pytest.raises(IndexError):
            reader.document(index)


def test_tokens_are_read_only(prefix: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        ShardReader(prefix).read(0, 2)[0] = 1


def test_empty_shard(tmp_path: Path) -> None:
    write_shard(tmp_path / "s", np.array([], np.uint32), np.array([], np.int64), "int32")
    reader = ShardReader(tmp_path / "s")
    assert (reader.num_tokens, reader.num_documents) == (0, 0)
    assert reader.tokens.tolist() == [] and reader.offsets.tolist() == [0] and reader.lengths.tolist() == []


def test_opening_reads_neither_tokens_nor_index(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("not lazy")

    monkeypatch.setattr(np, "memmap", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    reader = ShardReader(prefix)
    with pytest.raises(AssertionError, match="not lazy"):
        _ = reader.tokens
    with pytest.raises(AssertionError, match="not lazy"):
        _ = reader.offsets


def test_crosses_processes_without_its_tokens(tmp_path: Path) -> None:
    write_shard(tmp_path / "s", np.zeros(100_000, np.uint16), np.array([100_000]), "uint16")
    reader = ShardReader(tmp_path / "s")
    assert reader.tokens.size == 100_000 and reader.lengths.size == 1  # now they are mapped
    data = ForkingPickler.dumps(reader)
    assert len(data) < 1000
    assert ForkingPickler.loads(data).num_tokens == 100_000


@pytest.mark.parametrize("path", [bin_path, idx_path])
def test_missing_file(prefix: Path, path: object) -> None:
    missing = path(prefix)  # type: ignore[operator]
    missing.unlink()
    with pytest.raises(ShardError, match="missing") as caught:
        ShardReader(prefix)
    assert caught.value.where == str(missing)


def patched_header(**changes: int | bytes) -> bytes:
    fields = {"magic": MAGIC, "version": 1, "code": 8, "sequences": 3, "indices": 4, **changes}
    return HEADER.pack(*fields.values())


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"magic": b"MMIDIDX\x00\x01"}, "not an index"),
        ({"version": 2}, "version 2 of the index format is unknown"),
        ({"code": 6}, "dtype code 6"),
        ({"code": 7}, "dtype code 7"),
        ({"code": 0}, "dtype code 0"),
        ({"code": 4}, "describes 30 bytes of tokens, but the file has 20"),
        ({"indices": 3}, "3 sequences in 2 documents"),
        ({"indices": 0}, "one sequence a document"),
        ({"sequences": 2, "indices": 3}, "one of 2 documents has 82"),
        ({"sequences": 2**63, "indices": 2**63 + 1}, "the index has 102 bytes"),
    ],
)
def test_wrong_header(changes: dict[str, int | bytes], what: str, prefix: Path) -> None:
    data = idx_path(prefix).read_bytes()
    idx_path(prefix).write_bytes(patched_header(**changes) + data[34:])
    with pytest.raises(ShardError, match=what) as caught:
        ShardReader(prefix)
    assert str(prefix) in str(caught.value)


@pytest.mark.parametrize("size_bytes", [0, 1, 33, 34, 101])
def test_cut_index(size_bytes: int, prefix: Path) -> None:
    os.truncate(idx_path(prefix), size_bytes)
    with pytest.raises(ShardError) as caught:
        ShardReader(prefix)
    assert caught.value.where == str(idx_path(prefix))


@pytest.mark.parametrize("size_bytes", [0, 1, 18, 19, 21, 22])
def test_tokens_of_another_size(size_bytes: int, prefix: Path) -> None:
    os.truncate(bin_path(prefix), size_bytes)
    with pytest.raises(ShardError, match=f"describes 20 bytes of tokens, but the file has {size_bytes}"):
        ShardReader(prefix)


def test_a_longer_index_is_not_read(prefix: Path) -> None:
    with open(idx_path(prefix), "ab") as stream:
        stream.write(b"\0\0\0")  # as the modes of a multimodal index
    with pytest.raises(ShardError, match="105 bytes"):
        ShardReader(prefix)


@given(data=st.data())
def test_any_damage_of_an_index_is_noticed(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its parts determine each other, so each single byte is checked; the dtype code stands alone."""
    prefix = tmp_path_factory.mktemp("damage") / "s"
    lengths = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    write_shard(prefix, tokens_of(lengths), np.array(lengths), "uint16")
    index = bytearray(idx_path(prefix).read_bytes())
    place = data.draw(st.integers(0, len(index) - 1).filter(lambda place: place != 17))
    index[place] ^= data.draw(st.integers(1, 255))
    idx_path(prefix).write_bytes(index)
    with pytest.raises(ShardError) as caught:
        _ = ShardReader(prefix).offsets
    assert caught.value.where in (str(idx_path(prefix)), str(bin_path(prefix)))


def test_damage_is_named_by_document_and_byte(prefix: Path) -> None:
    index = bytearray(idx_path(prefix).read_bytes())
    index[34 + 12 + 8] ^= 1
    idx_path(prefix).write_bytes(index)
    with pytest.raises(ShardError, match=r"the pointer of document 1 is impossible \(byte 54\)"):
        _ = ShardReader(prefix).offsets
