from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dataprep.pack import KeyRange, PackedShard, pack_range, plan_cuts
from dataprep.runs import NUM_BUCKETS, SUBSETS, sum_histograms
from manifests.errors import UserError
from manifests.fingerprint import digest_file
from manifests.shard import ShardReader
from manifests.tables import read_document_table
from tests.dataprep.documents import Document, document, document_lists, write
from tests.reference import tokens as twin

UINT16 = np.dtype("uint16")
SUFFIXES = (".bin", ".blocks", ".documents.parquet", ".idx")


def emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def packed_bytes(folder: Path, parts: Sequence[Sequence[Document]], cut: KeyRange) -> dict[str, bytes]:
    """The files of the shard of the training subset, when the documents lie in these runs."""
    runs = [folder / f"run-{number}" for number in range(len(parts))]
    for run, part in zip(runs, parts, strict=True):
        write(run, part)
    pack_range(runs, "train", cut, folder / "shard", UINT16)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@settings(max_examples=15)
@given(
    document_lists(),
    st.randoms(use_true_random=False),
    st.sampled_from([KeyRange(0, NUM_BUCKETS), KeyRange(0, 0x8000), KeyRange(0x8007, NUM_BUCKETS)]),
)
def test_same_bytes_whatever_the_runs(
    tmp_path_factory: pytest.TempPathFactory, documents: list[Document], random: Any, cut: KeyRange
) -> None:
    base = tmp_path_factory.getbasetemp()
    whole = packed_bytes(emptied(base / "one"), [documents], cut)
    for count in (2, 7):
        random.shuffle(documents)
        parts = [documents[index::count] for index in range(count)]
        random.shuffle(parts)
        assert packed_bytes(emptied(base / "many"), parts, cut) == whole


@settings(max_examples=15)
@given(document_lists())
def test_a_shard_holds_the_documents_of_its_range_in_order(
    tmp_path_factory: pytest.TempPathFactory, documents: list[Document]
) -> None:
    folder = emptied(tmp_path_factory.getbasetemp() / "pack")
    runs = [folder / "a", folder / "b"]
    facts = [write(runs[0], documents[::2]), write(runs[1], documents[1::2])]
    found = 0
    for subset in SUBSETS:
        for index, cut in enumerate(plan_cuts(sum_histograms(facts, subset), 10)):
            prefix = folder / f"{subset}-{index}"
            shard = pack_range(runs, subset, cut, prefix, UINT16)
            wanted = twin.packed(documents, subset, cut.lo, cut.hi)
            assert shard is not None
            check(prefix, shard, wanted)
            found += shard.documents
    assert found == len(documents)


def check(prefix: Path, shard: PackedShard, wanted: list[Document]) -> None:
    reader = ShardReader(prefix)
    assert [reader.document(row).tolist() for row in range(reader.num_documents)] == [
        each["tokens"] for each in wanted
    ]
    table = read_document_table(Path(f"{prefix}.documents.parquet")).to_pylist()
    for name in ("id", "source", "path", "position", "key", "content_hash", "text_bytes"):
        assert [row[name] for row in table] == [each[name] for each in wanted]
    assert [row["token_start"] for row in table] == reader.offsets[:-1].tolist()
    assert [row["tokens"] for row in table] == reader.lengths.tolist()
    assert shard.documents == len(wanted)
    assert shard.tokens == reader.num_tokens
    assert shard.text_bytes == sum(each["text_bytes"] for each in wanted)
    assert shard.max_token_id == max(max(each["tokens"]) for each in wanted)
    assert shard.first_key == wanted[0]["key"].hex()
    digests = [digest_file(Path(f"{prefix}{suffix}")) for suffix in SUFFIXES]
    assert [digest.sha256 for digest in digests] == [
        shard.bin_sha256,
        shard.blocks_sha256,
        shard.table_sha256,
        shard.idx_sha256,
    ]
    assert (digests[0].size_bytes, digests[3].size_bytes) == (shard.bin_bytes, shard.idx_bytes)
    assert Path(f"{prefix}.blocks").read_bytes() == b"".join(digests[0].blocks)


