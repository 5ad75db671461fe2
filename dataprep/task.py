"""What every worker on every engine runs: `execute(plan file, stage, index)`.

A task is found in its plan file, its entry is looked up, and only if it is absent is the stage's own
`execute` called on a fresh attempt folder and the result committed under the task's key. So a task may be
run twice, at once, or after a crash, and leaves the same bytes. MEASURE commits by itself, since one task
of it has several keys.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from dataprep.arrayfile import FULL, NoRoom
from dataprep.cache import Cache
from dataprep.stages import (
    cap,
    contaminated,
    copies,
    decide,
    fit,
    index,
    judge,
    measure,
    near,
    pack,
    passages,
    rank,
    repeats,
    sample,
    settle,
    tokenizer,
    write,
)
from manifests.errors import UserError

EXECUTE: dict[str, Callable[[Mapping[str, Any], Cache, Path], dict[str, Any]]] = {
    cap.STAGE: cap.execute,
    judge.STAGE: judge.execute,
    rank.KIND: rank.execute,
    repeats.UNITS: repeats.write_unit_records,
    repeats.REPEATS: repeats.find_repeats,
    repeats.CUTS: repeats.write_unit_cuts,
    contaminated.GRAMS: contaminated.count_grams,
    contaminated.EVIDENCE: contaminated.write_evidence,
    contaminated.EXAMPLES: contaminated.judge_examples,
    passages.PASSAGES: passages.write_passages,
    passages.LAYOUT: passages.write_layout,
    passages.WINDOWS: passages.write_windows,
    passages.MATCHES: passages.find_matches,
    passages.SPANS: passages.write_spans,
    copies.HASHES: copies.write_hashes,
    copies.COPIES: copies.find_copies,
    near.BANDS: near.write_bands,
    near.PAIRS: near.find_pairs,
    settle.DOUBTS: settle.collect_doubts,
    settle.SHINGLES: settle.write_shingles,
    settle.KEEP: settle.decide_who_stays,
    decide.STAGE: decide.execute,
    sample.STAGE: sample.execute,
    tokenizer.STAGE: tokenizer.execute,
    write.STAGE: write.execute,
    pack.STAGE: pack.execute,
    fit.STAGE: fit.execute,
    index.STAGE: index.execute,
}


def execute(plan: Path, stage: str, index: int) -> dict[str, Any]:
    """Run task `index` of `stage`; return plain JSON values: `key`, or what MEASURE says of its column
    sets."""
    work, tasks = _load(plan)
    try:
        return _execute(Cache(work), stage, tasks[index])
    except OSError as error:
        if (path := _lost_input(tasks[index], error)) is not None:
            raise UserError(
                f"cannot read an input: {os.strerror(error.errno) if error.errno else error}",
                where=path,
                hint="put it back, or leave it out with `exclude:`; what is finished is kept",
            ) from error
        if error.errno not in FULL:
            raise
        free_bytes = shutil.disk_usage(work).free
        needed = f", a file needs {error.needed_bytes:,}" if isinstance(error, NoRoom) else ""
        raise UserError(
            f"the disk of the work folder is full ({free_bytes:,} bytes free{needed})",
            where=str(work),
            hint="free some space and run the same command again: finished tasks are kept",
        ) from error


def _execute(cache: Cache, stage: str, task: Mapping[str, Any]) -> dict[str, Any]:
    if stage == measure.STAGE:
        return measure.execute(task["payload"], cache)
    key = task["key"]
    if cache.find(stage, key) is None:
        started = time.perf_counter()
        attempt = cache.begin()
        try:
            facts = EXECUTE[stage](task["payload"], cache, attempt)
            seconds = time.perf_counter() - started
            cache.commit(attempt, stage, key, components=task["components"], facts=facts, seconds=seconds)
        except BaseException:
            shutil.rmtree(attempt, ignore_errors=True)
            raise
    return {"key": key}


def _lost_input(task: Mapping[str, Any], error: OSError) -> str | None:
    """The input of a task that an error is about. Not every library says which: then one that is gone."""
    extents = task["payload"]["split"]["extents"] if "split" in task["payload"] else []
    paths = [extent["file"]["path"] for extent in extents]
    if error.filename in paths:
        return str(error.filename)
    return next((path for path in paths if not os.path.exists(path)), None)


@lru_cache(maxsize=2)
def _load(plan: Path) -> tuple[Path, list[dict[str, Any]]]:
    content = json.loads(plan.read_bytes())
    return Path(content["work"]), content["tasks"]
