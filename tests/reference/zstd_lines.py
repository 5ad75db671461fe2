"""The texts of a file of zstd-compressed JSON lines, read the plain way (independent of our readers)."""

from __future__ import annotations

import io
import json
from itertools import islice
from pathlib import Path

import zstandard


def texts_of(path: Path, count: int) -> list[str]:
    """The field `text` of the first `count` lines."""
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        lines = io.TextIOWrapper(stream, encoding="utf-8", newline="\n")
        return [json.loads(line)["text"] for line in islice(lines, count)]
