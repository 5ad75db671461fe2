from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.readers import InputFile
from dataprep.readers.decompress import PIECE_BYTES, DamagedFile, compression, read_pieces, read_range, sniff
from tests.dataprep.readers.reading import input_file

zstd = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False).compress
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": zstd,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
SKIPPABLE = b"\x5a\x2a\x4d\x18" + (7).to_bytes(4, "little") + b"skip me"
WORDS = np.random.default_rng(0).integers(97, 123, 3000).astype(np.uint8).tobytes()


def read(path: Path) -> tuple[bytes, DamagedFile | None]:
    pieces = []
    try:
        for piece in read_pieces(input_file(path)):
            assert 0 < len(piece) <= PIECE_BYTES
            pieces.append(piece)
    except DamagedFile as damage:
        return b"".join(pieces), damage
    return b"".join(pieces), None


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stored") / "a"


@pytest.mark.parametrize("kind", COMPRESS)
@settings(max_examples=20)
@given(
    parts=st.lists(st.binary(max_size=50), min_size=1, max_size=4),
    padding=st.sampled_from([b"", bytes(4), bytes(400)]),
)
def test_members_one_after_the_other(path: Path, kind: str, parts: list[bytes], padding: bytes) -> None:
    path.write_bytes(b"".join(COMPRESS[kind](part) for part in parts) + padding)
    assert compression(input_file(path)) == kind
    assert read(path) == (b"".join(parts), None)


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("stored_bytes", [1, 3, 50])
def test_where_reads_end_does_not_matter(
    path: Path, kind: str, stored_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataprep.readers.decompress._STORED_BYTES", stored_bytes)
    path.write_bytes(COMPRESS[kind](WORDS[:40]) + bytes(60) + COMPRESS[kind](WORDS[40:90]) + bytes(7))
    if kind == "zstd":  # zero bytes between frames are no part of the format
        path.write_bytes(COMPRESS[kind](WORDS[:40]) + COMPRESS[kind](WORDS[40:90]) + bytes(7))
    assert read(path) == (WORDS[:90], None)


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_long_stream_comes_in_small_pieces(path: Path, kind: str) -> None:
    data = bytes(5 * PIECE_BYTES + 3)
    path.write_bytes(COMPRESS[kind](data))
    assert read(path) == (data, None)


@pytest.mark.parametrize("kind", COMPRESS)
def test_every_cut_is_seen(path: Path, kind: str) -> None:
    first, second = COMPRESS[kind](WORDS[:300]), COMPRESS[kind](WORDS[300:400])
    stored = first + second
    for cut in range(1, len(stored)):
        if sniff(stored[:cut]) == "plain":
            continue  # too short to be known as compressed
        path.write_bytes(stored[:cut])
        content, damage = read(path)
        assert WORDS.startswith(content)
        if cut == len(first):
            assert damage is None and len(content) == 300
            continue
        assert damage is not None and damage.reason in ("truncated", "trailing_garbage")
        assert cut < len(first) or len(content) >= 300
        assert damage.unread_bytes is not None and 0 <= damage.unread_bytes <= cut


def test_blocks_before_a_cut_are_kept(path: Path) -> None:
    data = np.random.default_rng(1).integers(0, 256, 400_000).astype(np.uint8).tobytes()
    stored = zstd(data)
    path.write_bytes(stored[:-1000])
    content, damage = read(path)
    assert data.startswith(content) and len(content) == 3 * (128 << 10)
    assert damage is not None and damage.reason == "truncated"
    assert damage.unread_bytes == len(data) - len(content) - 1000 + 3 + 4  # a block's header, the checksum


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_flipped_bit_is_seen_or_changes_nothing(path: Path, kind: str) -> None:
    stored = COMPRESS[kind](WORDS[:200])
    for at in range(len(stored)):
        path.write_bytes(stored[:at] + bytes([stored[at] ^ 0x10]) + stored[at + 1 :])
        if compression(input_file(path)) != kind:
            continue
        content, damage = read(path)
        assert damage is not None or content == WORDS[:200]


def test_skippable_frames_are_skipped(path: Path) -> None:
    path.write_bytes(SKIPPABLE + zstd(b"a") + SKIPPABLE + SKIPPABLE + zstd(b"b") + SKIPPABLE)
    assert read(path) == (b"ab", None)
    path.write_bytes(zstd(b"a") + SKIPPABLE[:-1])
    content, damage = read(path)
    assert content == b"a" and damage is not None and damage.reason == "truncated"


@pytest.mark.parametrize("kind", COMPRESS)
def test_garbage_after_the_last_member(path: Path, kind: str) -> None:
    path.write_bytes(COMPRESS[kind](WORDS) + b"garbage")
    content, damage = read(path)
    assert content == WORDS
    assert damage is not None and (damage.reason, damage.unread_bytes) == ("trailing_garbage", 7)


def test_a_wrong_checksum_is_corrupt(path: Path) -> None:
    stored = bytearray(zstd(WORDS))
    stored[-1] ^= 1
    path.write_bytes(stored)
    content, damage = read(path)
    assert content == WORDS
    assert damage is not None and damage.reason == "corrupt" and "checksum" in damage.detail


def test_a_window_of_2_gib_is_read_and_a_greater_one_refused(path: Path) -> None:
    def frame(window: int) -> bytes:  # one raw block of 3 bytes
        return b"\x28\xb5\x2f\xfd" + bytes([0, window]) + (3 << 3 | 1).to_bytes(3, "little") + b"abc"

    path.write_bytes(frame((31 - 10) << 3))
    assert read(path) == (b"abc", None)
    path.write_bytes(frame((31 - 10) << 3 | 1))
    content, damage = read(path)
    assert content == b"" and damage is not None and "memory" in damage.detail


def test_a_frame_that_needs_a_dictionary_is_refused(path: Path) -> None:
    dictionary = zstandard.ZstdCompressionDict(WORDS)
    path.write_bytes(zstandard.ZstdCompressor(dict_data=dictionary).compress(WORDS[:100]))
    _, damage = read(path)
    assert damage is None or damage.reason == "corrupt"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"PK\x03\x04", "zip"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"\x1f\x9d", "compress (.Z)"),
    ],
)
def test_other_compressions_are_named(path: Path, head: bytes, name: str) -> None:
    path.write_bytes(head + b"rest")
    content, damage = read(path)
    assert content == b"" and damage is not None
    assert damage.reason == "unsupported_compression" and name in damage.detail


