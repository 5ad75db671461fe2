"""A cheap look at the first records of a file: which fields there are, and what they hold.

What is inside objects and structs is listed by its path (`meta.license`).

For messages before a run starts ("no field `text`; it has content, url"). It reads at most a megabyte, judges
nothing and misses what comes later; the readers judge every record and report what cannot be read here.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.readers.decompress import DamagedFile, read_pieces
from dataprep.readers.encodings import UTF8, transcoded
from dataprep.readers.listing import InputFile
from dataprep.readers.values import is_text

MAX_RECORDS = 100

TEXT = "text"
NUMBER = "numbers"

_KINDS: dict[type, str] = {
    str: TEXT,
    int: NUMBER,
    float: NUMBER,
    bool: "true and false",
    list: "lists",
    dict: "objects",
    type(None): "nulls",
}


@dataclass(frozen=True, slots=True)
class Peek:
    """fields   name -> what it was seen to hold (`TEXT`, `NUMBER`, others for eyes only), in the file's order
    records  how many were looked at, None for all
    """

    fields: dict[str, tuple[str, ...]]
    records: int | None


def peek(file: InputFile, format: str, encoding: str = UTF8) -> Peek | None:
    """The fields of a file; None for a format without fields, and where nothing can be told."""
    look = _LOOKS.get(format)
    if look is None:
        return None
    try:
        return look(file, encoding)
    except (OSError, DamagedFile, ValueError, csv.Error, pa.ArrowException):
        return None  # the reader will say what is wrong with it, with its place


def _look_at_lines(file: InputFile, encoding: str) -> Peek | None:
    lines = _first_piece(file, encoding).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    fields: dict[str, dict[str, None]] = {}
    records = 0
    for line in itertools.islice(filter(bytes.strip, lines), MAX_RECORDS):
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            records += 1
            _list_kinds(record, "", fields)
    return Peek({name: tuple(kinds) for name, kinds in fields.items()}, records) if records else None


def _list_kinds(record: dict[str, Any], prefix: str, fields: dict[str, dict[str, None]]) -> None:
    """Add what a record, or an object inside one, holds to `fields`: path -> kinds."""
    for name, value in record.items():
        fields.setdefault(prefix + name, {})[_KINDS[type(value)]] = None
        if isinstance(value, dict):
            _list_kinds(value, f"{prefix}{name}.", fields)


def _look_at_header(file: InputFile, encoding: str) -> Peek | None:
    text = _first_piece(file, encoding).decode("utf-8-sig", "replace")
    header = next(filter(None, csv.reader(io.StringIO(text, newline=""))), None)
    return None if header is None else Peek(dict.fromkeys(header, (TEXT,)), None)


def _look_at_schema(file: InputFile, encoding: str) -> Peek | None:
    return Peek(dict(_kinds_in(pq.read_schema(file.path), "")), None)


def _kinds_in(fields: Iterable[pa.Field], prefix: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for field in fields:
        yield prefix + field.name, (_kind_of(field.type),)
        if pa.types.is_struct(field.type):
            yield from _kinds_in(field.type, f"{prefix}{field.name}.")


def _kind_of(kind: pa.DataType) -> str:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    if is_text(value):
        return TEXT
    return NUMBER if pa.types.is_integer(value) else str(kind)


_LOOKS: dict[str, Callable[[InputFile, str], Peek | None]] = {
    "jsonl": _look_at_lines,
    "csv": _look_at_header,
    "parquet": _look_at_schema,
}


def _first_piece(file: InputFile, encoding: str) -> bytes:
    """About a megabyte of the decompressed file, in UTF-8, ending where a line or the file does if it can."""
    pieces = itertools.islice(transcoded(read_pieces(file), encoding), 2)
    first = next(pieces, b"")
    is_whole = next(pieces, None) is None
    return first if is_whole else first[: first.rfind(b"\n") + 1]
