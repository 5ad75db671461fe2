"""Reading evaluation sets: JSONL, JSON, CSV or Parquet, gzip or zstd, as examples with a question and an
answer, and what names their content.

`digest` is that of the file's bytes, which is what a trainer can check without knowing fields; two files of
the same rows have different ones. Examples are read whole into memory: 100,000 take some 100 MB.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from pydantic import BaseModel, ConfigDict, Field

from dataprep.evals.fields import Example, FieldMap, example_of
from dataprep.evals.known import KNOWN, known_map, known_maps
from manifests.errors import UserError
from manifests.fingerprint import digest_file

Action = Literal["report", "drop", "cut"]
FORMATS = ("jsonl", "json", "csv", "parquet")


class EvalSpec(BaseModel):
    """One entry of `evals:`: files, and what is said of them.

    path    a file or a pattern; each file is a set, named by its file name without endings
    name    names the set instead; only for a path of one file
    fields  where its fields are; without it the ready-made map of a well-known set
    action  what becomes of documents that hold examples of it; without it that of the step
    share   the share that makes an example contaminated; without it that of the step
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    path: Annotated[str, Field(min_length=1)]
    name: Annotated[str, Field(min_length=1)] | None = None
    fields: FieldMap | None = None
    action: Action | None = None
    share: Annotated[float, Field(gt=0, le=1)] | None = None


@dataclass(frozen=True, slots=True)
class EvalFile:
    """A file that a spec names."""

    name: str
    path: str
    fields: FieldMap | None = None
    action: Action | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class EvalSet:
    """The examples of one file."""

    name: str
    digest: str
    fields: FieldMap
    examples: Sequence[Example]


def eval_files(specs: Sequence[EvalSpec | str], where: str | None = None) -> list[EvalFile]:
    """The files of specs, sorted within each pattern. Raises UserError where a spec names none, and where
    two have one name."""
    files: list[EvalFile] = []
    for each in specs:
        spec = EvalSpec(path=each) if isinstance(each, str) else each
        paths = sorted(glob.glob(spec.path, recursive=True)) or [spec.path]
        if not os.path.isfile(paths[0]):
            hint = "paths count from the current folder, as on any command line"
            raise UserError(f"no evaluation set at {spec.path}", where=where, hint=hint)
        if spec.name is not None and len(paths) > 1:
            raise UserError(f'{len(paths)} files would all be named "{spec.name}"', where=where)
        files.extend(
            EvalFile(spec.name or set_name(path), path, spec.fields, spec.action, spec.share)
            for path in paths
        )
    names = [file.name for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        hint = "give one of them a `name:`"
        raise UserError(f'two evaluation sets are named "{twice}"', where=where, hint=hint)
    return files


def set_name(path: str) -> str:
    """The name of a set: its file's name up to the first ending that says its format."""
    return _endings(path)[0]


def _endings(path: str) -> tuple[str, str, str]:
    """(name, format, compression) of a file name; the last two may be ""."""
    name, compression = os.path.basename(path), ""
    for ending in ("gz", "zst"):
        if name.lower().endswith(f".{ending}"):
            name, compression = name[: -len(ending) - 1], ending
    stem, _, ending = name.rpartition(".")
    format = {"ndjson": "jsonl"}.get(ending.lower(), ending.lower())
    return (stem, format, compression) if stem and format in FORMATS else (name, "", compression)


def read_set(file: EvalFile) -> EvalSet:
    """Read a file. Raises UserError where it cannot be read, or its fields are not known."""
    examples: list[Example] = []
    fields = file.fields
    for number, row in enumerate(_rows(file.path)):
        if not isinstance(row, dict):
            raise UserError("an example is not an object with fields", where=f"{file.path}, row {number}")
        if number == 0:
            fields = _fields_of(file, row)
        assert fields is not None
        examples.append(example_of(row, fields, number))
    if fields is None:
        fields = next(iter(known_maps(file.name)), FieldMap(question=("question",)))
    return EvalSet(file.name, digest_file(file.path).digest, fields, examples)


def check_set(file: EvalFile) -> None:
    """Look at the first example of a file. Raises UserError where `read_set` would for its sake."""
    for row in _rows(file.path):
        if not isinstance(row, dict):
            raise UserError("an example is not an object with fields", where=f"{file.path}, row 0")
        _fields_of(file, row)
        return


def _fields_of(file: EvalFile, row: Mapping[str, Any]) -> FieldMap:
    """Where the fields of a file are, by its first row."""
    fields = file.fields or known_map(file.name, row)
    if fields is None:
        raise _unknown(file, list(row))
    if not fields.fits(row):
        missing = [name for name in fields.tested if name.partition(".")[0] not in row]
        raise UserError(f"no field {', '.join(missing)} (there are: {', '.join(row)})", where=file.path)
    return fields


def _unknown(file: EvalFile, names: list[str]) -> UserError:
    found = f"(there are: {', '.join(names)})"
    hint = f"give `fields: {{question: ..., answer: ...}}`; sets with a ready-made map: {', '.join(KNOWN)}"
    if known_maps(file.name):
        return UserError(f"the ready-made maps of {file.name} do not fit {found}", where=file.path, hint=hint)
    return UserError(f"{file.name} is no well-known set {found}", where=file.path, hint=hint)


def _rows(path: str) -> Iterator[Any]:
    _, format, compression = _endings(path)
    if not format:
        raise UserError(
            f"the name of an evaluation set ends with one of: {', '.join(FORMATS)} (or with .gz or .zst)",
            where=path,
        )
    try:
        if format == "parquet":
            # In this thread, as in manifests/tables.py.
            for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(use_threads=False):
                yield from batch.to_pylist()
            return
        with open(path, "rb") as raw:
            opened: Any = raw
            if compression == "gz":
                opened = gzip.GzipFile(fileobj=raw)
            elif compression == "zst":
                opened = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            text = io.TextIOWrapper(opened, encoding="utf-8-sig", newline="" if format == "csv" else "\n")
            if format == "csv":
                yield from csv.DictReader(text)
            elif format == "json":
                yield from _members(json.load(text), path)
            else:
                yield from (json.loads(line) for line in text if line.strip())
    except (OSError, EOFError, zstandard.ZstdError, pa.ArrowException) as error:
        raise UserError(f"cannot read an evaluation set: {error}", where=path) from error
    except (UnicodeDecodeError, json.JSONDecodeError, csv.Error, RecursionError) as error:
        raise UserError(f"an evaluation set is not {format} in UTF-8: {error}", where=path) from error


def _members(value: Any, path: str) -> list[Any]:
    """The examples of a JSON file: a list, or an object of one list, such as {"data": [...]}."""
    lists = (
        [each for each in value.values() if isinstance(each, list)] if isinstance(value, dict) else [value]
    )
    if len(lists) != 1 or not isinstance(lists[0], list):
        raise UserError("expected a list of examples, or an object that holds one list", where=path)
    return lists[0]
