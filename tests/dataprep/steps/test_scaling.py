"""A document of 50 MB costs at most ten times as much a byte as one of 10 kB, also on text made to hurt."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dataprep.batch import Batch
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from tests.dataprep.kernels.timing import ratio
from tests.dataprep.steps.examples import FIELDS, outcome_of, params_of, steps

SMALL_BYTES, COPIES, LARGE_BYTES = 10_000, 100, 50_000_000
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


def work(name: str, texts: list[bytes]) -> Callable[[], object]:
    step, params = STEPS[name], params_of(name)
    joined = Texts.from_bytes(texts)
    fields = {field: [value] * len(joined) for field, value in FIELDS.items()}
    return lambda: outcome_of(step, Batch.of(joined, fields=fields), params)


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in steps() if not getattr(STEPS[each], "expensive", False)])
def test_cost_a_byte(name: str) -> None:
    more = LARGE_BYTES / (SMALL_BYTES * COPIES)
    worst = {}
    for kind, make in {**dict.fromkeys(UNITS, text_of), "prose": lambda _, size: prose(size)}.items():
        unit = UNITS.get(kind, b"")
        work(name, [make(unit, SMALL_BYTES)])()  # compiled, tables made
        small = work(name, [make(unit, SMALL_BYTES)] * COPIES)
        large = work(name, [make(unit, LARGE_BYTES)])
        worst[kind] = round(ratio(small, large, at_most=10 * more, floor=0.001) / more, 2)
    assert all(found <= 10 for found in worst.values()), worst
