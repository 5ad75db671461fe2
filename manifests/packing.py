"""A packing: how the documents of one shard are packed into rows of one length, none cut without need.

    <shard>.packing-<S>    for rows of S inputs and S targets, that is of at most S + 1 tokens

A **piece** is a stretch of one document; a row holds pieces one after the other and, where they do not fill
it, padding. A document of more than S + 1 tokens is in several pieces, each of which begins with the last
token of the one before; so every token of a document but its first is a target exactly once. A document of
one token has no target and is in no piece.

`dataprep/fit.py` makes packings, `packings.py` lists those of a corpus, `trainer/data/packed_rows.py` reads
rows. The layout is in FORMAT.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from manifests.errors import UserError
from manifests.files import write_atomic

MAGIC = b"HRPACK\x00\x01"
HEADER = struct.Struct("<8sQQQ")
"""Magic with the version of the layout, S, number of rows, number of pieces: 32 bytes."""

MAX_SEQUENCE_LENGTH = 2**31 - 2
"""Pieces have at most S + 1 tokens, and their lengths are int32."""

StrPath = str | PathLike[str]
Int64s = npt.NDArray[np.int64]
Lengths = npt.NDArray[np.int32]


class PackingError(UserError):
    """A file that is no packing, or that does not fit its shard."""


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """The rows of one shard.

    first_piece  int64[R + 1]: row j holds the pieces first_piece[j] to first_piece[j + 1] - 1
    start        int64[P]: first token of each piece, counted in the shard
    length       int32[P]: tokens of each piece, 2 to S + 1
    """

    sequence_length: int
    first_piece: Int64s
    start: Int64s
    length: Lengths

    @property
    def num_rows(self) -> int:
        return len(self.first_piece) - 1

    @property
    def num_tokens(self) -> int:
        """Tokens of all pieces; where two pieces share one, it counts twice."""
        return int(self.length.sum(dtype=np.int64))

    @property
    def num_targets(self) -> int:
        """Tokens that are predicted from one of their own piece."""
        return self.num_tokens - len(self.length)

    def pieces(self, row: int) -> tuple[Int64s, Lengths]:
        """(first tokens, lengths) of the pieces of a row, in their order in it. IndexError."""
        if not 0 <= row < self.num_rows:
            raise IndexError(f"row {row} of {self.num_rows}")
        those = slice(int(self.first_piece[row]), int(self.first_piece[row + 1]))
        return self.start[those], self.length[those]


def packing_path(prefix: StrPath, sequence_length: int) -> Path:
    """The packing of a shard for rows of this length."""
    return Path(f"{prefix}.packing-{sequence_length}")


def is_packing(path: StrPath) -> bool:
    """Whether the name is that of a packing."""
    stem, _, length = Path(path).name.rpartition(".packing-")
    return bool(stem) and length.isdecimal()


def packing_size_bytes(num_rows: int, num_pieces: int) -> int:
    """The size of the file."""
    return HEADER.size + 8 * (num_rows + 1) + 12 * num_pieces


def write_packing(path: StrPath, packing: Packing) -> None:
    """Write a packing, whole or not at all. Raises DiskFull, OSError."""
    head = HEADER.pack(MAGIC, packing.sequence_length, packing.num_rows, len(packing.start))
    starts, lengths = packing.start.astype("<i8"), packing.length.astype("<i4")
    parts = (packing.first_piece.astype("<i8").data, starts.data, lengths.data)
    write_atomic(path, head, *(part for part in parts if part.nbytes))


def open_packing(path: StrPath) -> Packing:
    """Map a packing into memory. Raises PackingError when header, size or ends are not those of one.

    Whether it fits its shard is for `misfits` to say, which reads all of it.
    """
    path = Path(path)
    try:
        with open(path, "rb") as stream:
            head = stream.read(HEADER.size)
            size_bytes = stream.seek(0, 2)
    except OSError as error:
        raise PackingError(f"the packing cannot be read: {error.strerror}", where=str(path)) from error
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        raise PackingError("this is no packing, or one of another version", where=str(path))
    _, sequence_length, num_rows, num_pieces = HEADER.unpack(head)
    wanted_bytes = packing_size_bytes(num_rows, num_pieces)
    if size_bytes != wanted_bytes:
        what = f"the packing has {size_bytes:,} bytes; its header says {wanted_bytes:,}"
        raise PackingError(what, where=str(path))
    # A plain array over the map, since each slice of a memmap costs microseconds.
    body = np.asarray(np.memmap(path, np.uint8, "r"))[HEADER.size :]
    ends = np.cumsum([8 * (num_rows + 1), 8 * num_pieces, 4 * num_pieces])
    packing = Packing(
        sequence_length,
        body[: ends[0]].view("<i8"),
        body[ends[0] : ends[1]].view("<i8"),
        body[ends[1] :].view("<i4"),
    )
    if packing.first_piece[0] != 0 or packing.first_piece[-1] != num_pieces:
        raise PackingError("the rows of the packing do not hold all of its pieces", where=str(path))
    return packing


def misfits(packing: Packing, offsets: Int64s) -> Iterator[str]:
    """What keeps a packing from being one of a shard whose documents begin and end at `offsets` int64[D + 1].

    The first finding alone, since the rest would follow from it. Memory: 40 bytes a piece.
    """
    first_piece = np.asarray(packing.first_piece)
    start, length = np.asarray(packing.start), packing.length.astype(np.int64)
    limit = packing.sequence_length + 1
    if (np.diff(first_piece) < 1).any():
        row = int(np.flatnonzero(np.diff(first_piece) < 1)[0])
        yield f"row {row:,} holds no piece"
        return
    if ((length < 2) | (length > limit)).any():
        piece = int(np.flatnonzero((length < 2) | (length > limit))[0])
        yield f"piece {piece:,} has {length[piece]:,} tokens; 2 to {limit:,} are possible"
        return
    filled = np.add.reduceat(length, first_piece[:-1]) if len(length) else length
    if (filled > limit).any():
        row = int(np.flatnonzero(filled > limit)[0])
        yield f"row {row:,} holds {filled[row]:,} tokens; it has room for {limit:,}"
        return
    yield from _uncovered(start, length, offsets)


def _uncovered(start: Int64s, length: Int64s, offsets: Int64s) -> Iterator[str]:
    """Whether the pieces, put in the order of the shard, go through each document from end to end."""
    order = np.argsort(start, kind="stable")
    start, length = start[order], length[order]
    end = start + length
    # The last start by itself: its end may be more than an int64 holds.
    if len(start) and (start[0] < 0 or start[-1] > offsets[-1] or end.max() > offsets[-1]):
        first_wrong = 0 if start[0] < 0 else -1 if start[-1] > offsets[-1] else int(end.argmax())
        piece = int(order[first_wrong])
        yield f"piece {piece:,} reaches beyond the shard, which has {int(offsets[-1]):,} tokens"
        return
    document = np.searchsorted(offsets, start, side="right") - 1
    opens = np.ones(len(start), dtype=bool)
    opens[1:] = document[1:] != document[:-1]
    wanted = np.where(opens, offsets[document], np.concatenate([start[:1], end[:-1] - 1]))
    wrong = start != wanted
    closes = np.ones(len(start), dtype=bool)
    closes[:-1] = opens[1:]
    wrong |= np.where(closes, end != offsets[document + 1], end > offsets[document + 1])
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        yield (
            f"piece {int(order[at]):,}, tokens {int(start[at]):,} to {int(end[at]):,}, does not go on where "
            f"the one before it in document {int(document[at]):,} ends, or not up to the next"
        )
        return
    with_targets = int(np.count_nonzero(np.diff(offsets) > 1))
    if int(opens.sum()) != with_targets:
        yield f"{int(opens.sum()):,} documents are packed; {with_targets:,} have targets"
