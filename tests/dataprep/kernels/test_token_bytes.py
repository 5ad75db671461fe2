"""The kernel and its slow twin give the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.kernels.texts import Texts, offsets_of
from dataprep.kernels.token_bytes import bytes_of_tokens
from tests.reference import token_bytes as slow

TABLES = st.lists(st.binary(max_size=5), min_size=1, max_size=9)


@given(
    table=TABLES, data=st.data(), dtype=st.sampled_from(["uint16", "int32", "int64"]), skip=st.integers(0, 3)
)
def test_the_same_as_the_twin(table: list[bytes], data: st.DataObject, dtype: str, skip: int) -> None:
    ids = st.integers(0, len(table) - 1)
    documents = data.draw(st.lists(st.lists(ids, max_size=9), max_size=6))
    # Sliced: the first document does not begin with the array, and tokens may be a view with a stride.
    flat = np.array([0] * skip + [token for document in documents for token in document] + [0], dtype)
    wide = np.zeros(2 * flat.size, dtype)
    wide[::2] = flat
    ends = offsets_of(np.array([len(document) for document in documents], np.int64)) + skip
    pieces = Texts.from_bytes([b"before", *table, b"after"]).slice(1, 1 + len(table))
    wanted = slow.bytes_of_tokens(documents, table)
    for tokens in (flat, wide[::2]):
        found = Texts(*bytes_of_tokens(tokens, ends, pieces.data, pieces.offsets))
        assert list(found) == wanted


@pytest.mark.parametrize("token", [2, -1])
def test_an_id_outside_the_table(token: int) -> None:
    pieces = Texts.from_bytes([b"a", b"b"])
    tokens = np.array([0, 1, token], np.int32)
    with pytest.raises(ValueError, match=f"token 2 has the id {token}; there are 0 to 1"):
        bytes_of_tokens(tokens, np.array([0, 1, 3]), pieces.data, pieces.offsets)
