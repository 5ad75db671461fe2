"""Every step's output on fixed texts is pinned, so that a result cannot change under an unchanged version.

After a wanted change: raise the step's `version` and put the digest that the failure shows into
tests/golden/steps.json.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts, concat
from dataprep.steps import STEPS
from dataprep.steps.base import Decision, Transform
from tests.dataprep.steps.examples import FIELDS, MORE, outcome_of, params_of, steps, units_of

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


def digest(name: str) -> str:
    """SHA-256 over the step's output on TEXTS with its example parameters (every column by name, dtype and
    bytes)."""
    step, params = STEPS[name], params_of(name)
    pinned = concat([TEXTS, Texts.from_strings(MORE.get(name, []))]) if name in MORE else TEXTS
    fields = {field: [value] * len(pinned) for field, value in FIELDS.items()}
    batch = Batch.of(pinned, [str(row) for row in range(len(pinned))], fields)
    texts, signals = outcome_of(step, batch, params)
    columns: dict[str, Any] = {}
    if texts is not None:
        columns = {"data": texts.compact().data, "offsets": texts.compact().offsets}
    columns |= signals
    if (units := units_of(step, batch, params)) is not None:
        columns |= {
            f"unit_{key}": getattr(units, key) for key in ("hashes", "starts", "ends", "unit_offsets")
        }
    if not isinstance(step, Transform | Decision):
        columns |= {check.reason: check.dropped for check in step.checks(dict(signals), params)}
    hasher = hashlib.sha256()
    for key, column in columns.items():
        if isinstance(column, pa.Array):
            hasher.update(json.dumps([key, str(column.type), column.to_pylist()]).encode())
            continue
        hasher.update(f"{key} {column.dtype.newbyteorder('<').str} {column.shape}\n".encode())
        hasher.update(column.astype(column.dtype.newbyteorder("<")).tobytes())
    return hasher.hexdigest()


@pytest.mark.parametrize("name", steps())
def test_result_changes_only_with_the_version(name: str) -> None:
    assert {"version": STEPS[name].version, "digest": digest(name)} == GOLDEN[name]


def test_no_other_step_is_pinned() -> None:
    assert list(GOLDEN) == steps()
