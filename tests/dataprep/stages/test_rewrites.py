from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dataprep.kernels.texts import Texts, concat
from dataprep.stages.rewrites import Rewrites, RewriteWriter

CHUNKS, ROWS = 40, 5


def written(path: Path) -> dict[int, str]:
    """A file of rewritten texts, a batch a chunk; row -> text."""
    chance = Random(17)
    texts = {
        row: f"new {row}" * chance.randint(0, 3) for row in range(CHUNKS * ROWS) if chance.random() < 0.6
    }
    writer = RewriteWriter(path)
    for first in range(0, CHUNKS * ROWS, ROWS):
        rows = [row for row in range(first, first + ROWS) if row in texts]
        writer.add(np.array(rows, dtype=np.int64), Texts.from_strings([texts[row] for row in rows]))
    writer.close()
    return texts


def test_any_ascending_rows_get_their_texts(tmp_path: Path) -> None:
    texts = written(tmp_path / "rewrites.arrow")
    for seed in range(20):
        chance = Random(seed)
        rewrites = Rewrites(tmp_path / "rewrites.arrow")
        first = 0
        while first < CHUNKS * ROWS:
            end = first + chance.choice([1, 4, 5, 60])
            rows = [row for row in range(first, min(end, CHUNKS * ROWS)) if chance.random() < 0.4]
            found = rewrites.over(
                Texts.from_strings([f"old {row}" for row in rows]), np.array(rows, dtype=np.int64)
            )
            assert found.to_strings() == [texts.get(row, f"old {row}") for row in rows]
            first = end


def test_what_nobody_asked_for_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = written(tmp_path / "rewrites.arrow")
    joined = []

    def counted(parts: Sequence[Texts]) -> Texts:
        joined.append(sum(len(part) for part in parts))
        return concat(parts)

    monkeypatch.setattr("dataprep.stages.rewrites.concat", counted)
    rewrites = Rewrites(tmp_path / "rewrites.arrow")
    last = max(texts)
    found = rewrites.over(Texts.from_strings(["old"]), np.array([last], dtype=np.int64))
    assert found.to_strings() == [texts[last]]
    assert sum(joined) <= ROWS
