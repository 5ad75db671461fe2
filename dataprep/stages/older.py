"""The documents of older corpora among those of a deduplication; what they left is in `dataprep/older.py`.

They have the ranks before all of ours, so they stay, and no two of them are compared with each other. Their
text is not at hand: a pair with one of them is settled by the estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.cache import key_of
from dataprep.columnfile import read_columns
from dataprep.kernels.xxh3 import hash64
from dataprep.older import Older
from dataprep.stages.base import Task
from dataprep.stages.within import GROUP
from manifests.errors import UserError
from manifests.fingerprint import digest_file

Int64s = npt.NDArray[np.int64]


def num_older(older: Sequence[Older]) -> int:
    return sum(each.count for each in older)


def older_tasks(older: Sequence[Older], settings: Mapping[str, Any]) -> list[Task]:
    """One task for each older corpus, which writes what the tasks of groups write."""
    tasks = []
    first = 0
    for each in older:
        components = {"older": each.digest, "first": first, **settings}
        payload = {
            **components,
            "documents": str(each.documents.absolute()),
            "columns": str(each.columns.absolute()),
            "count": each.count,
        }
        tasks.append(Task(f"older corpus {each.name}", key_of(components), components, payload))
        first += each.count
    return tasks


def compared_in(payload: Mapping[str, Any]) -> tuple[dict[str, Any], npt.NDArray[np.uint64] | None]:
    """(what an older corpus left, and uint64 for each of it: different for what is kept apart)."""
    _check_whole(payload)
    columns = read_columns(Path(payload["columns"]))
    if payload["within"] == "corpus":
        return columns, None
    if payload["within"] == "source":
        sources = read_columns(Path(payload["documents"]))["source"].dictionary_encode()
        numbers = np.array(
            [hash64(name.encode()) for name in sources.dictionary.to_pylist()], dtype=np.uint64
        )
        return columns, numbers[sources.indices.to_numpy()][columns["document"]]
    return columns, columns[GROUP]


def _check_whole(payload: Mapping[str, Any]) -> None:
    """Damaged hashes would match nothing, and nobody would see it."""
    files = (payload["documents"], payload["columns"])
    for file, expected in zip(files, payload["older"].split(), strict=True):
        if digest_file(file).digest != expected:
            raise UserError(
                "a file of an older corpus is not what its manifest says",
                where=file,
                hint="it is damaged, or was just written again: run again, or `dataprep verify` it",
            )


def believed(edges: Int64s, borderline: Int64s, num_older: int, threshold_ppm: int) -> tuple[Int64s, Int64s]:
    """(edges, borderline pairs) without pairs of two older documents; a borderline pair with one is an edge
    if its estimate says so."""
    edges = edges[edges[:, 1] >= num_older]
    borderline = borderline[borderline[:, 1] >= num_older]
    with_older = borderline[:, 0] < num_older
    similar = borderline[with_older & (borderline[:, 2] >= threshold_ppm)]
    return np.concatenate([edges, similar]), borderline[~with_older]
