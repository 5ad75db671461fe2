"""Whole runs that look for duplicates: nothing that says how work is cut changes what stays."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer

import dataprep.arrayfile as arrayfile
import dataprep.task as task
from dataprep.decide import partitions
from dataprep.stages import copies, groups, rank, repeats, settle
from manifests.errors import UserError
from manifests.store import open_corpus
from tests.e2e.corpora import digests, sentence
from tests.e2e.duplicates import ELSEWHERE, STEPS, dedup, kept, page, pages, verdicts, write_pages
from tests.reference import substrings as slow
from tests.reference.hashing import murmur


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # half of the time


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one process, in one piece."""
    folder = tmp_path_factory.mktemp("plain")
    write_pages(folder / "in", pages())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        dedup(folder)
    return folder


def shards(folder: Path) -> dict[str, str]:
    return {name: each for name, each in digests(folder / "out").items() if name.endswith((".bin", ".idx"))}


def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of few documents, and many partitions."""
    monkeypatch.setattr(groups, "GROUP_DOCUMENTS", 5)
    monkeypatch.setattr(rank, "RANKED_AT_ONCE", 7)
    monkeypatch.setattr(settle, "SETTLED_AT_ONCE", 3)
    monkeypatch.setattr(copies, "SORTED_BYTES", 1 << 17)
    monkeypatch.setattr(repeats, "BYTES_A_BYTE", 1 << 10)
    monkeypatch.setattr(partitions, "HELD_BYTES", 1 << 12)


def remake(folder: Path, workers: int = 0, **changes: Any) -> dict[str, int]:
    """Run again from nothing."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    shutil.rmtree(folder / "out.work", ignore_errors=True)
    return dedup(folder, workers, **changes).tasks_run


def test_every_kind_of_duplicate_is_there(plain: Path) -> None:
    reasons = {reason for row in verdicts(plain).values() for reason in row["reasons"]}
    assert {reason.split(":")[0] for reason in reasons} == {
        "where",
        "exact_dedup",
        "exact_dedup#2",
        "minhash_dedup",
        "empty_text",
    }
    assert {verdicts(plain)[f"{which} 3"]["match_id"] for which in ("page", "copy")} < {
        "page 3",
        "copy 3",
        None,
    }
    assert verdicts(plain)["copy 4"]["match_id"] == "near 4"  # which took page 4 away, its first match
    assert verdicts(plain)["near 4"]["cluster_size"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 7])
def test_any_number_of_workers_writes_the_same_bytes(plain: Path, workers: int) -> None:
    before = digests(plain / "out")
    remake(plain, workers)
    assert digests(plain / "out") == before


