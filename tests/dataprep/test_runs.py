from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.keys import document_order, key_buckets, key_words
from dataprep.runs import (
    DOCUMENTS_FILE,
    SUBSETS,
    TOKENS_FILE,
    RunFacts,
    fitted,
    open_run,
    rows_in_buckets,
    sum_histograms,
    write_run,
)
from manifests.errors import UserError
from manifests.fingerprint import digest_file
from tests.dataprep.documents import Document, document, document_lists, flat, table_of, write
from tests.reference import tokens as twin


def fresh(tmp_path: Path) -> Path:
    """A folder that does not exist: hypothesis gives all examples the same tmp_path."""
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
    return tmp_path / "run"


def rows(directory: Path, subset: str, lo: int = 0, hi: int = 1 << 16) -> list[tuple[Any, ...]]:
    run = open_run(directory)
    first, last = rows_in_buckets(run, subset, lo, hi)
    return [
        (each["position"], run.tokens[each["token_start"] : each["token_start"] + each["tokens"]].tolist())
        for each in run.documents.slice(first, last - first).to_pylist()
    ]


def expected(
    documents: Sequence[Document], subset: str, lo: int = 0, hi: int = 1 << 16
) -> list[tuple[Any, ...]]:
    return [(each["position"], each["tokens"]) for each in twin.packed(documents, subset, lo, hi)]


@settings(max_examples=20)
@given(document_lists(), st.integers(0, 1 << 16), st.integers(0, 1 << 16))
def test_reads_back_sorted_by_subset_and_key(
    tmp_path_factory: pytest.TempPathFactory, documents: list[Document], lo: int, hi: int
) -> None:
    folder = fresh(tmp_path_factory.getbasetemp())
    facts = write(folder, documents)
    for subset in SUBSETS:
        assert rows(folder, subset) == expected(documents, subset)
        assert rows(folder, subset, lo, hi) == (expected(documents, subset, lo, hi) if lo < hi else [])
        members = [each for each in documents if each["subset"] == subset]
        assert (subset in facts.subsets) == bool(members)
        if members:
            found = facts.subsets[subset]
            assert found.documents == len(members)
            assert found.tokens == sum(len(each["tokens"]) for each in members)
            assert found.text_bytes == sum(each["text_bytes"] for each in members)
    assert facts.max_token_id == max((max(each["tokens"]) for each in documents), default=-1)
    for name, digest in facts.files.items():
        assert digest == digest_file(folder / name).digest
    assert RunFacts.from_json(json.loads(json.dumps(facts.to_json()))) == facts


@settings(max_examples=20)
@given(document_lists(max_size=10), st.randoms(use_true_random=False))
def test_bytes_ignore_the_order_of_documents(
    tmp_path_factory: pytest.TempPathFactory, documents: list[Document], random: Any
) -> None:
    folder = fresh(tmp_path_factory.getbasetemp())
    facts = write(folder, documents)
    random.shuffle(documents)
    assert write(fresh(tmp_path_factory.getbasetemp()), documents) == facts


@settings(max_examples=20)
@given(document_lists(max_size=10), st.data())
def test_tokens_may_come_in_parts_of_whole_documents(
    tmp_path_factory: pytest.TempPathFactory, documents: list[Document], data: st.DataObject
) -> None:
    facts = write(fresh(tmp_path_factory.getbasetemp()), documents)
    tokens, lengths = flat(documents)
    borders = sorted(data.draw(st.lists(st.integers(0, len(documents)), max_size=4)))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    parts = np.split(tokens, ends[borders])
    folder = fresh(tmp_path_factory.getbasetemp())
    folder.mkdir()
    dtype = np.dtype("uint16")
    assert (
        write_run(folder, table_of(documents), [fitted(part, dtype) for part in parts], lengths, dtype)
        == facts
    )


@settings(max_examples=20)
@given(document_lists())
def test_histograms_add_up_over_runs(
    tmp_path_factory: pytest.TempPathFactory, documents: list[Document]
) -> None:
    facts = []
    for part in (documents[::2], documents[1::2]):
        facts.append(write(fresh(tmp_path_factory.getbasetemp()), part))
    for subset in SUBSETS:
        histogram = sum_histograms(facts, subset)
        assert histogram.shape == (65536,)
        wanted = np.zeros(65536, dtype=np.int64)
        for each in documents:
            if each["subset"] == subset:
                wanted[int.from_bytes(each["key"][:2], "big")] += len(each["tokens"])
        assert np.array_equal(histogram, wanted)


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=20), st.integers(0, 3))
def test_the_order_of_keys_is_the_order_of_numbers(keys: list[bytes], skip: int) -> None:
    column = pa.array(keys, pa.binary(16)).slice(skip)
    numbers = [int.from_bytes(key, "big") for key in keys[skip:]]
    assert [(int(high) << 64) + int(low) for high, low in key_words(column)] == numbers
    assert key_buckets(column).tolist() == [number >> 112 for number in numbers]
    documents = [document(number, key, [1]) for number, key in enumerate(keys)]
    order = document_order(table_of(documents))
    assert sorted(numbers) == sorted(numbers, key=lambda n: n.to_bytes(16, "big"))
    assert [keys[row] for row in order] == sorted(keys)


