"""`memory`: the most that a worker process of MEASURE takes, over 40 MB and over 160 MB of English text, in a
new process that finds compiled kernels and in one that has to compile them.

A run with one worker, stopped when MEASURE is done. The peak is VmHWM of that process, in MB of 2^20 bytes;
`ru_maxrss` would begin with what the process that started it had.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import MEGABYTE
from dataprep.narrate import Narrator
from dataprep.recipe import recipe_of
from dataprep.run import run as run_recipe

STEPS: list[dict[str, Any]] = [
    {"normalize": {}},
    {"language": {"keep": None, "min_score": None}},
    {"gopher_repetition": {}},
    {"gopher_quality": {}},
    {"c4": {}},
    {"fineweb_quality": {}},
    {"pii": {}},
    {"exact_dedup": {}},
]
FILES = ("wiki/wiki_en.jsonl.zst", "docs_versions/django_docs_4_versions.jsonl.zst")
"""20 MB of text each."""


class Measured(Exception):
    """MEASURE is done, and nothing else is asked for."""


class Watch(Narrator):
    """Says nothing; looks at the workers when MEASURE ends, and ends the run."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.peak_mb = 0.0

    @contextlib.contextmanager
    def stage(self, name: str, total: int) -> Iterator[None]:
        yield
        if name == "measure":
            self.peak_mb = max(peak_mb(pid) for pid in children())
            raise Measured


def run(data_pack: Path, quick: bool) -> dict[str, Any]:
    """`measure_rss_mb` over 40 MB, `measure_rss_mb_160` over 160 MB, `compile_rss_mb` over a few documents
    with no compiled kernels; `*_text_mb` is what was read. `quick` leaves out all but the first."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        start_mb, _ = measured(work / "start", data_pack, 0)  # what compiles, compiles here
        figures: dict[str, Any] = {"worker_start_rss_mb": start_mb}
        figures["measure_rss_mb"], figures["measure_text_mb"] = measured(work / "40", data_pack, 40)
        if not quick:
            found, text_mb = measured(work / "160", data_pack, 160)
            figures |= {"measure_rss_mb_160": found, "measure_text_mb_160": text_mb}
            started = time.monotonic()
            with no_compiled_kernels(work / "kernels"):
                figures["compile_rss_mb"], _ = measured(work / "compile", data_pack, 0)
            figures["compile_wall_seconds"] = round(time.monotonic() - started, 1)
    return figures


def measured(folder: Path, data_pack: Path, megabytes: int) -> tuple[float, float]:
    """(peak of a new worker that measured so much text, MB of text in the files); 0 MB: 1,000 documents."""
    folder.mkdir()
    if megabytes:
        text_mb = copied(folder, data_pack, megabytes)
    else:
        shutil.copy(data_pack / "sample" / "mixed_1k.jsonl.zst", folder)
        text_mb = 0.0
    watch = Watch()
    recipe = recipe_of(
        {
            "corpus": "memory",
            "version": "1.0.0",
            "sources": {"text": {"path": str(folder / "*.jsonl.zst"), "id": "id"}},
            "steps": STEPS,
            "tokenizer": {"train": {"vocab_size": 300}},
            "output": str(folder / "out"),
        }
    )
    with contextlib.suppress(Measured):
        run_recipe(recipe, workers=1, narrator=watch)
    return round(watch.peak_mb, 1), text_mb


def copied(folder: Path, data_pack: Path, megabytes: int) -> float:
    """Copies of FILES in turn, of other names, until they hold about so much text; MB of text."""
    from benchmarks.steps import strings_of

    sizes = [sum(len(text.encode()) for text in strings_of(data_pack / name)) / MEGABYTE for name in FILES]
    total, number = 0.0, 0
    while total < 0.95 * megabytes:
        kind = number % len(FILES)
        shutil.copy(data_pack / FILES[kind], folder / f"{number:03d}-{Path(FILES[kind]).name}")
        total += sizes[kind]
        number += 1
    return round(total, 1)


@contextlib.contextmanager
def no_compiled_kernels(folder: Path) -> Iterator[None]:
    """Processes that start inside find an empty folder where compiled code is kept."""
    before = os.environ.get("NUMBA_CACHE_DIR")
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["NUMBA_CACHE_DIR"]
        else:
            os.environ["NUMBA_CACHE_DIR"] = before


def children() -> list[int]:
    """Processes that this one started and that live."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
