"""A stream of bytes to blocks of whole lines, in bounded memory; only "\\n" ends a line.

A line belongs to the byte range that holds its first byte: a range that starts inside a line skips to the
next one, and reads past its own end to finish its last. What a line means is for the readers that call this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dataprep.readers.decompress import PIECE_BYTES, DamagedFile, read_pieces, read_range
from dataprep.readers.encodings import UTF8, transcoded
from dataprep.readers.extents import Extent

BLOCK_BYTES = 4 << 20  # measured: smaller ones read slower, larger ones no faster


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines with their newlines (the last of a file may lack it).

    offset  of `data` in the decompressed file
    """

    offset: int
    data: bytes | memoryview


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line of more than the allowed bytes that starts at `offset`; its bytes are gone."""

    offset: int


def read_lines(
    extent: Extent, max_line_bytes: int, block_bytes: int = BLOCK_BYTES, encoding: str = UTF8
) -> Iterator[LineBlock | LongLine]:
    """The lines that start in an extent, in order. Raises DamagedFile after the last whole line before
    damage.

    Lines up to `max_line_bytes` (newline excluded) surely come in blocks; of longer ones those that do not
    fit a block come as LongLine, so that no more than about `max_line_bytes` + PIECE_BYTES is ever held.

    In another encoding lines are framed after decoding, and offsets are those in UTF-8; an extent must be a
    whole file then.
    """
    file = extent.file
    if extent.is_whole:
        return frame(transcoded(read_pieces(file), encoding), (), 0, max_line_bytes, block_bytes)
    assert encoding == UTF8
    if extent.start >= extent.end:
        return iter(())
    # Two stretches: a newline before the range's last byte starts a line of the range; from that byte on, the
    # first newline ends the range's last line. A range that starts at byte s looks for a newline at s - 1.
    first, last = max(extent.start - 1, 0), extent.end - 1
    inside = read_range(file, first, last)
    tail = read_range(file, last, file.size_bytes, PIECE_BYTES // 16)
    return frame(inside, tail, extent.start, max_line_bytes, block_bytes)


def frame(
    inside: Iterable[bytes], tail: Iterable[bytes], start: int, max_line_bytes: int, block_bytes: int
) -> Iterator[LineBlock | LongLine]:
    """Frame the lines of `inside`; its last line goes on in `tail` up to the first newline there.

    The bytes of `inside` start at `start`, or one byte before it where `start` is above 0: then the bytes up
    to the first newline are not ours.
    """
    parts: list[bytes] = []  # bytes from `offset`, the start of a line, on
    offset, held, whole = max(start - 1, 0), 0, 0  # `whole` of the `held` bytes are whole lines
    skipping = start > 0  # inside a line that is not ours, or too long
    try:
        for in_tail, piece in _marked(inside, tail):
            if skipping:
                if in_tail:
                    return  # no further line starts in this range
                if (newline := piece.find(b"\n")) < 0:
                    offset += len(piece)
                    continue
                skipping = False
                offset += newline + 1
                piece = piece[newline + 1 :]
            if in_tail and (newline := piece.find(b"\n")) >= 0:
                parts.append(piece[: newline + 1])
                break
            if not in_tail and (newline := piece.rfind(b"\n")) >= 0:
                whole = held + newline + 1
            parts.append(piece)
            held += len(piece)
            if whole and held >= block_bytes:
                block = memoryview(b"".join(parts))
                yield LineBlock(offset, block[:whole])
                parts = [bytes(block[whole:])]
                offset, held, whole = offset + whole, held - whole, 0
            if not whole and held > max_line_bytes:
                yield LongLine(offset)
                offset, held, parts, skipping = offset + held, 0, [], True
    except DamagedFile as damage:
        if whole:
            yield LineBlock(offset, b"".join(parts)[:whole])
        raise DamagedFile(damage.reason, damage.detail, damage.unread_bytes, offset + whole) from damage
    if data := b"".join(parts):
        yield LineBlock(offset, data)


def _marked(inside: Iterable[bytes], tail: Iterable[bytes]) -> Iterator[tuple[bool, bytes]]:
    for piece in inside:
        yield False, piece
    for piece in tail:
        yield True, piece