def test_uint32_ids_fit_the_dtype_of_the_corpus_or_are_refused(tmp_path: Path) -> None:
    big = [document(0, bytes(16), [65535, 70000])]
    facts = write(tmp_path / "wide", big, "int32")
    assert facts.max_token_id == 70000
    assert open_run(tmp_path / "wide").tokens.tolist() == [65535, 70000]
    with pytest.raises(UserError, match=r"70,000 does not fit uint16"):
        write(tmp_path / "narrow", big)
    assert list((tmp_path / "narrow").iterdir()) == []
    with pytest.raises(UserError, match="does not fit"):
        write_run(
            tmp_path, table_of(big), np.array([-1, 5], dtype=np.int64), np.array([2]), np.dtype("uint16")
        )
    with pytest.raises(UserError, match=r"70,000 does not fit uint16"):
        fitted(np.array([3, 70000], dtype=np.uint32), np.dtype("uint16"))


def test_documents_without_tokens_or_with_too_many_are_refused(tmp_path: Path) -> None:
    documents = [document(7, bytes(16), [1], path="x/y.jsonl"), document(8, bytes(16), [], path="x/z.jsonl")]
    with pytest.raises(UserError, match="0 tokens") as error:
        write(tmp_path / "run", documents)
    assert error.value.where == "x/z.jsonl, position 8"
    table = table_of(documents[:1])
    # As many tokens as this are not in memory: the check comes before anything is copied.
    endless = np.broadcast_to(np.zeros(1, dtype=np.uint16), 2**31)
    with pytest.raises(UserError, match="2,147,483,648 tokens"):
        write_run(tmp_path, table, endless, np.array([2**31], dtype=np.int64), np.dtype("uint16"))


def test_wrong_tables_are_refused(tmp_path: Path) -> None:
    documents = [document(0, bytes(16), [1]), document(1, bytes(16), [2])]
    tokens, lengths = flat(documents)
    dtype = np.dtype("uint16")
    with pytest.raises(ValueError, match=r"unknown subsets \['test'\]"):
        write(tmp_path / "a", [{**documents[0], "subset": "test"}])
    with pytest.raises(ValueError, match="3 tokens"):
        write_run(tmp_path, table_of(documents), np.append(tokens, tokens[:1]), lengths, dtype)
    longer = [document(0, bytes(16), [1, 2]), documents[1]]
    with pytest.raises(ValueError, match="from one array of tokens into the next"):
        write_run(tmp_path, table_of(longer), np.split(flat(longer)[0], [1]), flat(longer)[1], dtype)
    with pytest.raises(KeyError, match="key"):
        write_run(tmp_path, table_of(documents).drop_columns("key"), tokens, lengths, dtype)
    null = table_of(documents).set_column(4, "path", pa.array(["a", None]))
    with pytest.raises(ValueError, match="null"):
        write_run(tmp_path, null, tokens, lengths, dtype)


def test_damaged_runs_are_refused_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write(folder, [document(0, bytes(16), [1, 2, 3])])
    tokens = (folder / TOKENS_FILE).read_bytes()
    (folder / TOKENS_FILE).write_bytes(tokens[:-1])
    with pytest.raises(UserError, match="5 bytes") as error:
        open_run(folder)
    assert error.value.where == str(folder / TOKENS_FILE)
    (folder / TOKENS_FILE).unlink()
    with pytest.raises(UserError, match="not a run"):
        open_run(folder)
    (folder / TOKENS_FILE).write_bytes(tokens)
    whole = (folder / DOCUMENTS_FILE).read_bytes()
    for damaged in (b"", whole[:-20], b"x" * 100):
        (folder / DOCUMENTS_FILE).write_bytes(damaged)
        with pytest.raises(UserError, match="not a run") as error:
            open_run(folder)
        assert error.value.where == str(folder / DOCUMENTS_FILE)
    with pa.OSFile(str(folder / DOCUMENTS_FILE), "wb") as sink, pa.ipc.new_file(sink, pa.schema([])):
        pass
    with pytest.raises(UserError, match="not a run"):
        open_run(folder)
