"""What ORDER_VERSION stands for: permutations, mixtures and rows, as tests/golden/order.json pins them.

    python -m tests.trainer.data.golden_order > tests/golden/order.json

only together with a new ORDER_VERSION: another order is another run, and the old one must stay readable.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.trainer.data.plans import plan
from trainer.data.mixture import Mixture, quotas
from trainer.data.order import ORDER_VERSION, block_order, permutation_key
from trainer.data.schedule import BatchSchedule, PhaseSpec

SIZES = [1, 2, 3, 10, 1000, 2**16, 2**16 + 1, 2**20 - 1, 2**26 - 3, 60_000_000, 2**33 + 5, 2**62]
KEYS = [
    # seed, source, epoch, extent
    (17, "quickstart/code", 0, 1),
    (17, "quickstart/code", 1, 1),
    (17, "quickstart/prose", 0, 1),
    (18, "quickstart/code", 0, 1),
    (17, "quickstart/code", 0, 8),
]
MIXTURES = [
    # (first row, weights) of each phase
    [(0, [1.0])],
    [(0, [0.5, 0.3, 0.2])],
    [(0, [0.5, 0.3, 0.2]), (7, [0.1, 0.6, 0.3]), (23, [0.9, 0.0, 0.1])],
    [(0, [0.7, 0.3, 0.0, 0.0]), (11, [0.0, 0.2, 0.79999, 0.00001])],
]
FAR = [10**6, 10**9, 10**12, 10**12 + 1]


def permutation_case(size: int, seed: int, source: str, epoch: int, extent: int) -> dict[str, Any]:
    index = sorted({0, min(1, size - 1), size // 3, size - 1})
    order = block_order(size, permutation_key(seed, "blocks", source, epoch), extent)
    return {
        "size": size,
        "seed": seed,
        "source": source,
        "epoch": epoch,
        "extent": extent,
        "index": index,
        "shuffled": order.forward(np.array(index, np.int64)).tolist(),
    }


def mixture_case(phases: list[tuple[int, list[float]]]) -> dict[str, Any]:
    by_phase = np.array([quotas(weights) for _, weights in phases])
    mixture = Mixture(by_phase, [start for start, _ in phases])
    near, _ = mixture.locate(np.arange(64))
    sources, ordinals = mixture.locate(np.array(FAR))
    return {
        "phases": [list(phase) for phase in phases],
        "quotas": by_phase.tolist(),
        "sources": "".join(map(str, near.tolist())),
        "far": FAR,
        "far_sources": sources.tolist(),
        "far_ordinals": ordinals.tolist(),
    }


ROWS = (
    PhaseSpec(0, 8, {"code": 0.5, "prose": 0.3, "licences": 0.2}),
    PhaseSpec("3 steps", 16, {"code": 0.2, "prose": 0.8}),
    PhaseSpec("600 tokens", 4, {"code": 0.1, "prose": 0.1, "licences": 0.8}),
)
PACKED_ROWS = (
    PhaseSpec(0, 8, {"code": 0.5, "prose": 0.3}, "best_fit"),
    PhaseSpec("3 steps", 8, {"code": 0.5, "prose": 0.3, "licences": 0.2}, "best_fit"),
    PhaseSpec("400 tokens", 16, {"licences": 0.3, "prose": 0.7}, "best_fit"),
    PhaseSpec("13 steps", 16, {"code": 0.6, "licences": 0.4}),
)


def rows_case(phases: tuple[PhaseSpec, ...], near: int, accept_repeat: bool = False) -> dict[str, Any]:
    found = plan(phases=phases, batch=BatchSchedule((0, 5), (5, 7)), accept_repeat=accept_repeat)
    refs = found.locate(np.array([*range(near), *FAR]))
    return {
        "starts": [phase.start_row for phase in found.phases],
        "fingerprints": found.facts()["fingerprints"],
        "rows": np.stack([refs.row, refs.source, refs.epoch, refs.block, refs.part, refs.start], 1).tolist(),
    }


def golden() -> dict[str, Any]:
    return {
        "order_version": ORDER_VERSION,
        "permutations": [permutation_case(size, *key) for size in SIZES for key in KEYS],
        "mixtures": [mixture_case(phases) for phases in MIXTURES],
        "rows": rows_case(ROWS, 60),
        "packed_rows": rows_case(PACKED_ROWS, 100, accept_repeat=True),
    }


def as_text(value: dict[str, Any]) -> str:
    """One case a line, so that a difference can be read."""
    parts = []
    for name, part in value.items():
        cases = (
            "[\n" + ",\n".join(map(json.dumps, part)) + "\n]" if isinstance(part, list) else json.dumps(part)
        )
        parts.append(f'"{name}": {cases}')
    return "{\n" + ",\n".join(parts) + "\n}"


if __name__ == "__main__":
    print(as_text(golden()))
