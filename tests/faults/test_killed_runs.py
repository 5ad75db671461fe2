"""A whole run killed with SIGKILL at random moments and started again ends with the bytes of an undisturbed
one.

`.ci/run` does five kills; `make soak` does hundreds and commits its seed and result (see
tests/faults/soak.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.soak import kill_and_rerun

PACKED = {"shards": {"tokens": 2000, "pack": "best_fit", "sequence_lengths": [32, 256]}}


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, PACKED], ids=["concat", "best_fit"])
def test_five_kills(tmp_path: Path, changes: dict[str, Any]) -> None:
    result = kill_and_rerun(tmp_path, seed=20, rounds=1, kills=5, **changes)
    assert result["equal"] == 1
    assert result["kills"] == 5
