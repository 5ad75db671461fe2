"""Fair timing: CPU seconds of this process, alternating between what is compared, medians of an odd number.

Does not run anything of ours by itself. The figures of one benchmark are put together in its own module.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import zstandard

ROUNDS = 5
MEGABYTE = 10**6


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds, user and system, of all threads of this process while `work` runs."""
    start = time.process_time()
    work()
    return time.process_time() - start


class Laps:
    """CPU seconds of this process between one call and the next, summed by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.process_time()

    def __call__(self, name: str) -> None:
        now = time.process_time()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


def alternate(contestants: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median CPU seconds of each, run in turn `rounds` times, so that a slow minute hits all."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            seconds[name].append(cpu_seconds(work))
    return {name: statistics.median(values) for name, values in seconds.items()}


def zstd_mb_s(data_pack: Path, rounds: int = ROUNDS) -> float:
    """The yardstick: MB of text per CPU second of decompressing one fixed file, in memory, on one core."""
    compressed = (data_pack / "wiki" / "wiki_en.jsonl.zst").read_bytes()
    size_bytes = 0

    def decompress() -> None:
        nonlocal size_bytes
        with zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True) as stream:
            size_bytes = 0
            while chunk := stream.read(1 << 20):
                size_bytes += len(chunk)

    seconds = alternate({"zstd": decompress}, rounds)["zstd"]
    return size_bytes / MEGABYTE / seconds


def machine() -> dict[str, object]:
    """What a figure depends on: processor, cores this process may use, memory, Python."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 10**9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
