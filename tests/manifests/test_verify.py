"""Damage of every kind, and whether its place is named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from manifests import check as check_module
from manifests.fingerprint import digest_file
from manifests.lists import read_shard_list
from manifests.manifest import ManifestError, load_manifest, manifest_digest
from manifests.seal import seal_corpus
from manifests.shard import bin_path, blocks_path, idx_path, table_path
from manifests.tables import read_document_table, write_document_table
from manifests.verify import Problem, VerifyReport, verify
from tests.manifests.corpora import DEFAULT_PARTS, Part, make_corpus

MIB = 1 << 20

# One shard of more than two blocks: 1.3 M tokens of two bytes.
BIG = Part("code", "train", (300_000, 400_000, 600_000))
SUFFIXES = (".bin", ".idx", ".blocks", ".documents.parquet")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    make_corpus(folder, [BIG, *DEFAULT_PARTS])
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "corpus"))


def flip(path: Path, offset_bytes: int) -> None:
    with open(path, "r+b") as stream:
        stream.seek(offset_bytes)
        byte = stream.read(1)[0]
        stream.seek(offset_bytes)
        stream.write(bytes([byte ^ 1]))


def swap(one: Path, other: Path) -> None:
    os.replace(one, one.with_name("aside"))
    os.replace(other, one)
    os.replace(one.with_name("aside"), other)


def found(report: VerifyReport) -> list[tuple[str, int | None, int | None]]:
    return [(problem.file, problem.block, problem.offset_bytes) for problem in report.problems]


# --- sound -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", ["", "manifest.json"])
def test_sound(quick: bool, name: str, sound: Path) -> None:
    report = verify(sound / name, quick=quick)
    assert report.ok and report.problems == () and report.warnings == ()
    assert (report.corpus, report.version, report.quick) == ("tiny", "1.0.0", quick)
    assert report.content_digest == load_manifest(sound).content_digest
    assert (report.shards, report.documents, report.tokens) == (5, 13, 1_300_039)
    files = [path for path in sound.rglob("*") if path.is_file()]
    assert report.files == len(files) == 4 + 4 * 5
    assert report.bytes == sum(path.stat().st_size for path in files)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("workers", [1, 4])
def test_progress(quick: bool, workers: int, sound: Path) -> None:
    calls: list[tuple[int, int]] = []
    verify(sound, quick=quick, workers=workers, progress=lambda done, total: calls.append((done, total)))
    shard_bytes = sum(path.stat().st_size for path in sound.rglob("*/*") if path.is_file())
    assert {total for _, total in calls} == {shard_bytes}
    dones = [done for done, _ in calls]
    assert dones == sorted(dones) and dones[-1] == shard_bytes
    assert len(calls) >= (5 if quick else 5 * 4)


def test_empty_shard(tmp_path: Path) -> None:
    make_corpus(tmp_path, [Part("code", "train", (3,)), Part("code", "holdout", ())])
    assert verify(tmp_path).ok and verify(tmp_path, quick=True).ok


@pytest.mark.parametrize("vocab_size", [65_499, 65_500, 70_000])
def test_both_dtypes(vocab_size: int, tmp_path: Path) -> None:
    make_corpus(tmp_path, vocab_size=vocab_size)
    assert verify(tmp_path).ok


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="there is no manifest here"):
        verify(tmp_path)


# --- one damaged file --------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset_bytes", [0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, 2_599_999])
@pytest.mark.parametrize("workers", [1, 3])
def test_one_byte_of_tokens(offset_bytes: int, workers: int, folder: Path) -> None:
    flip(folder / "code/train-00000.bin", offset_bytes)
    block = offset_bytes // MIB
    report = verify(folder, workers=workers)
    assert found(report) == [("code/train-00000.bin", block, block * MIB)]
    assert str(report.problems[0]) == (
        f"code/train-00000.bin, block {block}, byte {block * MIB:,}: the block is damaged"
    )
    assert verify(folder, quick=True).ok  # which reads no tokens


def test_several_blocks(folder: Path) -> None:
    flip(folder / "code/train-00000.bin", 5)
    flip(folder / "code/train-00000.bin", 2 * MIB + 5)
    assert [block for _, block, _ in found(verify(folder))] == [0, 2]


def test_many_blocks_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "MAX_BLOCKS_NAMED", 1)
    (folder / "code/train-00000.bin").write_bytes(bytes(2_600_000))
    first, rest = verify(folder).problems
    assert (first.block, rest.block) == (0, None)
    assert rest.what == "and 2 more damaged blocks of 3"


@pytest.mark.parametrize("size_bytes", [0, 1, MIB, MIB + 7, 2_599_998])
@pytest.mark.parametrize("quick", [False, True])
def test_cut_tokens(size_bytes: int, quick: bool, folder: Path) -> None:
    os.truncate(folder / "code/train-00000.bin", size_bytes)
    report = verify(folder, quick=quick)
    assert found(report) == [("code/train-00000.bin", size_bytes // MIB, size_bytes)]
    assert f"cut: {size_bytes:,} of 2,600,000 bytes" in report.problems[0].what


@pytest.mark.parametrize("quick", [False, True])
def test_longer_tokens(quick: bool, folder: Path) -> None:
    os.truncate(folder / "code/train-00000.bin", 2_600_001)
    report = verify(folder, quick=quick)
    assert found(report) == [("code/train-00000.bin", 2, 2_600_000)]
    assert "too long: 2,600,001 bytes, not 2,600,000" in report.problems[0].what


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("size_bytes", [0, 33, 34, 101])
def test_cut_index(size_bytes: int, quick: bool, folder: Path) -> None:
    os.truncate(folder / "code/train-00001.idx", size_bytes)
    report = verify(folder, quick=quick)
    assert found(report) == [("code/train-00001.idx", 0, size_bytes)]
    assert f"cut: {size_bytes} of 102 bytes" in report.problems[0].what


@pytest.mark.parametrize("offset_bytes", [0, 9, 17, 18, 34, 45, 46, 70, 101])
def test_one_byte_of_an_index(offset_bytes: int, folder: Path) -> None:
    """Named to the byte, since the document table knows what the index should be."""
    flip(folder / "code/train-00001.idx", offset_bytes)
    assert found(verify(folder)) == [("code/train-00001.idx", 0, offset_bytes)]


def test_index_and_table_damaged(folder: Path) -> None:
    flip(folder / "code/train-00001.idx", 50)
    flip(folder / "code/train-00001.documents.parquet", 50)
    assert sorted(found(verify(folder))) == [
        ("code/train-00001.documents.parquet", None, None),
        ("code/train-00001.idx", None, None),
    ]


@pytest.mark.parametrize("offset_bytes", [0, 9, 17])
def test_header_in_a_quick_check(offset_bytes: int, folder: Path) -> None:
    flip(folder / "code/train-00001.idx", offset_bytes)
    assert [file for file, _, _ in found(verify(folder, quick=True))] == ["code/train-00001.idx"]


@pytest.mark.parametrize("suffix", [".blocks", ".documents.parquet"])
def test_one_byte_beside(suffix: str, folder: Path) -> None:
    flip(folder / f"code/train-00000{suffix}", 20)
    report = verify(folder)
    assert found(report) == [(f"code/train-00000{suffix}", None, None)]


def test_tokens_and_block_digests_damaged(folder: Path) -> None:
    """Then the block cannot be named, but the file is."""
    flip(folder / "code/train-00000.blocks", 20)
    flip(folder / "code/train-00000.bin", 20)
    assert found(verify(folder)) == [
        ("code/train-00000.blocks", None, None),
        ("code/train-00000.bin", None, None),
    ]


@pytest.mark.parametrize("quick", [False, True])
def test_cut_block_digests(quick: bool, folder: Path) -> None:
    os.truncate(folder / "code/train-00000.blocks", 47)
    assert found(verify(folder, quick=quick)) == [("code/train-00000.blocks", 0, 47)]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing(suffix: str, quick: bool, folder: Path) -> None:
    (folder / f"prose/train-00000{suffix}").unlink()
    report = verify(folder, quick=quick)
    assert found(report) == [(f"prose/train-00000{suffix}", None, None)]
    assert report.problems[0].what == "the file is missing"
    assert report.files == 4 + 4 * 5 - 1


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_where_a_file_should_be(suffix: str, folder: Path) -> None:
    path = folder / f"prose/train-00000{suffix}"
    path.unlink()
    path.mkdir()
    for quick in (False, True):
        problems = verify(folder, quick=quick).problems
        assert [str(problem) for problem in problems] == [f"prose/train-00000{suffix}: this is not a file"]


def test_a_broken_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file that cannot be read does not hide what is wrong with others."""
    real = digest_file

    def fail(path: str, **arguments: object) -> object:
        if str(path).endswith("train-00001.bin"):
            raise OSError(5, "Input/output error")
        return real(path, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(check_module, "digest_file", fail)
    flip(folder / "prose/train-00000.bin", 3)
    assert [str(problem) for problem in verify(folder).problems] == [
        "code/train-00001.bin: the file cannot be read: Input/output error",
        "prose/train-00000.bin, block 0, byte 0: the block is damaged",
    ]


def test_an_index_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(prefix: Path) -> object:
        raise PermissionError(13, "Permission denied", f"{prefix}.idx")

    monkeypatch.setattr(check_module, "ShardReader", refuse)
    problems = [str(problem) for problem in verify(folder, quick=True).problems]
    assert problems[0] == "code/train-00000.idx: the file cannot be read: Permission denied"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
@pytest.mark.parametrize("quick", [False, True])
def test_a_folder_that_may_not_be_searched(quick: bool, folder: Path) -> None:
    (folder / "prose").chmod(0)
    try:
        report = verify(folder, quick=quick)
    finally:
        (folder / "prose").chmod(0o755)
    assert {problem.file for problem in report.problems} == {
        f"prose/train-00000{suffix}" for suffix in SUFFIXES
    }


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_the_report_does_not_depend_on_workers(workers: int, folder: Path) -> None:
    flip(folder / "prose/train-00000.bin", 3)
    flip(folder / "code/train-00000.bin", MIB)
    (folder / "code/holdout-00000.idx").unlink()
    assert verify(folder, workers=workers) == verify(folder)


# --- swapped shards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("suffixes", [SUFFIXES, (".bin", ".idx")])
def test_swapped(quick: bool, suffixes: tuple[str, ...], folder: Path) -> None:
    for suffix in suffixes:
        swap(folder / f"code/train-00001{suffix}", folder / f"code/train-00002{suffix}")
    report = verify(folder, quick=quick)
    for one, other in (("1", "2"), ("2", "1")):
        said = [problem for problem in report.problems if problem.file == f"code/train-0000{one}.bin"]
        assert f"code/train-0000{other}.bin: the two were swapped" in said[-1].what
    assert {problem.file.partition(".")[0] for problem in report.problems} == {
        "code/train-00001",
        "code/train-00002",
    }


@pytest.fixture
def twins(tmp_path: Path) -> Path:
    """Two shards with documents of the same lengths: only their tokens and keys differ."""
    make_corpus(tmp_path, [Part("code", "train", (3, 5)), Part("code", "train", (3, 5))])
    return tmp_path


def test_swapped_twins(twins: Path) -> None:
    for suffix in SUFFIXES:
        swap(twins / f"code/train-00000{suffix}", twins / f"code/train-00001{suffix}")
    for quick in (False, True):
        report = verify(twins, quick=quick)
        assert {problem.file for problem in report.problems} >= {
            "code/train-00000.documents.parquet",
            "code/train-00001.documents.parquet",
        }
        assert sum("the two were swapped" in problem.what for problem in report.problems) >= 2


def test_swapped_tokens_of_twins(twins: Path) -> None:
    """Nothing but the content gives them away."""
    swap(twins / "code/train-00000.bin", twins / "code/train-00001.bin")
    assert verify(twins, quick=True).ok
    assert [str(problem) for problem in verify(twins).problems] == [
        "code/train-00000.bin, block 0, byte 0: the block is damaged",
        "code/train-00000.bin: it is code/train-00001.bin: the two were swapped",
        "code/train-00001.bin, block 0, byte 0: the block is damaged",
        "code/train-00001.bin: it is code/train-00000.bin: the two were swapped",
    ]


def test_copied_not_swapped(twins: Path) -> None:
    shutil.copy(twins / "code/train-00000.bin", twins / "code/train-00001.bin")
    assert [problem.what for problem in verify(twins).problems] == [
        "the block is damaged",
        "it is code/train-00000.bin",
    ]


# --- the manifest and its side files -----------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"license": "CC0-1.0"', '"license": "MIT"'),
        ('"engine_reason": "a test"', '"engine_reason": "another"'),
        ('"min_score": 0.65', '"min_score": 0.66'),
        ('"created_by": "headrace 0.0.0"', '"created_by": "headrace 0.0.1"'),
    ],
)
def test_edited_description(old: str, new: str, quick: bool, folder: Path) -> None:
    path = folder / "manifest.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert [str(problem) for problem in verify(folder, quick=quick).problems] == [
        "manifest.json: a field was changed after the manifest was written"
    ]


