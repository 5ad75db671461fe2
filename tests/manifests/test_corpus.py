from __future__ import annotations

import json
import os
import resource
import threading
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import numpy as np
import pytest

from manifests import corpus as corpus_module
from manifests.corpus import max_open_shards, open_corpus
from manifests.lists import read_packing_list, read_shard_list, write_shard_list
from manifests.manifest import ManifestError, parse_manifest
from manifests.packing import PackingError
from manifests.packings import seal_packings
from manifests.seal import seal_corpus
from manifests.shard import ShardError
from manifests.tables import TableError
from tests.manifests.corpora import Part, make_corpus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_corpus(tmp_path)
    return tmp_path


def test_open(folder: Path) -> None:
    corpus = open_corpus(folder)
    assert corpus.folder == folder
    assert corpus.manifest.corpus == "tiny"
    assert [shard.index for shard in corpus.shards_of("code", "train")] == [0, 1]
    assert corpus.shards_of("prose", "holdout") == ()
    assert corpus.num_tokens("code", "train") == 25
    first, second = (corpus.reader(shard) for shard in corpus.shards_of("code", "train"))
    assert first.lengths.tolist() == [3, 1, 4] and second.lengths.tolist() == [1, 5, 9, 2]
    assert corpus.reader(corpus.shards[0]) is first
    assert open_corpus(folder / "manifest.json").shards == corpus.shards


def test_unknown_source(folder: Path) -> None:
    with pytest.raises(ManifestError, match="has no source web; it has code, prose"):
        open_corpus(folder).shards_of("web", "train")


def test_shards_are_listed_in_one_order_whatever_they_were_sealed_in(folder: Path) -> None:
    corpus = open_corpus(folder)
    before = (folder / "manifest.json").read_bytes()
    seal_corpus(folder, corpus.manifest, corpus.shards[::-1])
    assert (folder / "manifest.json").read_bytes() == before


def test_opening_touches_no_shard(folder: Path) -> None:
    for path in (folder / "code").iterdir():
        path.unlink()
    corpus = open_corpus(folder)
    corpus.reader(corpus.shards_of("prose", "train")[0])
    with pytest.raises(ShardError, match="the file is missing; the manifest says 16 bytes") as caught:
        corpus.reader(corpus.shards[0])
    assert caught.value.where == str(folder / "code" / "train-00000.bin")
    assert caught.value.hint == f"dataprep verify {folder}"


@pytest.mark.parametrize("name", ["code/train-00001.bin", "code/train-00001.idx"])
@pytest.mark.parametrize("change", [-1, 1])
def test_sizes_are_checked(name: str, change: int, folder: Path) -> None:
    os.truncate(folder / name, (folder / name).stat().st_size + change)
    corpus = open_corpus(folder)
    corpus.check_sizes(corpus.shards_of("prose", "train"))
    for check in (lambda: corpus.check_sizes(), lambda: corpus.reader(corpus.shards[1])):
        with pytest.raises(ShardError, match="the manifest says") as caught:
            check()
        assert caught.value.where == str(folder / name)


def test_a_shard_of_equal_size_and_other_counts(tmp_path: Path) -> None:
    """Two uint16 tokens have the size of one int32 token."""
    make_corpus(tmp_path / "a", [Part("code", "train", (1, 3))], vocab_size=70_000)
    make_corpus(tmp_path / "b", [Part("code", "train", (2, 6))])
    for suffix in (".bin", ".idx"):
        os.replace(tmp_path / f"a/code/train-00000{suffix}", tmp_path / f"b/code/train-00000{suffix}")
    corpus = open_corpus(tmp_path / "b")
    corpus.check_sizes()
    with pytest.raises(ShardError, match="dtype int32; the manifest says uint16"):
        corpus.reader(corpus.shards[0])


