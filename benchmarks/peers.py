"""What other tools need for the same work. A peer that is not installed is reported as absent, never guessed.

Only what a peer can do is compared: datatrove has no step for Unicode forms and no exact deduplication of
whole documents, so both leave our side too. It works at less than 1 MB/s, so it gets a fixed 2 MB: every k-th
document.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import zstandard

from benchmarks.measure import MEGABYTE

SAMPLE_BYTES = 2 * MEGABYTE
FEW = 20  # documents that make a peer load what it needs


def has_datatrove() -> bool:
    return all(find_spec(name) is not None for name in ("datatrove", "spacy", "regex", "orjson"))


def sample_lines(path: Path, folder: Path) -> tuple[Path, Path, int]:
    """Files of a few documents and of SAMPLE_BYTES of text, evenly spread over `path`; its bytes."""
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        lines = list(io.TextIOWrapper(stream, encoding="utf-8", newline="\n"))
    total = sum(len(json.loads(line)["text"].encode()) for line in lines)
    chosen = lines[:: -(-total // SAMPLE_BYTES)]
    few, sample = folder / "few.jsonl", folder / "sample.jsonl"
    few.write_text("".join(chosen[:FEW]), encoding="utf-8")
    sample.write_text("".join(chosen), encoding="utf-8")
    return few, sample, sum(len(json.loads(line)["text"].encode()) for line in chosen)


def datatrove(lines: Path, tokenizer: Path, folder: Path) -> Callable[[], None]:
    """Reads, filters by the same rules, tokenizes, shuffles and writes; in this process."""
    from datatrove.pipeline.filters import GopherQualityFilter
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer
    from loguru import logger

    logger.remove()

    def work() -> None:
        reader = JsonlReader(str(lines.parent), glob_pattern=lines.name)
        kept = GopherQualityFilter().run(reader.run(None, 0, 1), 0, 1)
        DocumentTokenizer(str(folder), tokenizer_name_or_path=str(tokenizer), seed=17).run(kept, 0, 1)

    return work
