"""The members of a tar, streamed through its compression: of a cut archive those before the cut are there.

Headers are parsed by the standard library but walked here, because its own walk takes a broken header for
the end of the archive and says nothing.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import NoReturn

from dataprep.readers.decompress import DamagedFile, compression, read_pieces
from dataprep.readers.listing import InputFile
from dataprep.readers.members import Member, clean_name
from dataprep.readers.streams import Stream

BLOCK_BYTES = 512
MAX_EXTENDED_BYTES = 1 << 20  # of the records before a header that hold its long name and attributes
_EXTENDED = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_INSIDE = "the archive stops inside "


def tar_members(file: InputFile) -> Iterator[Member]:
    """Every member in order. Raises DamagedFile at the end, where the archive cannot be read on."""
    return _Walk(file).members()


class _Walk:
    def __init__(self, file: InputFile) -> None:
        self._stream = Stream(read_pieces(file))
        self._size_bytes = file.size_bytes if compression(file) == "plain" else None

    def members(self) -> Iterator[Member]:
        stream = self._stream
        common: dict[str, str] = {}  # attributes of all members from here on
        own: dict[str, str] = {}  # of the next one
        has_ended = False
        while block := self._block(own):
            start = stream.position - BLOCK_BYTES
            if not block.strip(b"\0"):
                has_ended = True  # as far as the format goes; another archive may stand behind this one
                continue
            try:
                header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            except tarfile.HeaderError as error:
                self._stop(start, "trailing_garbage" if has_ended else "corrupt", f"tar: {error}")
            if header.type in _EXTENDED:
                content = self._extended(header.size, start)
                if header.type == tarfile.XGLTYPE:
                    common |= _attributes(content)
                elif header.type == tarfile.XHDTYPE:
                    own |= _attributes(content)
                elif header.type == tarfile.GNUTYPE_LONGNAME:
                    own["path"] = content.rstrip(b"\0").decode("utf-8", "replace")
                continue
            yield from self._member(header, block, {**common, **own})
            own = {}

    def _block(self, own: dict[str, str]) -> bytes:
        """The next header or block of zeros, or b"" at the end of the file."""
        start = self._stream.position
        block = self._stream.take(BLOCK_BYTES)
        if len(block) == BLOCK_BYTES:
            return block
        if block.strip(b"\0") or own or start == 0 or self._stream.damage:
            self._stop(start, "truncated", f"{_INSIDE}a header")
        return b""

    def _member(self, header: tarfile.TarInfo, block: bytes, attributes: dict[str, str]) -> Iterator[Member]:
        stream = self._stream
        problem = None
        if header.type == tarfile.GNUTYPE_SPARSE or any(name.startswith("GNU.sparse") for name in attributes):
            problem = ("unsupported_member", "a sparse file")
            has_more = header.type == tarfile.GNUTYPE_SPARSE and block[482]
            while has_more and len(map_block := stream.take(BLOCK_BYTES)) == BLOCK_BYTES:
                has_more = map_block[504]
        size = 0
        if header.isreg() or header.type not in tarfile.SUPPORTED_TYPES:
            size = int(attributes["size"]) if attributes.get("size", "").isdigit() else header.size
        name = attributes.get("path") or clean_name(header.name)
        position = stream.position
        yield Member(name, size, position, self._pieces(size, position), _kind(header), problem)
        end = position + size + (-size % BLOCK_BYTES)
        stream.skip(end - stream.position)
        if stream.position < end:
            self._stop(position, "truncated", f"{_INSIDE}a member, or before the next one")

    def _pieces(self, size: int, position: int) -> Iterator[bytes]:
        yield from self._stream.pieces(size)
        if self._stream.position < position + size:
            self._stop(position, "truncated", f"{_INSIDE}a member")

    def _extended(self, size: int, start: int) -> bytes:
        if size > MAX_EXTENDED_BYTES:
            self._stop(start, "corrupt", f"tar: a name or attributes of {size:,} bytes")
        padded = size + (-size % BLOCK_BYTES)
        content = self._stream.take(padded)
        if len(content) < padded:
            self._stop(start, "truncated", f"{_INSIDE}a header")
        return content[:size]

    def _stop(self, position: int, reason: str, detail: str) -> NoReturn:
        """What is wrong with the archive, from `position` on; a damaged compression explains all else."""
        damage = self._stream.damage
        if damage:
            raise DamagedFile(damage.reason, damage.detail, damage.unread_bytes, position)
        unread_bytes = None if self._size_bytes is None else self._size_bytes - position
        raise DamagedFile(reason, detail, unread_bytes, position)


def _attributes(content: bytes) -> dict[str, str]:
    """POSIX's extended attributes: lines of length, name and value, as far as they are well-formed."""
    found: dict[str, str] = {}
    at = 0
    while (space := content.find(b" ", at, at + 12)) > 0 and content[at:space].isdigit():
        end = at + int(content[at:space])
        if not space < end <= len(content):
            break
        name, _, value = content[space + 1 : end].removesuffix(b"\n").partition(b"=")
        found[name.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        at = end
    return found


def _kind(header: tarfile.TarInfo) -> str:
    if header.isdir():
        return "folder"
    if header.issym() or header.islnk():
        return "link"
    return "device" if header.isdev() else "file"
