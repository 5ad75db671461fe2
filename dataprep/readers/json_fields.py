"""Lines of JSON to the wanted fields as they stand in the file, neither unescaped nor looked at.

Two routes with the same result. `parse_together` takes a block of lines in one call, when that is provably
the same as one line at a time; `parse_line` takes one line and says what is wrong with it. Both give rows,
whose fields `Layout.columns` takes out. What a field must be is for `dataprep.readers.jsonl`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NoReturn

import msgspec
import numpy as np
import pyarrow as pa

from dataprep.kernels.framing import nesting_depth
from dataprep.readers.records import BadDocument
from manifests.errors import UserError

MAX_DEPTH = 200
Row = Any
"""One line: the values of the keys that a layout wants, each a msgspec.Raw, a slice of the line."""

_MISSING = msgspec.Raw(b"null")
"""This very object stands where a line has no such key; a null that is written is another one."""

_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_NO_KEY = re.compile(r'[\x00-\x1f"\\]')


class Layout:
    """The wanted fields of a line, by path (see `dataprep.readers.fields`), and the decoder that takes a line
    apart into rows of them; all else in a line is checked and skipped."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(dict.fromkeys(paths))
        inside: dict[str, list[str]] = {}  # key -> paths below it
        for path in self.paths:
            key, dot, rest = path.partition(".")
            if dot:
                inside.setdefault(key, []).append(rest)
        keys = tuple(dict.fromkeys([*self.paths, *inside]))
        names = {key: f"f{number}" for number, key in enumerate(keys)}
        # gc=False: these objects are in no cycles, and tracking millions costs more than making them
        row = msgspec.defstruct(
            "Row",
            [(name, msgspec.Raw, _MISSING) for name in names.values()],
            rename={name: key for key, name in names.items()},
            gc=False,
        )
        self.decoder = msgspec.json.Decoder(row)
        self._get = {key: attrgetter(name) for key, name in names.items()}
        self._inside = {key: Layout(rests) for key, rests in inside.items()}

    def columns(self, rows: Sequence[Row]) -> dict[str, list[msgspec.Raw]]:
        """Path -> its values [n] as JSON, "null" where there are none."""
        found = {path: list(map(self._get[path], rows)) for path in self.paths}
        for key, layout in self._inside.items():
            objects = list(map(self._get[key], rows))
            chosen = [at for at, value in enumerate(objects) if memoryview(value)[0] == 0x7B]
            # A line holds no raw newline, so an object in it is a line of its own; it has been parsed before.
            inner = layout.decoder.decode_lines(b"\n".join([objects[at] for at in chosen]))
            for rest, values in layout.columns(inner).items():
                column = found[f"{key}.{rest}"]
                for at, value in zip(chosen, values, strict=True):
                    if column[at] is _MISSING:
                        column[at] = value
        return found


def check_keys(paths: Iterable[str]) -> None:
    """Raise UserError for a path that the parser cannot look for."""
    for path in paths:
        if _NO_KEY.search(path):
            hint = "rename the key in the files"
            raise UserError(
                f"no key of JSON lines can be {path!r} here: a quote, a backslash or a control "
                "character is in it",
                hint=hint,
            )


def parse_together(data: memoryview, num_records: int, layout: Layout) -> list[Row] | None:
    """Rows of a block whose lines `strip_lines` calls plain; None where they must be looked at apart."""
    if not _is_utf8(data):  # the parser does not check strings that it skips
        return None
    try:
        rows = layout.decoder.decode_lines(data)
    except msgspec.DecodeError:
        return None
    return rows if len(rows) == num_records else None


def parse_line(line: bytes, layout: Layout) -> Row | BadDocument:
    """The row of one line, without white space around it; or why there is none."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return BadDocument("invalid_utf8", f"{error.reason} at byte {error.start} of the record")
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH:
        depth = nesting_depth(np.frombuffer(line, dtype=np.uint8))
        if depth > MAX_DEPTH:
            return BadDocument("too_deep", f"nested {depth} deep; the limit is {MAX_DEPTH}")
    try:
        try:
            return layout.decoder.decode(line)
        except msgspec.ValidationError as error:  # not an object; is it JSON at all?
            msgspec.json.decode(line, type=msgspec.Raw)
            return BadDocument("not_object", str(error))
    except msgspec.DecodeError as error:
        if _LONE_SURROGATE.search(line) and _is_json(line):
            return BadDocument(
                "lone_surrogate", "an escaped surrogate without its other half is no character"
            )
        hint = "; a carriage return alone ends no line" if b"\r" in line else ""
        return BadDocument("not_json", f"{error}{hint}")


def _is_json(line: bytes) -> bool:
    """Whether Python's parser, which does take lone surrogates, takes the line."""
    try:
        # Numbers stay text: Python refuses to convert very long ones.
        json.loads(line.decode(), parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except ValueError:
        return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_utf8(data: memoryview) -> bool:
    """Arrow's check, several times faster than decoding."""
    offsets = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    whole = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])
    try:
        whole.cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True