def reseal(change: Callable[[dict[str, object]], None], path: Path) -> None:
    """Edit a manifest as somebody who knows how the digest is made."""
    data = json.loads(path.read_text())
    change(data)
    data["manifest_digest"] = manifest_digest(data)
    path.write_text(json.dumps(data))


def test_forged_counts(folder: Path) -> None:
    def change(data: dict) -> None:
        data["sources"]["prose"]["subsets"]["train"]["tokens"] += 1

    reseal(change, folder / "manifest.json")
    assert [str(problem) for problem in verify(folder, quick=True).problems] == [
        "manifest.json: prose train: the manifest says 9 tokens, its shards add up to 8"
    ]


def test_forged_version(folder: Path) -> None:
    reseal(lambda data: data.update(version="2.0.0"), folder / "manifest.json")
    (problem,) = verify(folder, quick=True).problems
    assert problem.what.startswith("the content digest is sha256:")


def test_unsealed(folder: Path) -> None:
    data = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**data, "manifest_digest": ""}))
    assert not verify(folder, quick=True).ok


@pytest.mark.parametrize("number", ["1e400", '"\\ud800"', "[" * 1_000_000], ids=["huge", "half", "deep"])
def test_a_manifest_that_cannot_be_read(number: str, folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"min_score": 0.65', f'"min_score": {number}'))
    report = verify(folder)
    assert [problem.file for problem in report.problems] == ["manifest.json"]
    assert (report.corpus, report.shards) == ("", 0)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", ["tokenizer.json", "inputs.parquet", "shards.parquet"])
@pytest.mark.parametrize("damage", ["byte", "missing", "text"])
def test_side_files(name: str, damage: str, quick: bool, folder: Path) -> None:
    path = folder / name
    if damage == "byte":
        flip(path, path.stat().st_size // 2)
    elif damage == "missing":
        path.unlink()
    else:
        path.write_text("something else")
    report = verify(folder, quick=quick)
    assert {problem.file for problem in report.problems} == {name}
    if damage == "missing":
        assert [problem.what for problem in report.problems] == ["the file is missing"]


def test_extra_files_are_warnings(folder: Path) -> None:
    for name in ("code/train-00009.bin", "old.idx", ".tmp-0123-train.bin", "report.html", "code/README"):
        (folder / name).write_bytes(b"x")
    (folder / "work").mkdir()
    (folder / "work" / "tokens.bin").write_bytes(b"x")
    report = verify(folder, quick=True)
    assert report.ok
    assert [str(warning) for warning in report.warnings] == [
        ".tmp-0123-train.bin: unfinished work of a run that was stopped",
        "old.idx: the manifest does not list this file",
        "code/train-00009.bin: the manifest does not list this file",
    ]


# --- files that are undamaged and wrong --------------------------------------------------------------------


def rewrite(folder: Path, name: str, **digests: object) -> None:
    """Seal a corpus again after one of its files was changed: a writer with a defect."""
    corpus_shards = read_shard_list(folder / "shards.parquet")
    prefix = folder / name
    changed = {
        "bin_sha256": digest_file(bin_path(prefix)).sha256,
        "idx_sha256": digest_file(idx_path(prefix)).sha256,
        "table_sha256": digest_file(table_path(prefix)).sha256,
        "blocks_sha256": digest_file(blocks_path(prefix)).sha256,
        **digests,
    }
    shards = [shard.model_copy(update=changed) if shard.name == name else shard for shard in corpus_shards]
    seal_corpus(folder, load_manifest(folder), shards)


def set_column(column: str, values: list[object]) -> Callable[[Path], None]:
    def change(prefix: Path) -> None:
        table = read_document_table(table_path(prefix))
        place = table.column_names.index(column)
        array = pa.array(values, table.schema.field(column).type)
        write_document_table(table_path(prefix), table.set_column(place, table.schema.field(column), array))

    return change


def set_tokens(tokens: list[int]) -> Callable[[Path], None]:
    def change(prefix: Path) -> None:
        bin_path(prefix).write_bytes(np.array(tokens, "<u2").tobytes())
        blocks_path(prefix).write_bytes(b"".join(digest_file(bin_path(prefix)).blocks))

    return change


@pytest.mark.parametrize(
    ("change", "file", "what"),
    [
        (set_column("token_start", [0, 4]), ".documents.parquet", "document 1 has token_start 4; the index"),
        (set_column("tokens", [4, 4]), ".documents.parquet", "document 0 has tokens 4; the index says 5"),
        (set_column("text_bytes", [1, 1]), ".documents.parquet", "2 bytes of text; the manifest says 32"),
        (set_column("cluster_size", [1, -1]), ".documents.parquet", "a cluster_size below 0"),
        (
            set_column("source", ["code", "prose"]),
            ".documents.parquet",
            "documents of code, prose in a shard",
        ),
        (set_column("key", [b"\0" * 16, b"\1" * 16]), ".documents.parquet", "the first key is 0000"),
        (
            set_column("key", [(11).to_bytes(16, "big"), bytes(16)]),
            ".documents.parquet",
            "keys of the documents do not ascend",
        ),
        (set_tokens([1, 2, 3, 4, 5, 6, 7, 0]), ".bin", "the greatest token id is 7, not"),
        (lambda prefix: blocks_path(prefix).write_bytes(bytes(16)), ".blocks", "not the block digests of"),
        (lambda prefix: blocks_path(prefix).write_bytes(bytes(15)), ".blocks", "not the block digests of"),
    ],
)
def test_wrong_and_undamaged(change: Callable[[Path], None], file: str, what: str, folder: Path) -> None:
    name = "prose/train-00000"
    change(folder / name)
    rewrite(folder, name)
    problems = verify(folder).problems
    assert f"{name}{file}" in [problem.file for problem in problems]
    assert any(what in problem.what for problem in problems), problems


def test_a_table_from_before_there_were_sizes_of_clusters(folder: Path) -> None:
    name = "prose/train-00000"
    table = read_document_table(table_path(folder / name)).drop_columns(["cluster_size"])
    pq.write_table(table, table_path(folder / name))
    rewrite(folder, name)
    assert verify(folder).problems == ()


def test_a_document_without_its_end(folder: Path) -> None:
    """A tokenizer swap once dropped special tokens from hundreds of gigabytes, unnoticed."""
    name = "prose/train-00000"
    set_tokens([1, 2, 3, 4, 5, 6, 7, 0])(folder / name)
    rewrite(folder, name, max_token_id=7)
    assert verify(folder).problems == (
        Problem(
            f"{name}.bin",
            0,
            8,
            "1 documents do not end with the end-of-text token 0, first document 0",
        ),
    )


def test_a_document_without_its_beginning(tmp_path: Path) -> None:
    """The second document of a shard begins with another token; the tokens before and after it are sound."""
    make_corpus(tmp_path, prepend_bos=True)
    assert verify(tmp_path).problems == ()
    name = "prose/train-00000"
    set_tokens([1, 2, 3, 4, 5, 0, 6, 7, 8, 0])(tmp_path / name)
    rewrite(tmp_path, name, max_token_id=8)
    assert verify(tmp_path).problems == (
        Problem(
            f"{name}.bin",
            0,
            12,
            "1 documents do not start with the begin-of-text token 1, first document 1",
        ),
    )


def test_documents_of_two_shards_do_not_ascend(twins: Path) -> None:
    name = "code/train-00000"
    set_column("key", [bytes(16), b"\xff" * 16])(twins / name)
    rewrite(twins, name)
    assert [str(problem) for problem in verify(twins).problems] == [
        "code/train-00001.documents.parquet: its first key is below the last key of the shard before"
    ]
