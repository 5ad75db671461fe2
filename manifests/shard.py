"""One shard: the tokens of many documents in a `.bin` file and where each document lies in an `.idx` file.

The pair is Megatron's MMIDIDX version 1, byte for byte (`FORMAT.md` has the layout; the source is
megatron/core/datasets/indexed_dataset.py of Megatron-LM), so Megatron, NeMo and others train on it as it is.
Document boundaries come from the index and never from an end-of-text token. What the format lacks (digests,
tokenizer, origin of documents) is in the manifest and in the files beside the shard; see `manifest.py`.

A shard is named by its prefix: the path without ".bin". Prefixes may contain dots.
"""

from __future__ import annotations

import struct
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from manifests.errors import UserError
from manifests.files import check_free_space, write_atomic

MAGIC = b"MMIDIDX\x00\x00"
FORMAT_VERSION = 1
HEADER = struct.Struct("<9sQBQQ")
"""Magic, version, dtype code, number of sequences, number of document indices: 34 bytes."""

MAX_DOCUMENT_TOKENS = 2**31 - 1
"""Lengths are int32 in the index."""

# Integer codes only: 6 and 7 are the floats, and Megatron-Core and GPT-NeoX disagree on which is which.
DTYPES_BY_CODE: dict[int, np.dtype[np.integer]] = {
    1: np.dtype("u1"),
    2: np.dtype("i1"),
    3: np.dtype("<i2"),
    4: np.dtype("<i4"),
    5: np.dtype("<i8"),
    8: np.dtype("<u2"),
}
CODES_BY_DTYPE: dict[np.dtype[np.integer], int] = {np.dtype("<u2"): 8, np.dtype("<i4"): 4}
"""The two dtypes that are written."""

StrPath = str | PathLike[str]
IntArray = npt.NDArray[np.integer]


class ShardError(UserError):
    """A shard that cannot be written, or a pair of files that is not a shard or does not agree."""


def bin_path(prefix: StrPath) -> Path:
    """The tokens, without a header."""
    return Path(f"{prefix}.bin")


def idx_path(prefix: StrPath) -> Path:
    """Lengths and places of the documents."""
    return Path(f"{prefix}.idx")


def table_path(prefix: StrPath) -> Path:
    """The document table (Parquet); see `documents.py`."""
    return Path(f"{prefix}.documents.parquet")


def blocks_path(prefix: StrPath) -> Path:
    """The block digests of the `.bin` file."""
    return Path(f"{prefix}.blocks")


def dtype_for_vocab(vocab_size: int) -> np.dtype[np.integer]:
    """Return the token dtype of a vocabulary, by Megatron's rule: uint16 below 65,500 entries, else int32.

    (`DType.optimal_dtype`. The ids 65,500 to 65,535 would fit into uint16; Megatron keeps them free.)
    """
    if not 1 <= vocab_size <= 2**31:
        raise ShardError(f"a vocabulary of {vocab_size:,} entries has no token dtype; 1 to 2^31 are possible")
    return np.dtype("<u2") if vocab_size < 65500 else np.dtype("<i4")


def idx_size_bytes(num_documents: int) -> int:
    """Return the size of the index of a shard with this many documents."""
    return HEADER.size + 20 * num_documents + 8


def encode_index(lengths: IntArray, dtype: npt.DTypeLike) -> bytes:
    """Return the bytes of the `.idx` file of documents of these `lengths` [D], in tokens, int32 or int64.

    Every document is one sequence. Byte pointers are int64, so shards may be larger than 2^32 bytes.
    Raises ShardError for an empty document or one of more than 2^31 - 1 tokens.
    """
    token_dtype = _writable_dtype(dtype)
    lengths = _checked_lengths(lengths)
    offsets_bytes = np.zeros(lengths.size + 1, dtype="<i8")
    np.cumsum(lengths, out=offsets_bytes[1:])
    offsets_bytes *= token_dtype.itemsize
    return b"".join(
        (
            HEADER.pack(MAGIC, FORMAT_VERSION, CODES_BY_DTYPE[token_dtype], lengths.size, lengths.size + 1),
            lengths.astype("<i4").tobytes(),
            offsets_bytes[:-1].tobytes(),
            np.arange(lengths.size + 1, dtype="<i8").tobytes(),
        )
    )


