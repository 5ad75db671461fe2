from __future__ import annotations

import enum
import hashlib
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.fingerprint import (
    BLOCK_BYTES,
    UnstableValue,
    canonical_json,
    digest_bytes,
    digest_file,
    digest_value,
)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=12,
)


class Colour(enum.StrEnum):
    RED = "red"


UNSTABLE: dict[str, Any] = {
    "nan": float("nan"),
    "infinity": float("-inf"),
    "set": {1, 2},
    "frozenset": frozenset("ab"),
    "object": object(),
    "function": len,
    "path": Path("a"),
    "bytes": b"a",
    "date": date(2026, 1, 1),
    "int key": {1: 2},
    "None key": {None: 2},
    "bool key": {True: 2},
    "numpy int": np.int64(1),
    "numpy float": np.float64(1.0),
    "numpy text": np.str_("a"),
    "array": np.zeros(2),
    "enum": Colour.RED,
    "enum key": {Colour.RED: 1},
    "lone surrogate": "\ud800",
    "lone surrogate key": {"\udfff": 1},
    "generator": (number for number in range(2)),
    "class": int,
}


@pytest.mark.parametrize("name", UNSTABLE)
@pytest.mark.parametrize("depth", [0, 2])
def test_unstable_values_are_refused(name: str, depth: int) -> None:
    value = UNSTABLE[name]
    for _ in range(depth):
        value = {"inner": [0, value]}
    with pytest.raises(UnstableValue) as caught:
        canonical_json(value)
    # The message says where: in a deep value the offender is otherwise hard to find.
    assert "value" + ".inner[1]" * depth in str(caught.value)


def test_canonical_text() -> None:
    value = {"b": [1, 1.5, True, None, (2,)], "a": {"z": "\u00e9\n", "A": -0.0}}
    wanted = b'{"a":{"A":-0.0,"z":"\xc3\xa9\\n"},"b":[1,1.5,true,null,[2]]}'
    assert canonical_json(value) == wanted


def test_golden_digests() -> None:
    """These never change: receipts and published manifests hold such digests."""
    assert (
        digest_value({"b": [1, 1.5, None], "a": "\u00e9"}) == "blake2b-128:ebd689b9f99502a886a01b17d8dfb4dc"
    )
    assert digest_bytes(b"abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@given(VALUES)
def test_round_trip(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), SCALARS, min_size=2))
def test_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


def test_int_and_float_and_bool_differ() -> None:
    assert len({digest_value(value) for value in (1, 1.0, True, "1", [1])}) == 5


def test_same_in_every_process() -> None:
    code = (
        "from manifests.fingerprint import digest_value\n"
        "print(digest_value({name: [name, 0.1] for name in {'a', 'b', 'c', 'd'}}))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).resolve().parents[2],
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1


@pytest.mark.parametrize("size_bytes", [0, 1, 15, 16, 17, 32, 33])
def test_file_digest_by_blocks(tmp_path: Path, size_bytes: int) -> None:
    data = bytes(range(size_bytes))
    (tmp_path / "f").write_bytes(data)
    seen = bytearray()
    found = digest_file(tmp_path / "f", block_bytes=16, on_block=seen.extend)
    assert found.size_bytes == size_bytes
    assert found.sha256 == hashlib.sha256(data).hexdigest()
    assert found.digest == digest_bytes(data)
    assert found.blocks == tuple(
        hashlib.sha256(data[start : start + 16]).digest()[:16] for start in range(0, size_bytes, 16)
    )
    assert seen == data


def test_default_block_is_one_mebibyte(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\1" * (BLOCK_BYTES + 1))
    found = digest_file(tmp_path / "f")
    assert len(found.blocks) == 2
    assert found.blocks[1] == hashlib.sha256(b"\1").digest()[:16]


def test_no_block_of_no_bytes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="block_bytes"):
        digest_file(tmp_path / "f", block_bytes=0)
