"""What readers take and leave: `ReadOptions` in; `Chunk`s of records, `BadRecord`s and `Damage`s out.

The failure budget over bad records and damaged files is judged by the conductor, not here. The readers are
listed in `dataprep.readers.READERS`; splits come from `dataprep.readers.splits`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.columns import Texts, concat, texts_to_arrow
from dataprep.kernels.texts import Offsets
from dataprep.readers.encodings import UTF8, character_set
from dataprep.readers.extents import Cut, Split, whole_file
from dataprep.readers.listing import InputFile

CHUNK_TEXT_BYTES = 3 << 20  # a chunk closes once about this much was read for it; one document may exceed it
RECORD_WEIGHT = 100  # bytes; what a record counts for apart from its text, so that tiny ones do not pile up
MAX_DOCUMENT_BYTES = 100 << 20
MISSING_TEXT = ("missing_text", "the text field is missing or null")  # reason and detail

RECORD_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),  # the record's own id, or null
        pa.field("text", pa.large_string(), nullable=False),  # valid UTF-8, perhaps empty
        pa.field("extent", pa.int32(), nullable=False),  # index into split.extents
        pa.field("position", pa.int64(), nullable=False),  # byte offset when decompressed, or row of the file
    ]
)
FIELD = "field:"
"""Before the name of a carried field, where records have a column of it."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a recipe says of a source's records.

    text, id            the fields (columns) of a document's text and own id; None: it has no id
    max_document_bytes  a longer record is refused (`too_long`) without being held in memory
    encoding            character set of the files, of formats that do not settle it themselves
    carry               fields whose values come along with each document, for steps that look at them
    sample              share of the documents that stages see; the readers give all of them
    members             the format of the files in archives; "auto": by the suffix, a file at a time

    What may stand for a field is in `dataprep.readers.fields`; `text` may be a template over several.
    """

    text: str = "text"
    id: str | None = None
    max_document_bytes: int = MAX_DOCUMENT_BYTES
    encoding: str = "utf-8"
    carry: tuple[str, ...] = ()
    sample: float = 1.0
    members: str = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "carry", tuple(self.carry))  # a list where the options come from JSON
        object.__setattr__(self, "encoding", character_set(self.encoding))

    def components(self) -> dict[str, Any]:
        """What of the options decides which records there are and what texts and ids they have.

        Carried fields decide nothing: a step that looks at some names them in its own components. Other
        encodings than UTF-8 are tables of the running Python.
        """
        components = {name: value for name, value in asdict(self).items() if name != "carry"}
        if self.encoding != UTF8:
            components["codecs"] = f"python {sys.version_info.major}.{sys.version_info.minor}"
        return components


def record_schema(options: ReadOptions) -> pa.Schema:
    """RECORD_SCHEMA and a column for each carried field, in the order of `carry`.

    A JSON string as it is, any other value as compact JSON text; null where there is none.
    """
    carried = [pa.field(FIELD + name, pa.string()) for name in options.carry]
    return pa.schema([*RECORD_SCHEMA, *carried])


@dataclass(frozen=True, slots=True)
class BadRecord:
    """One record that cannot become a document; the rest of its file is read on.

    position  byte offset in the decompressed file where the record starts, or its row
    line      1-based line number where it is known (the read began at byte 0), else None
    reason    a slug such as "not_json", "missing_text", "invalid_utf8", "too_long"
    """

    extent: int
    position: int
    line: int | None
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Damage:
    """A file whose rest cannot be read. At most one per extent; whole records before it are kept.

    position      byte offset in the decompressed file, or row, up to which records were used
    unread_bytes  bytes of the file (as stored) that were not used, where that is known
    """

    extent: int
    position: int
    unread_bytes: int | None
    reason: str
    detail: str


class BadDocument(Exception):
    """Why a record is no document; readers turn it into a BadRecord."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail[:200]  # a parser may quote what it saw