def test_small_groups_and_many_partitions_write_the_same_bytes(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digests(plain / "out")
    cut_small(monkeypatch)
    ran = remake(plain, memory="1MiB")
    cut = ("line_dedup repeats", "exact_dedup copies", "exact_dedup#2 copies", "minhash_dedup pairs")
    assert all(ran[stage] > 3 for stage in cut), ran
    assert digests(plain / "out") == before


@pytest.mark.parametrize("files", [1, 4])
def test_shuffled_files_and_lines_leave_the_same_documents(
    plain: Path, tmp_path: Path, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_small(monkeypatch)
    write_pages(tmp_path / "in", pages(), files, Random(files))
    dedup(tmp_path)
    assert verdicts(tmp_path) == verdicts(plain)
    assert shards(tmp_path) == shards(plain)


RULE = {"where": {"fields": {"kind": {"not_in": ["bad"]}}, "missing": "keep"}}


def test_a_document_that_a_rule_drops_takes_no_copies_with_it_wherever_the_rule_stands(
    tmp_path: Path,
) -> None:
    """The best copies are dropped by the rule."""
    records = [
        {"id": f"{kind} {number}", "text": page(f"p{number}", *more), "url": "", "kind": kind, "date": ""}
        for number in range(4)
        for kind, more in (("bad", ["More of the river."] * 3), ("good", []), ("worse", []))
    ]
    write_pages(tmp_path / "in", records)
    found = []
    for steps in permutations([RULE, {"exact_dedup": {"keep": ["longest"]}}, {"minhash_dedup": {}}]):
        dedup(tmp_path, steps=list(steps))
        rows = verdicts(tmp_path)
        found.append({name: (row["verdict"], row["match_id"]) for name, row in rows.items()})
        assert all(rows[row["match_id"]]["verdict"] != "dropped" for row in rows.values() if row["match_id"])
    assert all(each == found[0] for each in found)
    for number in range(4):
        assert len({f"good {number}", f"worse {number}"} & kept(tmp_path)) == 1


def test_a_chain_does_not_let_its_first_remove_its_last(tmp_path: Path) -> None:
    """Each is similar to the next alone; the longest stays, then every second."""
    sentences = [sentence(f"chain {number}") for number in range(40)]
    records = [
        {"id": str(number), "text": " ".join([*sentences[2 * number : 2 * number + 12], "so"][: 13 - number])}
        for number in range(6)
    ]
    write_pages(tmp_path / "in", records, files=2)
    sources = {"all": {"path": [str(tmp_path / "in" / "web-*.jsonl"), str(tmp_path / "in" / "more-*.jsonl")]}}
    sources["all"]["id"] = "id"
    steps = [{"minhash_dedup": {"threshold": 0.55, "keep": ["longest"]}}]
    dedup(tmp_path, sources=sources, steps=steps)
    rows = verdicts(tmp_path)
    matches = {name: row["match_id"] for name, row in sorted(rows.items())}
    assert matches == {"0": None, "1": "0", "2": None, "3": "2", "4": None, "5": "4"}
    assert [row["cluster_size"] for _, row in sorted(rows.items())] == [2, 1, 2, 1, 2, 1]


def one_source(folder: Path, texts: list[str], **changes: Any) -> dict[str, dict[str, Any]]:
    records = [
        {"id": f"{place:03d}", "text": text, "url": "", "kind": "", "date": ""}
        for place, text in enumerate(texts)
    ]
    write_pages(folder / "in", records, files=2)
    sources = {"web": {"path": str(folder / "in" / "*.jsonl"), "id": "id", "carry": ["url", "kind", "date"]}}
    steps = [*STEPS[:3], {"substring_dedup": {"length": 80}}, *STEPS[4:]]
    dedup(folder, sources=sources, steps=changes.pop("steps", steps), **changes)
    return verdicts(folder)


@pytest.mark.parametrize("steps", [STEPS[4:], None])
def test_all_documents_identical(tmp_path: Path, steps: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With steps that take out lines and passages the copies are empty before they are compared."""
    cut_small(monkeypatch)
    rows = one_source(tmp_path, [page("same")] * 30, **({"steps": steps} if steps else {}))
    (name,) = kept(tmp_path)
    assert rows[name]["cluster_size"] == (30 if steps else 1)
    if steps:
        assert {row["match_id"] for row in rows.values()} == {name, None}


def test_one_document_and_short_ones_among_empty_ones(tmp_path: Path) -> None:
    rows = one_source(tmp_path, ["", "", " ", "a", "", "b", "a", "!", "!", "中"], steps=STEPS[4:])
    assert {"002", "005", "009"} < kept(tmp_path)
    assert len({"003", "006"} & kept(tmp_path)) == len({"007", "008"} & kept(tmp_path)) == 1
    assert {row["match_id"] for row in rows.values()} == {None, "003", "006", "007", "008"} & {
        None,
        *kept(tmp_path),
    }


@pytest.mark.parametrize("text", ["", page("one")])
def test_nothing_to_compare(tmp_path: Path, text: str) -> None:
    """One document, with a hundred empty ones or alone."""
    texts = [""] * 100 + [page("one")] if not text else [text]
    one_source(tmp_path, texts)
    assert len(kept(tmp_path)) == 1


def test_many_short_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch)
    texts = [f"{number % 40} mills" for number in range(120)]
    one_source(tmp_path, texts, steps=[{"exact_dedup": {}}, {"minhash_dedup": {}}])
    assert {texts[int(name)] for name in kept(tmp_path)} == set(texts)
    assert len(kept(tmp_path)) == 40


def test_other_scripts(tmp_path: Path) -> None:
    texts = [*ELSEWHERE, *(f"{text} ！" for text in ELSEWHERE), *ELSEWHERE]
    rows = one_source(tmp_path, texts, steps=STEPS[4:])
    assert len(kept(tmp_path)) == 5
    assert sorted(row["cluster_size"] for row in rows.values()) == [1] * 10 + [3] * 5


@pytest.mark.parametrize("steps", [STEPS[4:], None])
def test_all_documents_empty(tmp_path: Path, steps: Any) -> None:
    changes = {"steps": steps} if steps else {}
    with pytest.raises(UserError) as refused:
        one_source(tmp_path, [""] * 12, **changes)
    assert "no document" in str(refused.value)
    one_source(tmp_path, ["", " \n", ""] * 4, **changes)
    assert len(kept(tmp_path)) == 1  # white space is text


def test_passages_are_counted_in_the_tokens_of_a_vocabulary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same parts are cut as the rule says, of every document, in any cut of the work."""
    cut_small(monkeypatch)
    one_source(tmp_path, [page("words"), *ELSEWHERE], steps=[])
    tokenizer = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    parts = [sentence(f"part {number}") for number in range(6)]
    chance = Random(5)
    texts = [" ".join(chance.choices(parts, k=5)) + chance.choice(["", ELSEWHERE[0]]) for _ in range(12)]
    path = tmp_path / "tokenizer.json"
    shutil.copyfile(tmp_path / "out" / "tokenizer.json", path)
    steps = [{"substring_dedup": {"tokens": {"file": str(path)}, "length": 20, "keep": ["longest"]}}]
    one_source(tmp_path, texts, steps=steps)
    order = sorted(range(len(texts)), key=lambda at: (-len(texts[at].encode()), murmur(texts[at].encode())))
    ids = [tokenizer.encode(texts[at]).ids for at in order]
    expected = {}
    for at, mine, gone in zip(order, ids, slow.cut(ids, 20), strict=True):
        left = [token for place, token in enumerate(mine) if place not in gone]
        expected[f"{at:03d}"] = (len(gone), tokenizer.decode(left))
    assert sum(gone > 0 and text > "" for gone, text in expected.values()) > 3
    found = texts_of(tmp_path)
    assert found == {name: text for name, (_, text) in expected.items() if text}


def texts_of(folder: Path) -> dict[str, str]:
    """Id -> text of what is in the shards."""
    corpus = open_corpus(folder / "out")
    tokenizer = Tokenizer.from_file(str(folder / "out" / "tokenizer.json"))
    found = {}
    for shard in corpus.shards:
        ids = pq.read_table(folder / "out" / f"{shard.name}.documents.parquet").column("id").to_pylist()
        for place, name in enumerate(ids):
            found[name] = tokenizer.decode(corpus.reader(shard).document(place).tolist()[:-1])
    return found


@contextmanager
def small_files(monkeypatch: pytest.MonkeyPatch, limit: int) -> Iterator[None]:
    """Files end at `limit` bytes, as if the disk were full there."""
    full = (*arrayfile.FULL, errno.EFBIG)  # what this limit gives
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with monkeypatch.context() as patch:
        patch.setattr(arrayfile, "FULL", full)
        patch.setattr(task, "FULL", full)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("limit", "stage", "needed"),
    [(100_000, "measure", 33 * 4 * 1024), (140_000, "minhash_dedup bands", None)],
)
def test_a_disk_that_is_full_in_the_middle_of_signatures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, stage: str, needed: int | None
) -> None:
    """The run says what it needs, and goes on where it was."""
    write_pages(tmp_path / "in", pages())
    steps = [{"minhash_dedup": {"permutations": 1024, "bands": 128, "rows": 8}}]
    if needed is None:
        steps[0]["minhash_dedup"].update(permutations=500, bands=250, rows=2)
    with small_files(monkeypatch, limit), pytest.raises(UserError) as caught:
        dedup(tmp_path, steps=steps)
    found = re.search(r"is full \(([\d,]+) bytes free, a file needs ([\d,]+)\)", str(caught.value))
    assert found is not None, str(caught.value)
    free, wanted = (int(number.replace(",", "")) for number in found.groups())
    assert free > 0
    assert wanted > (needed or limit)
    assert not list((tmp_path / "out.work" / "tmp").iterdir())
    ran = dedup(tmp_path, steps=steps).tasks_run
    assert next(iter(ran)) == stage
    before = digests(tmp_path / "out")
    remake(tmp_path, steps=steps)
    assert digests(tmp_path / "out") == before
