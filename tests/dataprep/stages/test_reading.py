from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from dataprep.kernels.hashing import hash128
from dataprep.readers import Extent, ReadOptions, Split
from dataprep.stages.reading import Reading, in_sample, nothing_read, read_chunks
from tests.dataprep.readers.reading import input_file

OPTIONS = ReadOptions(id="id", carry=("url",))


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    path = tmp_path_factory.mktemp("reading") / "a.jsonl"
    lines = [
        json.dumps({"id": str(row), "text": f"text {row // 2}" * 400, "url": f"u{row}"})
        for row in range(3000)
    ]
    lines[7] = "not json"
    path.write_text("\n".join(lines))
    file = input_file(path)
    return Split("s", "jsonl", (Extent(file, 0, file.size_bytes),))


def all_of(split: Split, options: ReadOptions) -> list[Reading]:
    return list(read_chunks(split, options))


def ids(readings: list[Reading]) -> list[str]:
    return [each for reading in readings for each in reading.batch.ids.to_pylist()]


def test_all_documents_with_their_fields(split: Split) -> None:
    readings = all_of(split, OPTIONS)
    assert len(readings) > 1
    for each in readings:
        batch = each.batch
        assert batch.fields["url"].to_pylist() == [f"u{own_id}" for own_id in batch.ids.to_pylist()]
        assert np.array_equal(batch.raw_hash, hash128(batch.texts.data, batch.texts.offsets))
        assert (each.unsampled_documents, each.unsampled_bytes) == (0, 0)
        assert len(batch) == each.chunk.records.num_rows
    assert len(ids(readings)) == 2999


def test_a_sample_is_the_same_documents_less_the_others(split: Split) -> None:
    whole = all_of(split, OPTIONS)
    sampled = all_of(split, replace(OPTIONS, sample=0.1))
    chosen = ids(sampled)
    assert 200 < len(chosen) < 400
    by_id = {
        own_id: (text, url)
        for each in whole
        for own_id, text, url in zip(
            each.batch.ids.to_pylist(),
            each.batch.texts.to_strings(),
            each.batch.fields["url"].to_pylist(),
            strict=True,
        )
    }
    for each in sampled:
        records = each.chunk.records
        assert records.column("id").equals(each.batch.ids)
        texts = each.batch.texts
        assert texts.to_strings() == records.column("text").to_pylist()
        assert np.array_equal(each.batch.raw_hash, hash128(texts.data, texts.offsets))
        for own_id, text, url in zip(
            each.batch.ids.to_pylist(), texts.to_strings(), each.batch.fields["url"].to_pylist(), strict=True
        ):
            assert by_id[own_id] == (text, url)
    assert [bad for each in sampled for bad in each.chunk.bad] == [
        bad for each in whole for bad in each.chunk.bad
    ]
    documents = sum(len(each.batch) for each in whole)
    text_bytes = sum(each.batch.texts.num_bytes for each in whole)
    assert len(chosen) + sum(each.unsampled_documents for each in sampled) == documents
    kept_bytes = sum(each.batch.texts.num_bytes for each in sampled)
    assert kept_bytes + sum(each.unsampled_bytes for each in sampled) == text_bytes


def test_a_small_sample_is_in_every_larger_one(split: Split) -> None:
    shares = (0.001, 0.01, 0.1, 0.5, 0.9, 1.0)
    samples = [set(ids(all_of(split, replace(OPTIONS, sample=share)))) for share in shares]
    for small, large in itertools.pairwise(samples):
        assert small < large


def test_copies_are_taken_or_left_together(split: Split) -> None:
    chosen = set(ids(all_of(split, replace(OPTIONS, sample=0.3))))
    pairs = [(str(row), str(row + 1)) for row in range(0, 3000, 2) if row not in (6, 7)]
    assert all((first in chosen) == (second in chosen) for first, second in pairs)


def test_the_share_is_kept() -> None:
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**64, size=(100_000, 2), dtype=np.uint64)
    for share in (0.001, 0.2, 0.999999):
        count = int(in_sample(hashes, share).sum())
        assert abs(count - share * 100_000) < 5 * (100_000 * share * (1 - share)) ** 0.5 + 1
    assert in_sample(hashes, 1.0).all()


def test_the_choice_is_pinned() -> None:
    """A change here moves every sample that anybody ever took."""
    hashes = np.array([[row, 2**63 + row] for row in range(8)], dtype=np.uint64)
    chosen = {share: np.flatnonzero(in_sample(hashes, share)).tolist() for share in (0.25, 0.5, 0.75)}
    assert chosen == {0.25: [0, 4], 0.5: [0, 1, 2, 4, 5], 0.75: [0, 1, 2, 4, 5, 7]}


def test_nothing_has_the_right_columns() -> None:
    nothing = nothing_read(OPTIONS)
    assert len(nothing.batch) == 0 and list(nothing.batch.fields) == ["url"]
