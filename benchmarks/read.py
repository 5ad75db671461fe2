"""`read`: compressed JSON lines to Arrow record batches, beside decompressing and parsing alone.

The floor is zstd and msgspec, 1 MiB at a time: no framing, no checks of UTF-8 or depth, no Arrow. `by_file`
holds the figures of each file, since scripts differ. MB are decompressed file bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from benchmarks.measure import MEGABYTE, alternate, cpu_seconds
from dataprep.readers import READERS
from dataprep.readers.extents import Split
from dataprep.readers.listing import list_inputs
from dataprep.readers.records import ReadOptions
from dataprep.readers.splits import make_splits

FILES = (
    "wiki/wiki_en.jsonl.zst",
    "wiki/wiki_zh.jsonl.zst",
    "manpages/manpages.jsonl.zst",
    "peps/peps.jsonl.zst",
    "docs_versions/django_docs_4_versions.jsonl.zst",
    "dictionaries/foldoc_jargon.jsonl.zst",
)
OPTIONS = ReadOptions(text="text", id="id")
PIECE_BYTES = 1 << 20


class Record(msgspec.Struct, gc=False):
    """What the floor parses into."""

    text: str
    id: str


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    """The figures of `read`; `quick` reads every second file."""
    files = [data_pack / name for name in (FILES[::2] if quick else FILES)]
    start_seconds = cpu_seconds(lambda: _read(files[0]))  # the first read compiles the framing kernels
    num_bytes = {file: _size_bytes(file.read_bytes()) for file in files}
    seconds = {file: _seconds(file) for file in files}
    total = {route: sum(each[route] for each in seconds.values()) for route in seconds[files[0]]}
    by_file = {file.name.split(".")[0]: _figures(num_bytes[file], seconds[file]) for file in files}
    return {
        **_figures(sum(num_bytes.values()), total),
        "read_start_seconds": round(start_seconds, 2),
        "by_file": by_file,
    }


def _seconds(file: Path) -> dict[str, float]:
    stored = file.read_bytes()
    return alternate(
        {
            "ours": lambda: _read(file),
            "floor": lambda: floor(stored),
            "zstd": lambda: _size_bytes(stored),
        }
    )


def _figures(num_bytes: int, seconds: dict[str, float]) -> dict[str, float]:
    return {
        "mb_s": round(num_bytes / MEGABYTE / seconds["ours"], 1),
        "floor_ratio": round(seconds["floor"] / seconds["ours"], 3),
        "floor_mb_s": round(num_bytes / MEGABYTE / seconds["floor"], 1),
        "zstd_mb_s": round(num_bytes / MEGABYTE / seconds["zstd"], 1),
    }


def _read(file: Path) -> None:
    splits: list[Split] = make_splits("bench", "jsonl", list_inputs([str(file)]), OPTIONS)
    for split in splits:
        for chunk in READERS["jsonl"].read(split, OPTIONS):
            if chunk.bad or chunk.damage:
                raise ValueError(f"{file}: the data pack is not as it was")


def floor(stored: bytes) -> None:
    decoder = msgspec.json.Decoder(Record)
    rest = b""
    for piece in _pieces(stored):
        data = rest + piece
        end = data.rfind(b"\n") + 1
        decoder.decode_lines(memoryview(data)[:end])
        rest = data[end:]


def _size_bytes(stored: bytes) -> int:
    return sum(len(piece) for piece in _pieces(stored))


def _pieces(stored: bytes) -> Iterator[bytes]:
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(stored), read_across_frames=True)
    while piece := reader.read(PIECE_BYTES):
        yield piece