def test_a_range_without_documents_leaves_no_shard(tmp_path: Path) -> None:
    write(tmp_path / "run", [document(0, b"\x80" + bytes(15), [1, 2])])
    for subset, cut in [("holdout", KeyRange(0, NUM_BUCKETS)), ("train", KeyRange(0, 0x8000))]:
        assert pack_range([tmp_path / "run"], subset, cut, tmp_path / "shard", UINT16) is None
    assert pack_range([], "train", KeyRange(0, NUM_BUCKETS), tmp_path / "shard", UINT16) is None
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_equal_documents_of_two_files_lie_by_place(tmp_path: Path) -> None:
    same = [
        document(number, bytes(16), [number], id=name, path=path, source=source)
        for number, (source, name, path) in enumerate(
            [("b", None, "p"), ("a", "x", "p"), ("a", None, "q"), ("a", None, "p"), ("a", "", "p")]
        )
    ]
    for number, each in enumerate(same):
        write(tmp_path / str(number), [each])
    pack_range([tmp_path / str(n) for n in range(5)], "train", KeyRange(0, 1), tmp_path / "s", UINT16)
    assert ShardReader(tmp_path / "s").tokens.tolist() == [3, 2, 4, 1, 0]


def test_runs_of_another_dtype_and_damaged_runs_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "run", [document(0, bytes(16), [1, 2])])
    with pytest.raises(ValueError, match="uint16 tokens, not int32"):
        pack_range([tmp_path / "run"], "train", KeyRange(0, 1), tmp_path / "shard", np.dtype("int32"))
    (tmp_path / "run" / "tokens.bin").write_bytes(b"\0")
    with pytest.raises(UserError, match="1 bytes"):
        pack_range([tmp_path / "run"], "train", KeyRange(0, 1), tmp_path / "shard", UINT16)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


histograms = st.dictionaries(st.integers(0, NUM_BUCKETS - 1), st.integers(1, 1000), max_size=12)


def histogram_of(buckets: dict[int, int]) -> np.ndarray:
    histogram = np.zeros(NUM_BUCKETS, dtype=np.int64)
    for bucket, tokens in buckets.items():
        histogram[bucket] = tokens
    return histogram


@given(histograms, st.integers(1, 30))
@example({0: 5}, 5)
@example({NUM_BUCKETS - 1: 5, 0: 5}, 2)
@example({3: 10, 4: 1000, 5: 10}, 102)
@example({0: 192, 5956: 159, 65535: 844, 128: 1}, 2)
def test_cuts_are_the_nearest_borders(buckets: dict[int, int], shards: int) -> None:
    histogram = histogram_of(buckets)
    goal = max(1, int(histogram.sum()) // shards)
    cuts = plan_cuts(histogram, goal)
    if not buckets:
        assert cuts == []
        return
    assert cuts[0].lo == 0
    assert cuts[-1].hi == NUM_BUCKETS
    assert all(left.hi == right.lo for left, right in pairwise(cuts))
    sizes = [int(histogram[cut.lo : cut.hi].sum()) for cut in cuts]
    assert min(sizes) > 0
    # Half a bucket may be missing or too much at either end.
    assert max(sizes) <= goal + max(buckets.values())
    assert [cut.lo for cut in cuts] == twin.cut_borders(histogram.tolist(), goal)


def test_cuts_of_many_documents_are_even() -> None:
    histogram = np.full(NUM_BUCKETS, 100, dtype=np.int64)
    cuts = plan_cuts(histogram, 1_000_000)
    assert len(cuts) == 7
    sizes = [(cut.hi - cut.lo) * 100 for cut in cuts]
    assert max(sizes) - min(sizes) <= 200
    assert len(plan_cuts(histogram, 1)) == NUM_BUCKETS
    assert len(plan_cuts(histogram * 2**40, 10**9)) == NUM_BUCKETS


def test_a_document_longer_than_many_goals_is_alone() -> None:
    histogram = histogram_of({10: 50, 20: 1000, 30: 50})
    assert plan_cuts(histogram, 100) == [KeyRange(0, 11), KeyRange(11, 21), KeyRange(21, NUM_BUCKETS)]


def test_impossible_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 token"):
        plan_cuts(np.zeros(NUM_BUCKETS, dtype=np.int64), 0)
    with pytest.raises(ValueError, match="histogram"):
        plan_cuts(np.zeros(5, dtype=np.int64), 10)
