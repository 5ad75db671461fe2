"""`crawl`: records of WARC and WET files to documents, and pages to text, by each parser of `extract_text`.

Reading is in MB of decompressed file bytes, beside gzip alone; extracting in MB of HTML (UTF-8). The parsers
run in this process; `extract_step_mb_s` is the whole step with the default one, whose parser has a process of
its own, both processes together.
"""

from __future__ import annotations

import os
import time
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.measure import MEGABYTE, ROUNDS, alternate
from benchmarks.steps import strings_of
from dataprep.batch import Batch
from dataprep.extraction.client import Client, Settings
from dataprep.extraction.engines import make_engine
from dataprep.kernels.texts import Texts
from dataprep.readers import READERS
from dataprep.readers.listing import list_inputs
from dataprep.readers.records import ReadOptions
from dataprep.readers.splits import make_splits
from dataprep.steps.extract_text import ExtractTextParams, extract

PAGES = "html/html_pages.jsonl.zst"
FILES = {"warc": "warc/pages.warc.gz", "wet": "warc/pages.warc.wet.gz"}
SLOW_BYTES = 2 * MEGABYTE
"""Pages for the slower parser: every k-th, so that they come to this much."""
KILLER = "tests.dataprep.extraction.engines_for_tests:planted"


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    rounds = 3 if quick else ROUNDS
    figures: dict[str, Any] = {}
    for name, file in FILES.items():
        figures |= _read(name, data_pack / file, rounds)
    pages = strings_of(data_pack / PAGES)
    pages = pages[::5] if quick else pages
    figures |= _extracted("resiliparse", pages, rounds) | _extracted("trafilatura", few(pages), 1)
    return figures | _step(pages) | _killed()


def few(pages: list[str]) -> list[str]:
    return pages[:: max(1, sum(map(len, pages)) // SLOW_BYTES)]


def _read(name: str, path: Path, rounds: int) -> dict[str, Any]:
    stored, options = path.read_bytes(), ReadOptions(id="url")
    num_bytes = len(unzipped(stored))

    def ours() -> None:
        for split in make_splits("bench", name, list_inputs([str(path)]), options):
            for chunk in READERS[name].read(split, options):
                if chunk.bad or chunk.damage:
                    raise ValueError(f"{path}: the data pack is not as it was")

    ours()
    seconds = alternate({"ours": ours, "gzip": lambda: unzipped(stored)}, rounds)
    return {
        f"{name}_mb_s": round(num_bytes / MEGABYTE / seconds["ours"], 1),
        f"{name}_vs_gzip": round(seconds["gzip"] / seconds["ours"], 3),
    }


def unzipped(stored: bytes) -> bytes:
    """Of all members."""
    parts = []
    while stored:
        member = zlib.decompressobj(31)
        parts.append(member.decompress(stored))
        stored = member.unused_data
    return b"".join(parts)


def _extracted(name: str, pages: list[str], rounds: int) -> dict[str, Any]:
    if find_spec(name) is None:
        return {f"{name}_mb_s": None}
    options = getattr(ExtractTextParams(), name).model_dump()
    parse = make_engine(name, options)
    parse(pages[0])
    seconds = alternate({name: lambda: [parse(page) for page in pages]}, rounds)[name]
    return {f"{name}_mb_s": round(megabytes(pages) / seconds, 2)}


def _step(pages: list[str]) -> dict[str, Any]:
    if find_spec("resiliparse") is None:
        return {"extract_step_mb_s": None}
    params = ExtractTextParams()
    batch, client = Batch.of(Texts.from_strings(pages)), Client(params.settings)
    extract(Batch.of(Texts.from_strings(pages[:1])), params, client)
    assert client.pid is not None
    before, child_before = time.process_time(), child_seconds(client.pid)
    extract(batch, params, client)
    seconds = time.process_time() - before + child_seconds(client.pid) - child_before
    client.close()
    return {"extract_step_mb_s": round(megabytes(pages) / seconds, 2)}


def _killed() -> dict[str, Any]:
    """Wall seconds of a page that kills the parser, tried twice, and of one that hangs with a limit of one
    CPU second."""
    found = {}
    client = Client(Settings(KILLER, {}, cpu_seconds=1))
    for name, page in {"crash": b"crash", "hang": b"hang"}.items():
        client.extract([b"a page"])
        started = time.monotonic()
        client.extract([page])
        client.extract([b"a page"])
        found[f"{name}_wall_seconds"] = round(time.monotonic() - started, 2)
    client.close()
    return found


def child_seconds(pid: int) -> float:
    """CPU seconds of another process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pages: list[str]) -> float:
    return sum(len(page.encode()) for page in pages) / MEGABYTE