def write_shard(prefix: StrPath, tokens: IntArray, lengths: IntArray, dtype: npt.DTypeLike) -> None:
    """Write `<prefix>.bin` and then `<prefix>.idx`, each whole or not at all.

    tokens   [T] any integer dtype; the documents one after the other, end-of-text tokens included.
    lengths  [D] tokens of each document; they add up to T. Both may be empty.
    dtype    uint16 or int32; see `dtype_for_vocab`.

    A process killed in between leaves a `.bin` without an `.idx`, which no reader accepts.
    Raises ShardError for ids that do not fit `dtype`, and for impossible lengths; DiskFull; OSError.
    """
    token_dtype = _writable_dtype(dtype)
    tokens = _checked_tokens(tokens, token_dtype, prefix)
    index = encode_index(lengths, token_dtype)
    num_tokens = int(np.sum(lengths, dtype=np.int64))
    if num_tokens != tokens.size:
        raise ShardError(
            f"the lengths add up to {num_tokens:,} tokens, but there are {tokens.size:,}", where=str(prefix)
        )
    check_free_space(Path(prefix).parent, tokens.nbytes + len(index))
    # An older index must not survive beside newer tokens.
    idx_path(prefix).unlink(missing_ok=True)
    write_atomic(bin_path(prefix), tokens.data)
    write_atomic(idx_path(prefix), index)


class ShardReader:
    """A shard, read through the page cache: nothing is loaded until it is asked for.

    Opening reads 34 bytes and two sizes, and refuses what cannot be a shard. `tokens` maps the `.bin` file;
    `lengths` and `offsets` load the index (20 bytes a document) and check every entry of it. Thread-safe.
    Crosses process borders as its prefix. Raises ShardError, naming the file; OSError.
    """

    def __init__(self, prefix: StrPath) -> None:
        self.prefix = Path(prefix)
        self.bin_bytes = _size_bytes(bin_path(prefix))
        self.idx_bytes = _size_bytes(idx_path(prefix))
        self.dtype, self.num_documents = _read_header(idx_path(prefix), self.idx_bytes)
        self.num_tokens, rest = divmod(self.bin_bytes, self.dtype.itemsize)
        end_bytes = _end_of_last_document(idx_path(prefix), self.num_documents, self.dtype.itemsize)
        if rest or end_bytes != self.bin_bytes:
            raise ShardError(
                f"the index describes {end_bytes:,} bytes of tokens, but the file has {self.bin_bytes:,}",
                where=str(bin_path(prefix)),
                hint="the shard was cut, or its two files belong to different shards",
            )
        self._tokens: IntArray | None = None
        self._offsets: npt.NDArray[np.int64] | None = None
        self._lengths: npt.NDArray[np.int32] | None = None

    @property
    def tokens(self) -> IntArray:
        """[num_tokens] all tokens, memory-mapped, read-only."""
        if self._tokens is None:
            # An empty file cannot be mapped.
            self._tokens = (
                np.memmap(bin_path(self.prefix), dtype=self.dtype, mode="r", shape=(self.num_tokens,))
                if self.num_tokens
                else np.empty(0, dtype=self.dtype)
            )
        return self._tokens

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """[num_documents + 1] first token of each document, and num_tokens."""
        if self._offsets is None:
            self._offsets = _read_offsets(
                idx_path(self.prefix), self.num_documents, self.num_tokens, self.dtype.itemsize
            )
        return self._offsets

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """[num_documents] tokens of each document, end-of-text token included."""
        if self._lengths is None:
            self._lengths = np.diff(self.offsets).astype(np.int32)
        return self._lengths

    def document(self, index: int) -> IntArray:
        """Return the tokens of one document, a view on the mapped file. Raises IndexError."""
        if not 0 <= index < self.num_documents:
            raise IndexError(f"document {index} of {self.num_documents} in {self.prefix}")
        return np.asarray(self.tokens[self.offsets[index] : self.offsets[index + 1]])

    def read(self, start: int, count: int) -> IntArray:
        """Return `count` tokens from token `start` on, a view on the mapped file. Raises IndexError."""
        if start < 0 or count < 0 or start + count > self.num_tokens:
            raise IndexError(f"tokens {start} to {start + count} of {self.num_tokens} in {self.prefix}")
        return np.asarray(self.tokens[start : start + count])

    def __reduce__(self) -> tuple[object, ...]:
        # The default would copy the mapped tokens into the pickle.
        return (ShardReader, (self.prefix,))


def _writable_dtype(dtype: npt.DTypeLike) -> np.dtype[np.integer]:
    for token_dtype in CODES_BY_DTYPE:
        if token_dtype == dtype:
            return token_dtype
    raise ShardError(f"shards are written as uint16 or int32, not {np.dtype(dtype)}")


