"""A buffer over decompressed pieces that one can look into before taking from it, for formats that frame
themselves (WARC, ARC, tar).

Damage ends the stream as the end of the file does, so that what is whole before it can still be taken;
`damage` then says what is wrong. What the bytes mean is for the readers that call this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dataprep.readers.decompress import DamagedFile

_STEP_BYTES = 1 << 16  # how much further a search looks at a time


class Stream:
    """`position` is the offset of the next byte in the decompressed file."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.position = 0
        self.damage: DamagedFile | None = None
        self._pieces = iter(pieces)
        self._has_ended = False
        self._buffer = b""
        self._at = 0  # of the next byte in the buffer

    def ensure(self, count: int) -> int:
        """Bytes that are ready to be taken: at least `count`, unless the stream ends before."""
        ready = len(self._buffer) - self._at
        if ready >= count or self._has_ended:
            return ready
        parts = [self._buffer[self._at :]]
        while ready < count and (piece := self._next()):
            parts.append(piece)
            ready += len(piece)
        self._buffer, self._at = b"".join(parts), 0
        return ready

    def peek(self, count: int) -> bytes:
        """The next bytes, fewer than `count` only at the end; they stay."""
        self.ensure(count)
        return self._buffer[self._at : self._at + count]

    def take(self, count: int) -> bytes:
        """The next bytes, fewer than `count` only at the end."""
        taken = self.peek(count)
        self._move(len(taken))
        return taken

    def skip(self, count: int) -> int:
        """Pass over bytes without holding them; returns how many there were."""
        skipped = 0
        while skipped < count and (ready := self.ensure(1)):
            step = min(ready, count - skipped)
            self._move(step)
            skipped += step
        return skipped

    def pieces(self, count: int) -> Iterator[bytes]:
        """The next `count` bytes in pieces, fewer only at the end."""
        while count > 0 and (ready := self.ensure(1)):
            piece = self.take(min(ready, count))
            count -= len(piece)
            yield piece

    def find(self, marker: bytes, limit: int) -> int | None:
        """How many bytes lie before `marker`, if it lies within the next `limit` bytes as a whole."""
        known = 0
        while True:
            ready = min(self.ensure(min(known + _STEP_BYTES, limit)), limit)
            start = self._at + max(0, known - len(marker) + 1)
            found = self._buffer.find(marker, start, self._at + ready)
            if found >= 0:
                return found - self._at
            if ready <= known or ready == limit:
                return None
            known = ready

    def skip_to(self, marker: bytes) -> int:
        """Pass over bytes up to the next `marker`, or to the end; returns how many there were."""
        skipped = 0
        while (before := self.find(marker, _STEP_BYTES)) is None:
            ready = min(self.ensure(_STEP_BYTES), _STEP_BYTES)
            if ready < _STEP_BYTES:
                return skipped + self.skip(ready)
            skipped += self.skip(ready - len(marker) + 1)  # its head may be the last of them
        return skipped + self.skip(before)

    def _move(self, count: int) -> None:
        self._at += count
        self.position += count

    def _next(self) -> bytes:
        """The next piece that is not empty, or b"" at the end."""
        try:
            for piece in self._pieces:
                if piece:
                    return piece
        except DamagedFile as damage:
            self.damage = damage
        self._has_ended = True
        return b""
