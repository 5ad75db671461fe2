from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.data.golden_order import golden
from trainer.data.order import block_order, permutation_key

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "order.json").read_text())


@pytest.mark.parametrize("part", ["order_version", "permutations", "mixtures", "rows", "packed_rows"])
def test_orders_are_those_of_the_order_version(part: str) -> None:
    """A difference changes what every run is trained on: see golden_order.py before touching the file."""
    assert golden()[part] == GOLDEN[part]


def test_inverses_lead_back() -> None:
    for case in GOLDEN["permutations"]:
        key = permutation_key(case["seed"], "blocks", case["source"], case["epoch"])
        order = block_order(case["size"], key, case["extent"])
        assert order.inverse(np.array(case["shuffled"])).tolist() == case["index"], case
