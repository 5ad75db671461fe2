"""Stored files to decompressed pieces of bounded size, by magic bytes and never by suffix.

gzip, zstd, bzip2, xz, each with several members (frames, streams) and zero bytes after them (between them
too, zstd excepted). What was decoded before an error is yielded first, then `DamagedFile` says what is wrong.
Nothing here frames records. An error of the machine (a disk that cannot be read) stays an OSError: it must
not change what a corpus holds.

Memory: a piece is at most PIECE_BYTES whatever a file claims, plus the decoder's window: up to 2 GiB for a
zstd frame written with --long=31 (as large public dumps are), at most 1 GiB for xz. A window is filled only
as far as data is decoded.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import zstandard

from dataprep.readers.listing import InputFile, StreamedFile

PIECE_BYTES = 1 << 20
MAX_ZSTD_WINDOW_BYTES = 1 << 31  # the greatest that zstd itself knows
MAX_XZ_MEMORY_BYTES = 1 << 30
MAX_DICTIONARY_BYTES = 1 << 24
_DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"
_STORED_BYTES = 1 << 18  # read from the file at a time
_GZIP_PIECE_BYTES = 1 << 17  # zlib loses what it decoded in the very call that fails, so calls are small

MAGIC_BYTES = 16  # enough of a file for `sniff`

# Formats known by their first bytes, to be refused by name rather than read as garbage text.
_UNSUPPORTED = {
    b"\x04\x22\x4d\x18": "lz4",
    b"\x1f\x9d": "compress (.Z)",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\xff\x06\x00\x00sNaPpY": "snappy",
}


UTF8_MARK = b"\xef\xbb\xbf"
UTF16_REFUSAL = "a byte order mark of UTF-16 or UTF-32; say encoding: utf-16, or convert the file to UTF-8"


class DamagedFile(Exception):
    """The rest of a file cannot be read.

    unread_bytes  of it, as stored, that were not used (None: not known)
    position      decompressed bytes before the damage that were used; filled in by who uses them
    """

    def __init__(self, reason: str, detail: str, unread_bytes: int | None, position: int = 0) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.unread_bytes = unread_bytes
        self.position = position


def is_utf16(head: bytes) -> bool:
    """Whether the decompressed content starts with a byte order mark of UTF-16 or UTF-32."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))


def sniff(head: bytes) -> str:
    """What content with these first bytes is: "plain", or a compression, maybe one that is not supported."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head.startswith(b"\x28\xb5\x2f\xfd") or _is_skippable(head):
        return "zstd"
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return "bz2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    return next((name for magic, name in _UNSUPPORTED.items() if head.startswith(magic)), "plain")


def compression(file: InputFile) -> str:
    """`sniff` of a file's first bytes."""
    with open(file.path, "rb") as stored:
        return sniff(stored.read(MAGIC_BYTES))


def read_pieces(file: InputFile) -> Iterator[bytes]:
    """The whole decompressed content in order, in pieces of at most PIECE_BYTES. Raises DamagedFile at its
    end.

    An empty file is empty content, unless its name promises a compressed stream: that one was cut at byte 0.
    """
    if isinstance(file, StreamedFile):
        yield from file.pieces
        return
    with open(file.path, "rb") as stored:
        head = stored.read(MAGIC_BYTES)
        stored.seek(0)
        yield from expand(stored, file.size_bytes, file.name, head)


class Stored(Protocol):
    """What is needed of an open file."""

    def read(self, count: int, /) -> bytes: ...
    def seek(self, offset: int, whence: int, /) -> int: ...
    def tell(self) -> int: ...


def expand(stored: Stored, size_bytes: int, name: str, head: bytes) -> Iterator[bytes]:
    """What `read_pieces` does, of an open file of `size_bytes` at its start, where `head` is what comes
    next."""
    kind = sniff(head)
    if kind == "plain":
        if not head and name.endswith((".gz", ".zst", ".bz2", ".xz", ".lz4")):
            raise DamagedFile("truncated", "an empty file where its name promises a compressed one", 0)
        while piece := stored.read(PIECE_BYTES):
            yield piece
    elif kind == "zstd":
        yield from _zstd_pieces(stored, size_bytes)
    elif kind in _MEMBER_DECODERS:
        yield from _member_pieces(stored, size_bytes, kind)
    else:
        detail = f"{kind} is not supported (gzip, zstd, bzip2 and xz are)"
        raise DamagedFile("unsupported_compression", detail, size_bytes)


def read_range(file: InputFile, start: int, end: int, piece_bytes: int = PIECE_BYTES) -> Iterator[bytes]:
    """The stored bytes [start, end), as far as the file goes, in pieces."""
    with open(file.path, "rb", buffering=0) as stored:
        stored.seek(start)
        while start < end and (piece := stored.read(min(piece_bytes, end - start))):
            start += len(piece)
            yield piece


class _Decoder(Protocol):
    """One member of a file, with the interface that bz2 and lzma decompressors share."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _GzipDecoder:
    """zlib with the interface of the other two (zlib leaves its unread input to the caller)."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)  # 31: one gzip member, its header and checksum verified
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        out = self._zlib.decompress(self._zlib.unconsumed_tail + data, min(max_length, _GZIP_PIECE_BYTES))
        # A full piece may hide more output inside zlib even when all input is taken.
        self.needs_input = not self._zlib.unconsumed_tail and len(out) < _GZIP_PIECE_BYTES
        return out