def in_encoding(bad: BadDocument, encoding: str) -> BadDocument:
    """What is wrong with a record, in terms of the encoding that its file was said to have."""
    if encoding == UTF8 or bad.reason != "invalid_utf8":
        return bad
    return BadDocument("invalid_encoding", f"bytes that are not {encoding}; as UTF-8: {bad.detail}")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some records (`record_schema`) of a split in reading order, and what went wrong on the way to them.

    counts  of what is no mistake but should not pass in silence, by slug: records that are no documents by
            their kind ("passed_over:request"), documents that could not be decoded to the last byte
    """

    records: pa.RecordBatch
    bad: tuple[BadRecord, ...] = ()
    damage: tuple[Damage, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


def empty_chunk(options: ReadOptions) -> Chunk:
    """No records, with the columns that records have."""
    return Chunk(pa.RecordBatch.from_pylist([], schema=record_schema(options)))


def fields_of(chunk: Chunk, options: ReadOptions) -> dict[str, pa.StringArray]:
    """Carried field -> its values [n]."""
    return {name: chunk.records.column(FIELD + name) for name in options.carry}


def cut_nowhere(file: InputFile, options: ReadOptions, split_bytes: int) -> list[Cut]:
    """One extent a file, however large: for formats that cannot be entered in the middle."""
    return [whole_file(file)]


@dataclass(frozen=True, slots=True)
class Reader:
    """One format. `version` and `depends` (versions of what the records rest on) belong into cache keys.

    read  (split, options) -> chunks; every extent of the split in order
    cut   (file, options, split_bytes) -> the extents of one file in order; UserError where the options name a
          field that the file can be seen to lack
    has_fields  records have named fields; if not, a document is a file and its id the file's name
    is_text     files are text in an encoding that the recipe may name
    """

    name: str
    version: int
    read: Callable[[Split, ReadOptions], Iterator[Chunk]]
    cut: Callable[[InputFile, ReadOptions, int], list[Cut]] = cut_nowhere
    depends: Callable[[], Mapping[str, str]] = dict
    has_fields: bool = True
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """Good records [n] of one extent."""

    texts: Texts
    ids: pa.Array
    extents: npt.NDArray[np.int32]
    positions: Offsets
    carried: Sequence[pa.Array]


class ChunkBuilder:
    """Collects what a reader finds and hands it out as chunks of about CHUNK_TEXT_BYTES."""

    def __init__(self, options: ReadOptions) -> None:
        self._schema = record_schema(options)
        self._num_carried = len(options.carry)
        self._clear()

    def _clear(self) -> None:
        self._parts: list[_Part] = []
        self._single: list[tuple[bytes, str | None, int, int, Sequence[str | None]]] = []
        self._bad: list[BadRecord] = []
        self._damage: list[Damage] = []
        self._counts: dict[str, int] = {}
        self._weight = 0

    def add(
        self,
        extent: int,
        texts: Texts,
        ids: pa.Array | None,
        positions: Offsets,
        weight_bytes: int,
        carried: Sequence[pa.Array] = (),
    ) -> None:
        """Good records [n] of one extent, for which `weight_bytes` were read; None for `ids` means all null.
        `carried`: one string array [n] a carried field, in their order."""
        if len(texts) == 0:
            return
        self._seal()
        ids = pa.nulls(len(texts), pa.string()) if ids is None else ids
        self._parts.append(_Part(texts, ids, np.full(len(texts), extent, dtype=np.int32), positions, carried))
        self._weight += weight_bytes

    def add_one(
        self, extent: int, text: str, own_id: str | None, position: int, carried: Sequence[str | None] = ()
    ) -> None:
        """One good record; the text must encode to UTF-8."""
        self._single.append((text.encode(), own_id, extent, position, carried))
        self._weight += len(text) + RECORD_WEIGHT + sum(len(value) for value in carried if value)

    def refuse(self, bad: BadRecord) -> None:
        self._bad.append(bad)
        self._weight += RECORD_WEIGHT

    def damaged(self, damage: Damage) -> None:
        self._damage.append(damage)

    def count(self, slug: str, number: int = 1) -> None:
        """See `Chunk.counts`."""
        self._counts[slug] = self._counts.get(slug, 0) + number

    @property
    def is_full(self) -> bool:
        return self._weight >= CHUNK_TEXT_BYTES

    @property
    def is_empty(self) -> bool:
        return not (self._parts or self._single or self._bad or self._damage or self._counts)

    def take(self) -> Chunk:
        """What was collected, as one chunk; the builder is empty afterwards."""
        self._seal()
        part = self._parts[0] if len(self._parts) == 1 else self._joined()  # of one, nothing is copied
        columns = [part.ids, texts_to_arrow(part.texts), pa.array(part.extents), pa.array(part.positions)]
        records = pa.RecordBatch.from_arrays([*columns, *part.carried], schema=self._schema)
        chunk = Chunk(records, tuple(self._bad), tuple(self._damage), self._counts)
        self._clear()
        return chunk

    def _joined(self) -> _Part:
        parts, none = self._parts, pa.nulls(0, pa.string())
        return _Part(
            concat([part.texts for part in parts]),
            pa.concat_arrays([none, *(part.ids for part in parts)]),
            np.concatenate([np.zeros(0, dtype=np.int32), *(part.extents for part in parts)]),
            np.concatenate([np.zeros(0, dtype=np.int64), *(part.positions for part in parts)]),
            [
                pa.concat_arrays([none, *(part.carried[at] for part in parts)])
                for at in range(self._num_carried)
            ],
        )

    def _seal(self) -> None:
        """Make a part of the records that came one by one."""
        if self._single:
            texts, ids, extents, positions, carried = zip(*self._single, strict=True)
            self._parts.append(
                _Part(
                    Texts.from_bytes(texts),
                    pa.array(ids, pa.string()),
                    np.array(extents, dtype=np.int32),
                    np.array(positions, dtype=np.int64),
                    [pa.array(values, pa.string()) for values in zip(*carried, strict=True)],
                )
            )
            self._single = []
