"""Lines of JSON to the wanted fields as they stand in the file, neither unescaped nor looked at.

Two routes with the same result. `parse_together` takes a block of lines in one call, when that is provably
the same as one line at a time; `parse_line` takes one line and says what is wrong with it. What a field must
be is for `dataprep.readers.jsonl`.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import msgspec
import numpy as np
import pyarrow as pa

from dataprep.kernels.framing import nesting_depth
from dataprep.readers.records import BadDocument, ReadOptions

MAX_DEPTH = 200
Row = Any  # with .text and .id, both msgspec.Raw: slices of the line, "null" where the field is missing
Decoder = msgspec.json.Decoder[Row]

_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def make_decoder(options: ReadOptions) -> Decoder:
    """Decodes a line to just the fields that the recipe names; all else in it is checked and skipped."""
    missing = msgspec.Raw(b"null")
    fields: list[tuple[str, Any, Any]] = [("text", msgspec.Raw, missing)]
    rename = {"text": options.text}
    if options.id is not None:
        fields.append(("id", msgspec.Raw, missing))
        rename["id"] = options.id
    # gc=False: these objects are in no cycles, and tracking millions costs more than making them
    return msgspec.json.Decoder(msgspec.defstruct("Row", fields, rename=rename, gc=False))


def parse_together(data: memoryview, num_records: int, decoder: Decoder) -> list[Row] | None:
    """Rows of a block whose lines `strip_lines` calls plain; None where they must be looked at apart."""
    if not _is_utf8(data):  # the parser does not check strings that it skips
        return None
    try:
        rows = decoder.decode_lines(data)
    except msgspec.DecodeError:
        return None
    return rows if len(rows) == num_records else None


def parse_line(line: bytes, decoder: Decoder) -> Row | BadDocument:
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
            return decoder.decode(line)
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