def _checked_tokens(tokens: IntArray, dtype: np.dtype[np.integer], prefix: StrPath) -> IntArray:
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise ShardError(
            f"tokens must be one row of integers, not {tokens.dtype} {tokens.shape}", where=str(prefix)
        )
    limit = int(np.iinfo(dtype).max)
    if tokens.size and (int(tokens.min()) < 0 or int(tokens.max()) > limit):
        position = int(np.argmax((tokens < 0) | (tokens > limit)))
        raise ShardError(
            f"token {position:,} has the id {int(tokens[position]):,}; {dtype} holds 0 to {limit:,}",
            where=str(prefix),
            hint="the dtype follows the vocabulary of the tokenizer; is it the one that made these ids?",
        )
    return np.ascontiguousarray(tokens, dtype=dtype)


def _checked_lengths(lengths: IntArray) -> IntArray:
    if lengths.ndim != 1 or (lengths.size and lengths.dtype.kind not in "iu"):
        raise ShardError(f"lengths must be one row of integers, not {lengths.dtype} {lengths.shape}")
    wrong = (lengths < 1) | (lengths > MAX_DOCUMENT_TOKENS)
    if wrong.any():
        index = int(np.argmax(wrong))
        what = (
            f"document {index:,} has {int(lengths[index]):,} tokens; a shard holds documents of 1 to "
            f"{MAX_DOCUMENT_TOKENS:,} tokens, since lengths are int32 in the index"
        )
        raise ShardError(what, hint="drop empty documents, or cut long ones, before writing")
    return lengths


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        raise ShardError("the file is missing", where=str(path)) from None


def _read_header(path: Path, size_bytes: int) -> tuple[np.dtype[np.integer], int]:
    with open(path, "rb") as stream:
        data = stream.read(HEADER.size)
    if len(data) < HEADER.size:
        raise ShardError(f"the index is cut: {len(data)} bytes, its header alone has 34", where=str(path))
    magic, version, code, num_sequences, num_indices = HEADER.unpack(data)
    if magic != MAGIC:
        raise ShardError(f"not an index: it starts with {magic!r} and not with {MAGIC!r}", where=str(path))
    if version != FORMAT_VERSION:
        raise ShardError(f"version {version} of the index format is unknown; 1 is known", where=str(path))
    if code not in DTYPES_BY_CODE:
        known = ", ".join(f"{code} {dtype.name}" for code, dtype in DTYPES_BY_CODE.items())
        raise ShardError(f"dtype code {code} is not one of a token ({known})", where=str(path))
    if num_indices != num_sequences + 1:
        raise ShardError(
            f"{num_sequences:,} sequences in {num_indices - 1:,} documents; one sequence a document is read",
            where=str(path),
            hint="write the documents again, each as one sequence",
        )
    if size_bytes != idx_size_bytes(num_sequences):
        raise ShardError(
            f"the index has {size_bytes:,} bytes; one of {num_sequences:,} documents has "
            f"{idx_size_bytes(num_sequences):,}",
            where=str(path),
            hint="the file was cut, or holds something more (a multimodal index is not read)",
        )
    return DTYPES_BY_CODE[code], num_sequences


def _end_of_last_document(path: Path, num_documents: int, itemsize: int) -> int:
    """Bytes of tokens by the last entry of the index: a check of both sizes without reading it all."""
    if num_documents == 0:
        return 0
    with open(path, "rb") as stream:
        stream.seek(HEADER.size + 4 * (num_documents - 1))
        (length,) = struct.unpack("<i", stream.read(4))
        stream.seek(HEADER.size + 12 * num_documents - 8)
        (pointer,) = struct.unpack("<q", stream.read(8))
    return int(pointer + length * itemsize)


def _read_offsets(path: Path, num_documents: int, num_tokens: int, itemsize: int) -> npt.NDArray[np.int64]:
    data = path.read_bytes()
    places = (HEADER.size, HEADER.size + 4 * num_documents, HEADER.size + 12 * num_documents)
    lengths = np.frombuffer(data, "<i4", num_documents, places[0])
    pointers = np.frombuffer(data, "<i8", num_documents, places[1])
    indices = np.frombuffer(data, "<i8", num_documents + 1, places[2])
    offsets = np.zeros(num_documents + 1, dtype=np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    for name, place, width, wrong in (
        ("length", places[0], 4, lengths < 1),
        ("pointer", places[1], 8, pointers != offsets[:-1] * itemsize),
        ("document index", places[2], 8, indices != np.arange(num_documents + 1)),
    ):
        if wrong.any():
            first = int(np.argmax(wrong))
            raise ShardError(
                f"the {name} of document {first:,} is impossible (byte {place + first * width:,})",
                where=str(path),
                hint="the index is damaged; verify the corpus to see what else is",
            )
    if offsets[-1] != num_tokens:
        raise ShardError(
            f"the lengths add up to {offsets[-1]:,} tokens; there are {num_tokens:,}", where=str(path)
        )
    return offsets
