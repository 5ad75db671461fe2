from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.decide.pairs import SignatureFile, compared_chunks, pairs_of_partition
from dataprep.decide.partitions import band_records, num_partitions, read_partition, write_partitions
from dataprep.kernels.minhash import estimate_ppm, low_bytes
from manifests.errors import UserError
from tests.reference import partitions as slow

Shape = tuple[int, int]
VALUES = 20
EMPTY = 2**32 - 1
SHAPE: Shape = (5, 4)
signature = st.lists(st.sampled_from([5] * 12 + [6, 7]), min_size=VALUES, max_size=VALUES)


def files_of(
    signatures: np.ndarray, ranks: np.ndarray, parts: int, partitions: int, shape: Shape, folder: Path
) -> list[Path]:
    """The documents in so many tasks."""
    files = []
    for part in range(parts):
        (folder / str(part)).mkdir()
        records = band_records(signatures[part::parts], ranks[part::parts], None, *shape)
        files.append(write_partitions(records, partitions, folder / str(part)))
    return files


def lookup_of(signatures: np.ndarray, ranks: np.ndarray, folder: Path) -> SignatureFile:
    rows = np.zeros((ranks.max(initial=-1) + 1, VALUES), dtype=np.uint8)
    rows[ranks] = low_bytes(signatures)
    (folder / "low").write_bytes(rows.tobytes())
    return SignatureFile(folder / "low", VALUES)


@given(
    st.lists(signature, max_size=30),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 8),
    st.integers(1, 9),
    st.sampled_from([0, 5, 20, 80]),
    st.sampled_from([(5, 4), (6, 3), (2, 10), (1, 8)]),
    st.randoms(use_true_random=False),
)
def test_pairs_are_those_of_the_slow_twin(
    drawn: list[list[int]],
    parts: int,
    partitions: int,
    limit: int,
    chunk: int,
    most_records: int,
    shape: Shape,
    random: object,
) -> None:
    """Whatever the files, the partitions, the pieces and the chunks; each pair once in a partition."""
    signatures = np.array(drawn, dtype=np.uint32).reshape(-1, VALUES)
    ranks = np.array(random.sample(range(50), len(drawn)), dtype=np.int64)  # type: ignore[attr-defined]
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = files_of(signatures, ranks, parts, partitions, shape, folder)
        lookup = lookup_of(signatures, ranks, folder)
        found: set[tuple[int, ...]] = set()
        for partition in range(partitions):
            edges, borderline, limited = pairs_of_partition(files, partition, limit, lookup, 500_000, 200_000)
            rows = [*map(tuple, edges.tolist()), *map(tuple, borderline.tolist())]
            assert len({row[:2] for row in rows}) == len(rows)
            assert edges[:, 2].min(initial=10**6) >= 700_000
            assert (np.abs(borderline[:, 2] - 500_000) < 200_000).all()
            found |= set(rows)
            chunks = list(
                compared_chunks(files, partition, limit, lookup, 500_000, 200_000, chunk, most_records)
            )
            assert {tuple(row) for each in chunks for row in each.edges.tolist()} == set(
                map(tuple, edges.tolist())
            )
            assert sum(each.limited for each in chunks) == limited
    rows_of = {rank: row for row, rank in enumerate(ranks.tolist())}
    wanted = sorted(slow.candidates(drawn, ranks.tolist(), shape, limit))
    local = np.array([[rows_of[a], rows_of[b]] for a, b in wanted], dtype=np.int64).reshape(-1, 2)
    estimates = estimate_ppm(low_bytes(signatures), local).tolist()
    assert found == {(*pair, each) for pair, each in zip(wanted, estimates, strict=True) if each > 300_000}


@given(st.lists(signature, max_size=9), st.integers(1, 6))
def test_records_are_those_of_the_slow_twin(drawn: list[list[int]], partitions: int) -> None:
    signatures = np.array(drawn, dtype=np.uint32).reshape(-1, VALUES)
    ranks = np.arange(len(drawn))[::-1].copy()
    records = band_records(signatures, ranks, None, *SHAPE)
    assert records.keys.tolist() == [slow.band_keys(row, SHAPE) for row in drawn]
    with TemporaryDirectory() as name:
        path = write_partitions(records, partitions, Path(name))
        found = [read_partition([path], partition).tolist() for partition in range(partitions)]
        twice = [len(read_partition([path, path], partition)) for partition in range(partitions)]
    wanted = slow.scattered(records.keys.tolist(), ranks.tolist(), partitions)
    assert [list(map(tuple, part)) for part in found] == wanted
    assert twice == [2 * len(part) for part in wanted]


def test_documents_without_words_have_no_records() -> None:
    signatures = np.full((3, VALUES), EMPTY, dtype=np.uint32)
    signatures[1, 3] = 7
    records = band_records(signatures, np.arange(3), np.arange(3).astype(np.uint64), *SHAPE)
    assert records.ranks.tolist() == [1] and len(records) == SHAPE[0] + 1
    assert len(band_records(signatures[:0], np.arange(0), None, *SHAPE)) == 0


def test_texts_of_one_shingle_are_what_their_hash_says(tmp_path: Path) -> None:
    """Equal signatures are chance (of 32 bits) unless the 64 bits of the hash are equal too."""
    signatures = np.ones((5, VALUES), dtype=np.uint32)
    sole = np.array([0, 7, 8, 7, 0], dtype=np.uint64)
    path = write_partitions(band_records(signatures, np.arange(5), None, *SHAPE, sole), 1, tmp_path)
    edges, _, _ = pairs_of_partition([path], 0, 64, lookup_of(signatures, np.arange(5), tmp_path), 750_000)
    assert edges.tolist() == [[0, 4, 10**6], [1, 3, 10**6]]
    apart = np.array([1, 1, 1, 2, 1], dtype=np.uint64)
    path = write_partitions(band_records(signatures, np.arange(5), apart, *SHAPE, sole), 1, tmp_path)
    edges, _, _ = pairs_of_partition([path], 0, 64, lookup_of(signatures, np.arange(5), tmp_path), 750_000)
    assert edges.tolist() == [[0, 4, 10**6]]


def test_groups_are_kept_apart(tmp_path: Path) -> None:
    signatures = np.ones((4, VALUES), dtype=np.uint32)
    groups = np.array([5, 6, 5, 6], dtype=np.uint64)
    path = write_partitions(band_records(signatures, np.arange(4), groups, *SHAPE), 1, tmp_path)
    lookup = lookup_of(signatures, np.arange(4), tmp_path)
    edges, borderline, limited = pairs_of_partition([path], 0, 64, lookup, 750_000)
    assert edges.tolist() == [[0, 2, 10**6], [1, 3, 10**6]] and not len(borderline) and not limited


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    signatures = np.ones((4, VALUES), dtype=np.uint32)
    path = write_partitions(band_records(signatures, np.arange(4), None, *SHAPE), 3, tmp_path)
    with pytest.raises(UserError, match="there are 3 partitions, so none is number 3"):
        read_partition([path], 3)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="does not hold the 24 records"):
        read_partition([path], 0)


def test_too_many_bands_are_refused() -> None:
    with pytest.raises(ValueError, match="255 bands: a key has room for 254"):
        band_records(np.ones((1, 255), dtype=np.uint32), np.arange(1), None, 255, 1)


def test_count_of_partitions() -> None:
    assert num_partitions(0, 14, 1 << 30) == 1
    assert num_partitions(20_000_000, 14, 10**9) == 77
    assert num_partitions(10**10, 14, 16 * 10**9) == 2400
