"""Every step's output on fixed texts is pinned, so that a result cannot change under an unchanged version.

After a wanted change: raise the step's `version` and put the digest that the failure shows into
tests/golden/steps.json.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from dataprep.steps.base import Edit, Rule, Transform

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "steps.json").read_text())

# Characters that every Unicode version of a supported Python knows.
TEXTS = Texts.from_strings(
    [
        "",
        "It's a well-known fact that the U.S. doesn't have 3.14 pies; see https://a-b.example.org/x?y=z.\n"
        * 6,
        "- one...\r\n- two \u2026\r\u2022 three #3\x00\ufeff\n\x85\u2028",
        "e\u0301te\u0301 \ufb01n \uff11 \u00c5ngstr\u00f6m \u1100\u1161\u11a8 a\u0301\u0323",
        "\u4e2d\u6587\u5b57\u3002\u3042\u30ab \u0e19\u0e49\u0e33 "
        "\u0928\u094d\u0926\u0940 \u0627\u064e\u0644\u0651",
        "\U0001f600\ufe0f $5 5\u20ac 50% <p class=x> a_b @me (\"quote\") \u201cand\u201d 'that'",
        "#" * 50 + " the to of " * 20,
    ]
)


NEEDED: dict[str, dict[str, Any]] = {"c4_bad_words": {"words": ["well-known", "the", "\u00c5ngstr\u00f6m"]}}
"""Parameters without a default."""


def digest(name: str) -> str:
    """SHA-256 over the step's output on TEXTS with default parameters (every column by name, dtype and
    bytes)."""
    step, params = STEPS[name], STEPS[name].params(**NEEDED.get(name, {}))
    if isinstance(step, Transform):
        out = step.apply(Batch.of(TEXTS), params).compact()
        columns: dict[str, np.ndarray] = {"data": out.data, "offsets": out.offsets}
    else:
        columns = {}
        if isinstance(step, Edit):
            texts, signals = step.edit(Batch.of(TEXTS), params)
            columns = {"data": texts.compact().data, "offsets": texts.compact().offsets}
        else:
            signals = step.measure(Batch.of(TEXTS), params)
        columns |= signals
        if isinstance(step, Rule | Edit):
            columns |= {check.reason: check.dropped for check in step.checks(signals, params)}
    hasher = hashlib.sha256()
    for key, column in columns.items():
        hasher.update(f"{key} {column.dtype.newbyteorder('<').str} {column.shape}\n".encode())
        hasher.update(column.astype(column.dtype.newbyteorder("<")).tobytes())
    return hasher.hexdigest()


@pytest.mark.parametrize("name", STEPS)
def test_result_changes_only_with_the_version(name: str) -> None:
    assert {"version": STEPS[name].version, "digest": digest(name)} == GOLDEN[name]


def test_no_other_step_is_pinned() -> None:
    assert list(GOLDEN) == list(STEPS)
