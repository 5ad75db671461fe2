"""A document of 50 MB costs at most ten times as much a byte as one of 10 kB, also on text made to hurt."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from tests.dataprep.steps.examples import FIELDS, outcome_of, params_of, steps

SMALL_BYTES, LARGE_BYTES = 10_000, 50_000_000
UNITS = {
    "one line": b"The same line of text, again and again.\n",
    "one word": b"word ",
    "no spaces": b"abcdefghij",
    "all newlines": b"\n",
    "no spaces, CJK": "中文字".encode(),
    "nothing but marks": b"@.:/-#{",
    "digits": b"0123456789 ",
}


def text_of(unit: bytes, size: int) -> bytes:
    return unit * (size // len(unit))


def prose(size: int) -> bytes:
    """Words that hardly repeat in pairs."""
    random = np.random.default_rng(17)
    vocabulary = np.array([f"w{number:x}" for number in range(50_000)])
    return " ".join(random.choice(vocabulary, size=size // 6)).encode()[:size]


def seconds_a_byte(name: str, texts: list[bytes]) -> float:
    """The best of three, so that a pause of the machine does not count."""
    step, params = STEPS[name], params_of(name)
    joined = Texts.from_bytes(texts)
    best = float("inf")
    for _ in range(3):
        batch = Batch.of(joined, fields={name: [value] * len(joined) for name, value in FIELDS.items()})
        started = time.process_time()
        outcome_of(step, batch, params)
        best = min(best, time.process_time() - started)
        if best > 3:
            break
    return best / joined.num_bytes


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in steps() if not getattr(STEPS[each], "expensive", False)])
def test_cost_a_byte(name: str) -> None:
    worst = {}
    for kind, make in {**dict.fromkeys(UNITS, text_of), "prose": lambda _, size: prose(size)}.items():
        unit = UNITS.get(kind, b"")
        seconds_a_byte(name, [make(unit, SMALL_BYTES)])  # compiled, tables made
        small = seconds_a_byte(name, [make(unit, SMALL_BYTES)] * 100)
        large = seconds_a_byte(name, [make(unit, LARGE_BYTES)])
        worst[kind] = round(large / small, 2)
    assert all(ratio <= 10 for ratio in worst.values()), worst
