"""What the readers' tests share: reading everything at once, and files from bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from dataprep.readers import READERS, BadRecord, Chunk, Damage, Extent, InputFile, ReadOptions, Split
from dataprep.readers.records import fields_of, record_schema
from dataprep.readers.splits import make_splits

IDS = ReadOptions(id="id")


@dataclass
class Found:
    """All that was read: documents (position, id, text), their carried fields, bad records, damage."""

    documents: list[tuple[int, str | None, str]] = field(default_factory=list)
    carried: list[tuple[str | None, ...]] = field(default_factory=list)
    extents: list[int] = field(default_factory=list)
    bad: list[BadRecord] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [text for _, _, text in self.documents]

    @property
    def reasons(self) -> list[str]:
        return [bad.reason for bad in self.bad]

    @property
    def damages(self) -> list[str]:
        return [damage.reason for damage in self.damage]


def collect(chunks: Iterable[Chunk], options: ReadOptions) -> Found:
    """Check every chunk and put them together."""
    found = Found()
    for chunk in chunks:
        assert isinstance(chunk.records, pa.RecordBatch)
        assert chunk.records.schema.equals(record_schema(options))
        chunk.records.validate(full=True)  # among other things, that texts are UTF-8
        rows = chunk.records.to_pydict()
        assert None not in rows["text"]
        found.documents += zip(rows["position"], rows["id"], rows["text"], strict=True)
        columns = [column.to_pylist() for column in fields_of(chunk, options).values()]
        found.carried += zip(*columns, strict=True) if columns else []
        found.extents += rows["extent"]
        found.bad += chunk.bad
        found.damage += chunk.damage
    return found


def input_file(path: Path, name: str | None = None) -> InputFile:
    status = os.stat(path)
    return InputFile(str(path), name or path.name, status.st_size, status.st_mtime_ns)


def read_extents(format: str, extents: Sequence[Extent], options: ReadOptions = IDS) -> Found:
    return collect(READERS[format].read(Split("source", format, tuple(extents)), options), options)


def read_file(format: str, path: Path, options: ReadOptions | None = None) -> Found:
    """A file as the planner would cut it; by default with the field "id", where the format has fields."""
    if options is None:
        options = IDS if READERS[format].has_fields else ReadOptions()
    splits = make_splits("source", format, [input_file(path)], options)
    return collect((chunk for split in splits for chunk in READERS[format].read(split, options)), options)


def read_ranges(format: str, path: Path, size: int, options: ReadOptions = IDS) -> Found:
    """A plain file in byte ranges of `size`, a split each."""
    file = input_file(path)
    starts = range(0, file.size_bytes, size)
    extents = [Extent(file, start, min(start + size, file.size_bytes)) for start in starts]
    splits = [Split("source", format, (extent,)) for extent in extents]
    return collect((chunk for split in splits for chunk in READERS[format].read(split, options)), options)