@pytest.mark.parametrize(("place", "document"), [(4, 0), (-1, 1)])
def test_the_ends_of_documents_are_probed(folder: Path, place: int, document: int) -> None:
    corpus = open_corpus(folder)
    (shard,) = corpus.shards_of("prose", "train")
    path = folder / f"{shard.name}.bin"
    tokens = np.fromfile(path, np.uint16)
    assert tokens[place] == corpus.manifest.tokenizer.eos_id
    tokens[place] += 7
    tokens.tofile(path)
    with pytest.raises(ShardError, match=f"document {document} does not end with the end-of-text token"):
        corpus.reader(shard)


@pytest.mark.parametrize(("place", "document"), [(0, 0), (6, 1)])
def test_the_beginnings_of_documents_are_probed(tmp_path: Path, place: int, document: int) -> None:
    make_corpus(tmp_path, [Part("prose", "train", (5, 3))], prepend_bos=True)
    corpus = open_corpus(tmp_path)
    (shard,) = corpus.shards
    path = tmp_path / f"{shard.name}.bin"
    tokens = np.fromfile(path, np.uint16)
    assert tokens[place] == corpus.manifest.tokenizer.bos_id == 1
    tokens[place] += 7
    tokens.tofile(path)
    with pytest.raises(ShardError, match=f"document {document} does not start with the begin-of-text token"):
        corpus.reader(shard)


def test_another_list_of_shards(folder: Path) -> None:
    shards = read_shard_list(folder / "shards.parquet")
    write_shard_list(folder / "shards.parquet", shards[:-1])
    with pytest.raises(ManifestError, match="not the one that the manifest was written with"):
        open_corpus(folder)
    (folder / "shards.parquet").unlink()
    with pytest.raises(ManifestError, match="the list of shards is missing"):
        open_corpus(folder)
    (folder / "shards.parquet").symlink_to("shards.parquet")
    with pytest.raises(ManifestError, match="the list of shards cannot be read: Too many levels"):
        open_corpus(folder)


def test_a_forged_list_of_shards(folder: Path) -> None:
    """Digests that match a list that does not add up."""
    from manifests.fingerprint import digest_file
    from manifests.manifest import load_manifest, write_manifest

    shards = read_shard_list(folder / "shards.parquet")
    write_shard_list(folder / "shards.parquet", shards[:-1])
    digest = digest_file(folder / "shards.parquet").digest
    manifest = load_manifest(folder).model_copy(update={"shards_digest": digest})
    write_manifest(folder / "manifest.json", manifest)
    with pytest.raises(ManifestError, match="prose train: the manifest says 2 documents"):
        open_corpus(folder)
    (folder / "shards.parquet").write_bytes(b"text")
    digest = digest_file(folder / "shards.parquet").digest
    write_manifest(folder / "manifest.json", manifest.model_copy(update={"shards_digest": digest}))
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        open_corpus(folder)


def test_least_recently_used_shards_are_closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "max_open_shards", lambda: 2)
    corpus = open_corpus(folder)
    shards = corpus.shards
    first = corpus.reader(shards[0])
    second = corpus.reader(shards[1])
    assert corpus.reader(shards[0]) is first
    corpus.reader(shards[2])  # closes the second
    assert corpus.reader(shards[0]) is first
    assert corpus.reader(shards[1]) is not second


def test_limit_follows_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft_limit, wanted in ((1, 1), (256, 128), (4096, 1024), (resource.RLIM_INFINITY, 1024)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, soft=soft_limit: (soft, soft))
        assert max_open_shards() == wanted


