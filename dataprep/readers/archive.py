"""Archives (tar, in any compression, and zip) as inputs: their members are read as files are.

Each member is read by the format that its suffix stands for, or by the one that the recipe names; compressed
members are decompressed. Nothing is unpacked to disk: members are streamed, one after the other, and a split
is whole archives.

extent    the archive
position  where the content of the member lies in the decompressed tar (in a zip: after the contents of all
          members before), plus the place in the member; moved on where compressed members need more room
id        of a format without fields, the member's name

A member that is no regular file, whose name or folder starts with a dot, or whose suffix stands for no
format is passed over and counted. Bad records: what is one in a member; a member that is encrypted, cannot be
read to its end, or is an archive itself (`nested_archive`); Parquet, which cannot be streamed
(`unsupported_member`). An archive that cannot be read on is Damage, and what stands before is kept.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import pyarrow as pa

from dataprep.columns import texts_from_arrow
from dataprep.readers.decompress import MAGIC_BYTES, DamagedFile, expand
from dataprep.readers.encodings import UTF8
from dataprep.readers.extents import Extent, Split
from dataprep.readers.formats import NOT_STREAMED, format_of
from dataprep.readers.listing import InputFile, StreamedFile
from dataprep.readers.members import Member
from dataprep.readers.records import (
    FIELD,
    RECORD_WEIGHT,
    BadRecord,
    Chunk,
    ChunkBuilder,
    Damage,
    ReadOptions,
)
from dataprep.readers.streams import Stream
from dataprep.readers.tar_members import tar_members
from dataprep.readers.zip_members import zip_members

VERSION = 1
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """The records of all members of all extents in order."""
    builder = ChunkBuilder(options)
    for index, extent in enumerate(split.extents):
        for _ in _Archive(builder, index, split.source, extent.file, options).read():
            if builder.is_full:
                yield builder.take()
    if not builder.is_empty:
        yield builder.take()


def depends() -> dict[str, str]:
    """Versions of all that members may need, where it is there; who reads a member asks again."""
    found = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for package in ("brotli", "resiliparse"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


class _Archive:
    """One archive, put into `builder` as its extent `index`."""

    def __init__(
        self, builder: ChunkBuilder, index: int, source: str, file: InputFile, options: ReadOptions
    ) -> None:
        self._builder, self._index, self._source = builder, index, source
        self._file, self._options = file, options
        self._start = 0  # position of the first byte of the member being read
        self._end = 0  # the first position that no record so far has
        self._checked: set[str] = set()

    def read(self) -> Iterator[None]:
        """Yields now and then, for the caller to look at the builder."""
        unread: BadRecord | None = None  # of the member before, which could not be read to its end
        try:
            for member in _members(self._file):
                if unread:
                    self._builder.refuse(unread)
                unread = None
                self._start = max(member.position, self._end)
                for chunk in self._chunks(member):
                    unread = self._put(chunk, member)
                    yield
                self._end = max(self._end, self._start + member.size_bytes)
            if unread:
                self._builder.refuse(unread)
        except DamagedFile as error:  # where a member met it too, once is enough
            position, unread_bytes = error.position, error.unread_bytes
            if unread and unread_bytes is not None and position + unread_bytes == self._file.size_bytes:
                unread_bytes -= unread.position - position  # positions of a plain tar are those of its bytes
            position = unread.position if unread else position
            damage = Damage(self._index, position, unread_bytes, error.reason, error.detail)
            self._builder.damaged(damage)

    def _chunks(self, member: Member) -> Iterator[Chunk]:
        from dataprep.readers import READERS  # lists this module

        name = member.name.removeprefix("./")
        is_archive = format_of(name) == "archive"
        format = format_of(name) if self._options.members == "auto" else self._options.members
        if member.kind != "file":
            self._builder.count(f"passed_over:{member.kind}")
        elif any(part.startswith(".") and part not in (".", "..") for part in name.split("/")):
            self._builder.count("passed_over:hidden_file")
        elif format is None and not is_archive:
            self._builder.count("passed_over:unknown_suffix")
        elif problem := _problem(member, format, is_archive):
            reason, detail = problem
            refused = BadRecord(self._index, self._start, None, reason, f"{member.name}: {detail}")
            self._builder.refuse(refused)
        else:
            assert format is not None
            path = f"{self._file.path}!{name}"
            file = StreamedFile(path, name, member.size_bytes, 0, self._content(member))
            reader, options = READERS[format], self._options
            if format not in self._checked:
                reader.depends()  # raises UserError where a package is missing
                self._checked.add(format)
            if not reader.has_fields:
                options = replace(options, id=None, carry=())
            if not reader.is_text:
                options = replace(options, encoding=UTF8)
            split = Split(self._source, format, (Extent(file, 0, member.size_bytes),))
            yield from reader.read(split, options)

    def _content(self, member: Member) -> Iterator[bytes]:
        """The decompressed content, its positions reserved."""
        stream = Stream(member.pieces)
        head = stream.peek(MAGIC_BYTES)
        if stream.damage:
            raise stream.damage
        position = self._start
        for piece in expand(_File(stream), member.size_bytes, member.name, head):
            position += len(piece)
            self._end = max(self._end, position)
            yield piece

    def _put(self, chunk: Chunk, member: Member) -> BadRecord | None:
        """Add the records of a part of a member; returns what is wrong with the rest of it."""
        records, start = chunk.records, self._start
        texts = texts_from_arrow(records.column("text"))
        positions = records.column("position").to_numpy() + start
        weight = texts.num_bytes + RECORD_WEIGHT * len(texts)
        nothing = pa.nulls(len(texts), pa.string())  # of a member whose format has no fields
        names = [FIELD + name for name in self._options.carry]
        carried = [records.column(name) if name in records.schema.names else nothing for name in names]
        self._builder.add(self._index, texts, records.column("id"), positions, weight, carried)
        for bad in chunk.bad:
            detail, position = f"{member.name}: {bad.detail}", start + bad.position
            self._builder.refuse(replace(bad, extent=self._index, position=position, detail=detail))
        for slug, number in chunk.counts.items():
            self._builder.count(slug, number)
        for damage in chunk.damage:
            detail = f"{member.name}: {damage.detail}; the rest of the member was not read"
            return BadRecord(self._index, start + damage.position, None, damage.reason, detail)
        return None


def _members(file: InputFile) -> Iterator[Member]:
    with open(file.path, "rb") as stored:
        is_zip = stored.read(MAGIC_BYTES).startswith(_ZIP_STARTS)
    return zip_members(file) if is_zip or file.name.lower().endswith(".zip") else tar_members(file)


def _problem(member: Member, format: str | None, is_archive: bool) -> tuple[str, str] | None:
    """Why a file cannot be read, reason and detail."""
    if member.problem:
        return member.problem
    if is_archive:
        return "nested_archive", "an archive inside an archive; unpack the outer one"
    if format in NOT_STREAMED:
        return "unsupported_member", f"{format} cannot be read from inside an archive; unpack it"
    return None


class _File:
    """A stream with as much of a file's interface as `expand` needs: reading, and moving on."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def read(self, count: int) -> bytes:
        data = self._stream.take(count)
        if not data and self._stream.damage:
            raise self._stream.damage
        return data

    def seek(self, offset: int, whence: int) -> int:
        assert whence == 1
        self._stream.skip(offset)
        return self._stream.position

    def tell(self) -> int:
        return self._stream.position
