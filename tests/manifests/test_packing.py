"""The file of a packing: read back as written, refused when it is another, checked against its shard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manifests.packing import (
    HEADER,
    Packing,
    PackingError,
    misfits,
    open_packing,
    packing_path,
    packing_size_bytes,
    write_packing,
)

OFFSETS = np.array([0, 9, 12, 16, 17, 19])


def packing() -> Packing:
    """Documents of 9, 3, 4, 1 and 2 tokens in rows of at most 5."""
    return Packing(
        4,
        np.array([0, 1, 2, 4, 5]),
        np.array([0, 4, 9, 17, 12]),
        np.array([5, 5, 3, 2, 4], np.int32),
    )


def test_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = packing_path(tmp_path / "code-train-00000", 4)
    write_packing(path, packing())
    found = open_packing(path)
    assert path.name == "code-train-00000.packing-4"
    assert path.stat().st_size == packing_size_bytes(4, 5)
    assert (found.sequence_length, found.num_rows, found.num_tokens, found.num_targets) == (4, 4, 19, 14)
    assert [pair[0].tolist() for pair in map(found.pieces, range(4))] == [[0], [4], [9, 17], [12]]
    assert found.pieces(2)[1].tolist() == [3, 2]
    for row in (-1, 4):
        with pytest.raises(IndexError, match=f"row {row} of 4"):
            found.pieces(row)
    assert list(misfits(found, OFFSETS)) == []


def test_an_empty_packing(tmp_path: Path) -> None:
    empty = Packing(4, np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))
    write_packing(tmp_path / "none", empty)
    found = open_packing(tmp_path / "none")
    assert (found.num_rows, found.num_tokens) == (0, 0)
    assert list(misfits(found, np.array([0, 1, 2]))) == []
    assert list(misfits(found, np.array([0, 1, 3]))) == ["0 documents are packed; 1 have targets"]


def test_golden_bytes(tmp_path: Path) -> None:
    write_packing(tmp_path / "packing", packing())
    data = (tmp_path / "packing").read_bytes()
    words = np.frombuffer(data[8 : HEADER.size + 8 * 10], "<i8").tolist()
    assert data[:8] == b"HRPACK\x00\x01"
    assert words == [4, 4, 5, 0, 1, 2, 4, 5, 0, 4, 9, 17, 12]
    assert np.frombuffer(data[HEADER.size + 80 :], "<i4").tolist() == [5, 5, 3, 2, 4]


def test_a_file_that_is_no_packing(tmp_path: Path) -> None:
    path = tmp_path / "packing"
    with pytest.raises(PackingError, match="cannot be read"):
        open_packing(path)
    write_packing(path, packing())
    whole = path.read_bytes()
    for data, what in (
        (b"", "no packing"),
        (whole[:20], "no packing"),
        (b"HRPACK\x00\x02" + whole[8:], "another version"),
        (whole[:-1], "has 131 bytes; its header says 132"),
        (whole + b"\0", "has 133 bytes"),
        (whole[:16] + (2**60).to_bytes(8, "little") + whole[24:], "its header says"),
        (whole[:32] + (1).to_bytes(8, "little") + whole[40:], "do not hold all"),
    ):
        path.write_bytes(data)
        with pytest.raises(PackingError, match=what) as caught:
            open_packing(path)
        assert caught.value.where == str(path)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"first_piece": [0, 1, 1, 4, 5]}, "row 1 holds no piece"),
        ({"length": [5, 5, 3, 1, 4]}, "piece 3 has 1 tokens; 2 to 5 are possible"),
        ({"length": [5, 6, 3, 2, 4]}, "piece 1 has 6 tokens"),
        ({"first_piece": [0, 1, 2, 3, 5]}, "row 3 holds 6 tokens; it has room for 5"),
        ({"start": [0, 3, 9, 17, 12]}, "piece 1, tokens 3 to 8, does not go on"),
        ({"start": [0, 5, 9, 17, 12]}, "piece 1, tokens 5 to 10, does not go on"),
        ({"length": [4, 5, 3, 2, 4]}, "piece 1, tokens 4 to 9, does not go on"),
        ({"length": [5, 4, 3, 2, 4]}, "piece 1, tokens 4 to 8, does not go on"),
        ({"start": [0, 4, 10, 17, 12]}, "piece 2, tokens 10 to 13, does not go on"),
        ({"start": [0, 4, 9, 18, 12]}, "piece 3 reaches beyond the shard, which has 19 tokens"),
        ({"start": [0, 4, 9, 2**63 - 2, 12]}, "piece 3 reaches beyond the shard, which has 19 tokens"),
        ({"start": [-1, 4, 9, 17, 12]}, "piece 0 reaches beyond the shard"),
        (
            {"first_piece": [0, 1, 2, 4], "start": [0, 4, 9, 17], "length": [5, 5, 3, 2]},
            "3 documents are packed; 4 have targets",
        ),
        (
            {"first_piece": [0, 1, 2, 3, 4, 5], "start": [0, 0, 4, 9, 12], "length": [5, 5, 5, 3, 4]},
            "does not go on",
        ),
    ],
)
def test_a_packing_that_does_not_fit_its_shard(changes: dict[str, list[int]], what: str) -> None:
    arrays = {
        name: np.array(values, np.int32 if name == "length" else np.int64) for name, values in changes.items()
    }
    found = list(misfits(replace(packing(), **arrays), OFFSETS))
    assert len(found) == 1 and what in found[0]
