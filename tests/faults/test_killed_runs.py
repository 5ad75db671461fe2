"""A whole run killed with SIGKILL at random moments and started again ends with the bytes of an undisturbed
one.

`.ci/run` does five kills; `make soak` does hundreds and commits its seed and result (see
tests/faults/soak.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.soak import kill_and_rerun


@pytest.mark.slow
def test_five_kills(tmp_path: Path) -> None:
    result = kill_and_rerun(tmp_path, seed=20, rounds=1, kills=5)
    assert result["equal"] == 1
    assert result["kills"] == 5
