"""What the version of a packing stands for, as tests/golden/packing.json pins it.

    python -m tests.dataprep.golden_packing > tests/golden/packing.json

only together with a new VERSION in dataprep/fit.py: corpora that were packed before must be known from those
that are packed now, since `combine` puts packings of one version together and a run is bound to its rows.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from dataprep.fit import VERSION, fit_documents
from manifests.fingerprint import digest_bytes
from manifests.packing import Packing

LENGTHS = [9, 3, 4, 1, 2, 17, 3, 8, 1, 5, 5, 2, 30, 7, 2, 6, 4, 9, 3, 3, 12, 1, 2, 33, 5, 10, 4, 2, 8, 6]
MANY = (np.arange(20_000, dtype=np.int64) ** 2 * 7919 % 3001) % (np.arange(20_000) % 1000 + 1) + 1
"""Lengths from 1 to 1,000, of which many are equal."""


def case(lengths: list[int], sequence_length: int) -> dict[str, Any]:
    packing = fit_documents(np.array(lengths), sequence_length)
    pieces = list(zip(packing.start.tolist(), packing.length.tolist(), strict=True))
    rows = [list(map(list, pieces[a:b])) for a, b in pairwise(packing.first_piece.tolist())]
    return {"lengths": lengths, "sequence_length": sequence_length, "rows": rows}


def digest_of(packing: Packing) -> str:
    arrays = packing.first_piece.astype("<i8"), packing.start.astype("<i8"), packing.length.astype("<i4")
    return digest_bytes(b"".join(array.tobytes() for array in arrays))


def many(sequence_length: int) -> dict[str, Any]:
    packing = fit_documents(MANY, sequence_length)
    return {"sequence_length": sequence_length, "rows": packing.num_rows, "digest": digest_of(packing)}


def golden() -> dict[str, Any]:
    return {
        "version": VERSION,
        "cases": [case(LENGTHS, length) for length in (1, 4, 9, 16, 64, 2**31 - 2)],
        "many": [many(length) for length in (1, 31, 512, 2048, 2**21, 2**31 - 2)],
    }


def as_text(value: dict[str, Any]) -> str:
    """One case a line, so that a difference can be read."""
    lists = {name: part for name, part in value.items() if isinstance(part, list)}
    parts = [f'"version": {value["version"]}']
    parts += [f'"{name}": [\n' + ",\n".join(map(json.dumps, part)) + "\n]" for name, part in lists.items()]
    return "{\n" + ",\n".join(parts) + "\n}"


if __name__ == "__main__":
    print(as_text(golden()))
