"""The long lists of a manifest, kept as Parquet beside it: its shards, their packings, its input files.

150,000 shards at 15 T tokens, and as many inputs, do not belong in a JSON file. The manifest holds a digest
of each list, so a change in a list shows as much as a change in the manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from manifests.fields import (
    Count,
    Digest,
    Key,
    Name,
    Record,
    RelativePath,
    Sha256,
    SubsetName,
    describe_errors,
)
from manifests.tables import TableError, read_table, write_table

if TYPE_CHECKING:
    import pyarrow as pa

StrPath = str | PathLike[str]
R = TypeVar("R", bound=Record)


class Shard(Record):
    """One shard of a corpus: which documents it holds, and digests of its four files."""

    source: Name
    subset: SubsetName
    index: Count
    """Position among the shards of this source and subset, from 0."""
    name: RelativePath
    """Path of the shard's files without their suffixes, relative to the manifest's folder."""
    documents: Count
    tokens: Count
    text_bytes: Count
    """UTF-8 bytes of the texts that were tokenized."""
    max_token_id: Count
    """0 for an empty shard."""
    bin_bytes: Count
    idx_bytes: Count
    bin_sha256: Sha256
    idx_sha256: Sha256
    table_sha256: Sha256
    """Of the document table."""
    blocks_sha256: Sha256
    """Of the file of block digests."""
    first_key: Key
    """Shuffle key of the first document; empty for an empty shard."""


class ShardPacking(Record):
    """The packing of one shard for rows of one length; see `packing.py`."""

    shard: RelativePath
    """Name of the shard."""
    rows: Count
    pieces: Count
    tokens: Count
    """Of all pieces."""
    targets: Count
    documents_cut: Count
    """Documents of more tokens than a row has room for."""
    documents_left_out: Count
    """Documents of one token, which is no target."""
    documents_cut_by_concat: Count
    """For comparison: documents that consecutive rows would cut, laid from the first token of the shard."""
    file_bytes: Count
    file_sha256: Sha256


class InputFile(Record):
    """One file that a corpus was made from."""

    source: Name
    name: str
    """Relative to the base of the source's path."""
    size_bytes: Count
    digest: Digest


def write_shard_list(path: StrPath, shards: Sequence[Shard]) -> None:
    """Write the list of shards, in the given order."""
    _write_records(path, shards, Shard)


def read_shard_list(path: StrPath) -> list[Shard]:
    """Read the list of shards, every row checked. Raises TableError."""
    return _read_records(path, Shard)


def write_packing_list(path: StrPath, packings: Sequence[ShardPacking]) -> None:
    """Write the list of packings for one length of row, in the given order."""
    _write_records(path, packings, ShardPacking)


def read_packing_list(path: StrPath) -> list[ShardPacking]:
    """Read the list of packings for one length of row, every row checked. Raises TableError."""
    return _read_records(path, ShardPacking)


def write_input_list(path: StrPath, inputs: Sequence[InputFile]) -> None:
    """Write the list of input files, in the given order."""
    _write_records(path, inputs, InputFile)


def read_input_list(path: StrPath) -> list[InputFile]:
    """Read the list of input files, every row checked. Raises TableError."""
    return _read_records(path, InputFile)


def _schema(model: type[Record]) -> pa.Schema:
    import pyarrow as pa

    types = {int: pa.int64(), str: pa.string()}
    return pa.schema(
        [
            pa.field(name, types[field.annotation], nullable=False)  # type: ignore[index]
            for name, field in model.model_fields.items()
        ]
    )


def _write_records(path: StrPath, records: Sequence[Record], model: type[Record]) -> None:
    import pyarrow as pa

    schema = _schema(model)
    columns = {
        name: pa.array([getattr(record, name) for record in records], schema.field(name).type)
        for name in schema.names
    }
    write_table(path, pa.table(columns, schema=schema), schema)


def _read_records(path: StrPath, model: type[R]) -> list[R]:
    records = []
    try:
        rows = read_table(path, _schema(model)).to_pylist()
    except UnicodeDecodeError as error:
        raise TableError(f"a text in the file is damaged: {error}", where=str(path)) from error
    for row, values in enumerate(rows):
        try:
            records.append(model.model_validate(values))
        except ValidationError as error:
            raise TableError(f"row {row} is not valid:\n{describe_errors(error)}", where=str(path)) from error
    return records