def test_threads_share_readers(folder: Path) -> None:
    corpus = open_corpus(folder)
    seen: list[object] = []
    threads = [
        threading.Thread(target=lambda: seen.append(corpus.reader(corpus.shards[0]))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8 and len(set(map(id, seen))) == 1


def test_crosses_processes(folder: Path) -> None:
    corpus = open_corpus(folder)
    corpus.reader(corpus.shards[0])
    again = ForkingPickler.loads(ForkingPickler.dumps(corpus))
    assert again.shards == corpus.shards and again.manifest == corpus.manifest
    assert again.reader(again.shards[0]).num_tokens == 8


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """Two shards of documents of the same lengths in another order: their packings have equal sizes."""
    parts = [Part("code", "train", (3, 1, 4)), Part("code", "train", (4, 1, 3))]
    make_corpus(tmp_path / "packed", parts, packed=(4,))
    return tmp_path / "packed"


def swap(left: Path, right: Path) -> None:
    left_bytes, right_bytes = left.read_bytes(), right.read_bytes()
    assert len(left_bytes) == len(right_bytes) and left_bytes != right_bytes
    left.write_bytes(right_bytes)
    right.write_bytes(left_bytes)


def test_the_packing_of_another_shard_is_refused(packed: Path) -> None:
    swap(packed / "code/train-00000.packing-4", packed / "code/train-00001.packing-4")
    corpus = open_corpus(packed)
    for shard in corpus.shards:
        corpus.check_packing_sizes(4, [shard])
        for _ in range(2):
            with pytest.raises(PackingError, match="it is not the packing that is listed") as caught:
                corpus.packing(shard, 4)
            assert caught.value.where == str(packed / f"{shard.name}.packing-4")
            assert caught.value.hint == f"dataprep verify {packed}"


@pytest.mark.parametrize("data", [None, b"", b"HRPACK"])
def test_a_packing_that_is_none(packed: Path, data: bytes | None) -> None:
    path = packed / "code/train-00001.packing-4"
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    corpus = open_corpus(packed)
    corpus.packing(corpus.shards[0], 4)
    with pytest.raises(ShardError, match="the manifest says") as caught_early:
        corpus.check_packing_sizes(4, corpus.shards)
    with pytest.raises(PackingError) as caught:
        corpus.packing(corpus.shards[1], 4)
    for error in (caught_early.value, caught.value):
        assert (error.where, error.hint) == (str(path), f"dataprep verify {packed}")


def test_another_list_of_packings(packed: Path) -> None:
    path = packed / "packing-4.parquet"
    whole = path.read_bytes()
    for data, what in (
        (whole[:-1], "not the one that the manifest was written with"),
        (b"", "not the one that the manifest was written with"),
        (None, "the list of packings is missing"),
    ):
        path.unlink()
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(ManifestError, match=what) as caught:
            open_corpus(packed).packings(4)
        assert (caught.value.where, caught.value.hint) == (str(path), f"dataprep verify {packed}")


def test_a_forged_list_of_packings(packed: Path) -> None:
    """Under a true digest, one that does not add up."""
    corpus = open_corpus(packed)
    (part,) = corpus.manifest.packings
    rows = read_packing_list(packed / part.file)
    for forged, what in (
        (rows[::-1], "does not list the packings of the shards of this corpus, in their order"),
        (rows[:1], "does not list the packings"),
        ([rows[0].model_copy(update={"targets": 4}), rows[1]], "4 targets in 8 tokens of 3 documents"),
        ([rows[0].model_copy(update={"rows": 1}), rows[1]], "1 rows of 2 pieces in 80 bytes"),
        ([rows[0].model_copy(update={"documents_cut": 1}), rows[1]], "the sums of the manifest are not"),
    ):
        sealed = seal_packings(packed, part, forged)
        seal_corpus(packed, corpus.manifest.model_copy(update={"packings": [sealed]}), corpus.shards)
        with pytest.raises(ManifestError, match=what):
            open_corpus(packed).packings(4)


@pytest.mark.parametrize("lengths", [(8, 4), (4, 4)])
def test_packings_of_a_manifest_ascend(tmp_path: Path, lengths: tuple[int, ...]) -> None:
    make_corpus(tmp_path, [Part("code", "train", (3, 4))], packed=(4, 8))
    data = json.loads((tmp_path / "manifest.json").read_text())
    parts = {part["sequence_length"]: part for part in data["packings"]}
    data["packings"] = [parts[length] for length in lengths]
    with pytest.raises(ManifestError, match=rf"packings are of rows of \[{lengths[0]}, 4\] tokens"):
        parse_manifest(data, "here")
