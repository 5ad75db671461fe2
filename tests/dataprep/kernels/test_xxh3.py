from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from dataprep.kernels.xxh3 import hash64


@given(st.binary(max_size=300))
def test_hash_is_that_of_the_package_xxhash(piece: bytes) -> None:
    assert hash64(piece) == xxh3_64_intdigest(piece)


@pytest.mark.parametrize("sizes", [range(1300), range(2000, 2200), [5000, 100_000]])
def test_every_length(sizes: range) -> None:
    """Each range of lengths is another algorithm, and from 240 bytes on the last stripe may overlap."""
    data = np.random.default_rng(1).integers(0, 256, 100_001).astype(np.uint8).tobytes()
    assert [hash64(data[1 : 1 + size]) for size in sizes] == [
        xxh3_64_intdigest(data[1 : 1 + size]) for size in sizes
    ]