_MEMBER_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": _GzipDecoder,
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY_BYTES),
}


def _member_pieces(stored: Stored, size_bytes: int, kind: str) -> Iterator[bytes]:
    """Members one after the other; zero bytes may pad between and after them."""
    data = stored.read(_STORED_BYTES)
    while data:
        decoder = _MEMBER_DECODERS[kind]()
        while not decoder.eof:
            if decoder.needs_input and not data and not (data := stored.read(_STORED_BYTES)):
                raise DamagedFile("truncated", f"the {kind} stream stops before its end", 0)
            unread_bytes = size_bytes - stored.tell() + len(data)
            try:
                out = decoder.decompress(data, PIECE_BYTES)
            except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:  # OSError: bz2's own
                raise DamagedFile("corrupt", f"{kind}: {error}", unread_bytes) from error
            data = b""
            if out:
                yield out
        data = decoder.unused_data
        while not (data := data.lstrip(b"\0")) and (data := stored.read(_STORED_BYTES)):
            pass
        if data and len(data) < MAGIC_BYTES:
            data += stored.read(MAGIC_BYTES)
        if data and sniff(data) != kind:
            unread_bytes = size_bytes - stored.tell() + len(data)
            raise DamagedFile("trailing_garbage", f"bytes after the last {kind} member", unread_bytes)


def _is_skippable(head: bytes) -> bool:
    return len(head) >= 4 and 0x50 <= head[0] <= 0x5F and head[1:4] == b"\x2a\x4d\x18"


def _only_zeros(stored: Stored) -> bool:
    while data := stored.read(_STORED_BYTES):
        if data.strip(b"\0"):
            return False
    return True


def _dictionary(content: bytes, size_bytes: int) -> zstandard.ZstdCompressionDict:
    """What a file of WARC has in its first frame, plain or compressed (the IIPC's WARC with zstd)."""
    try:
        if content.startswith(b"\x28\xb5\x2f\xfd"):
            content = zstandard.ZstdDecompressor().decompress(content, max_output_size=MAX_DICTIONARY_BYTES)
        return zstandard.ZstdCompressionDict(content)
    except (zstandard.ZstdError, ValueError) as error:
        raise DamagedFile("corrupt", f"zstd: the dictionary: {error}", size_bytes) from error


def _zstd_pieces(stored: Stored, size_bytes: int) -> Iterator[bytes]:
    """Frames walked block by block (RFC 8878, section 3.1).

    The library's own stream reader gives no error where a frame is cut, and one call of its incremental
    decoder can turn 64 KB into 2 GB. Fed a block at a time, its output is at most 128 KiB and an error loses
    that block only.
    """
    decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW_BYTES)
    position = 0  # in the stored file, of the frame or block being read

    def need(count: int) -> bytes:
        data = stored.read(count)
        if len(data) < count:
            detail = f"the zstd stream stops at stored byte {size_bytes}, inside a frame"
            raise DamagedFile("truncated", detail, size_bytes - position)
        return data

    while magic := stored.read(4):
        if _is_skippable(magic):
            length = int.from_bytes(need(4), "little")
            if position == 0 and magic == _DICTIONARY_FRAME and length <= MAX_DICTIONARY_BYTES:
                dictionary = _dictionary(need(length), size_bytes)
                decompressor = zstandard.ZstdDecompressor(dictionary, max_window_size=MAX_ZSTD_WINDOW_BYTES)
            elif position + 8 + length > size_bytes:
                need(length)  # raises
            else:
                stored.seek(length, 1)
            position += 8 + length
            continue
        if magic != b"\x28\xb5\x2f\xfd":
            if not magic.strip(b"\0") and _only_zeros(stored):
                return
            raise DamagedFile("trailing_garbage", "bytes after the last zstd frame", size_bytes - position)
        decoder = decompressor.decompressobj()
        descriptor = need(1)
        single_segment, has_checksum = descriptor[0] >> 5 & 1, descriptor[0] >> 2 & 1
        header_bytes = (1 - single_segment) + (0, 1, 2, 4)[descriptor[0] & 3]
        header_bytes += (single_segment, 2, 4, 8)[descriptor[0] >> 6]
        try:
            decoder.decompress(magic + descriptor + need(header_bytes))
            position += 5 + header_bytes
            last = False
            while not last:
                block_header = need(3)
                fields = int.from_bytes(block_header, "little")
                last, kind, length = bool(fields & 1), fields >> 1 & 3, fields >> 3
                stored_bytes = 1 if kind == 1 else length  # kind 1 repeats one byte
                if out := decoder.decompress(block_header + need(stored_bytes)):
                    yield out
                position += 3 + stored_bytes
            if has_checksum:
                decoder.decompress(need(4))
                position += 4
        except zstandard.ZstdError as error:
            raise DamagedFile("corrupt", f"zstd: {error}", size_bytes - position) from error
        assert decoder.eof  # the library and this walk read the same format