def test_plain_text_stays_as_it_is(path: Path) -> None:
    for data in (b"", b"x", b"BZh9 is how bzip2 files start", b"(\xb5", WORDS * 1000):
        path.write_bytes(data)
        assert read(path) == (data, None)


def test_an_empty_file_with_a_compressed_name_was_cut(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.zst").write_bytes(b"")
    content, damage = read(tmp_path / "a.jsonl.zst")
    assert content == b"" and damage is not None and damage.reason == "truncated"


def test_a_machine_fault_is_no_damage() -> None:
    with pytest.raises(FileNotFoundError):
        next(read_pieces(InputFile("/nowhere", "nowhere", 1, 0)))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 9))
def test_read_range_is_a_slice(path: Path, start: int, end: int, piece_bytes: int) -> None:
    path.write_bytes(WORDS[:20])
    assert b"".join(read_range(input_file(path), start, end, piece_bytes)) == WORDS[:20][start:end]


def test_all_that_zlib_can_decode_of_a_cut_stream_is_kept(path: Path) -> None:
    # many bytes out of few: output waits inside zlib after all input is taken
    stored = gzip.compress(bytes(400_000))
    for cut in range(len(stored) - 60, len(stored) - 8):
        path.write_bytes(stored[:cut])
        content, damage = read(path)
        assert content == zlib.decompressobj(31).decompress(stored[:cut])
        assert damage is not None and damage.reason == "truncated"
