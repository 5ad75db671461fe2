"""Publication to an object store, on fsspec's memory, whose writes can be made to fail."""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from manifests import object_store, objects, store
from manifests.errors import UserError
from manifests.fingerprint import digest_file
from manifests.lists import read_shard_list
from manifests.manifest import load_manifest, write_manifest
from manifests.object_store import PublishedName
from manifests.objects import PROBE_NAME, Objects, folder_of, is_url
from manifests.seal import seal_corpus
from manifests.store import fetch, publish, published, resolve, verify
from tests.manifests.corpora import Part, make_corpus
from tests.manifests.test_store import names

MEMORY = MemoryFileSystem()
REAL_PUT = MemoryFileSystem.put_file
REAL_PIPE = MemoryFileSystem.pipe_file
REAL_CAT = MemoryFileSystem.cat_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_corpus(tmp_path / "out", packed=(8,))
    return tmp_path / "out"


@pytest.fixture
def root(tmp_path: Path) -> str:
    return f"memory://{tmp_path}/root"


def stored(root: str) -> dict[str, bytes]:
    """Path -> content of every object below a root."""
    begin = root.removeprefix("memory://") + "/"
    return {
        path.removeprefix(begin): MEMORY.cat_file(path) for path in MEMORY.store if path.startswith(begin)
    }


def files_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names(folder)}


def hex16(folder: Path) -> str:
    return hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()[:16]


class Writes:
    """Counts what is written to memory; at the `fail_at`-th write, does `fault`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.fail_at = 0
        self.fault: Callable[[MemoryFileSystem, str, Callable[[], None]], None] | None = None
        writes = self

        def put_file(self: MemoryFileSystem, source: str, path: str, **options: Any) -> None:
            writes.write(self, path, lambda: REAL_PUT(self, source, path, **options))

        def pipe_file(self: MemoryFileSystem, path: str, value: bytes, **options: Any) -> None:
            writes.write(self, path, lambda: REAL_PIPE(self, path, value, **options))

        monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)
        monkeypatch.setattr(MemoryFileSystem, "pipe_file", pipe_file)

    def write(self, files: MemoryFileSystem, path: str, really: Callable[[], None]) -> None:
        self.count += 1
        if self.fault is not None and self.count == self.fail_at:
            self.fault(files, path, really)
        else:
            really()


def refused(files: MemoryFileSystem, path: str, really: Callable[[], None]) -> None:
    raise OSError("no connection")


def killed_halfway(files: MemoryFileSystem, path: str, really: Callable[[], None]) -> None:
    """Of an upload; an object that is created is there or not."""
    if not path.endswith((".json", PROBE_NAME)) or path.endswith(("manifest.json", "tokenizer.json")):
        really()
        REAL_PIPE(files, path, files.cat_file(path)[: files.size(path) // 2])
    raise KeyboardInterrupt


def answer_lost(files: MemoryFileSystem, path: str, really: Callable[[], None]) -> None:
    really()
    raise OSError("no answer")


def test_layout(folder: Path, root: str) -> None:
    (folder / "report.html").write_text("not part of the corpus")
    made = publish(folder, root, workers=3)
    data = f"1.0.0-{hex16(folder)}"
    manifest = load_manifest(folder)
    wanted = {f"tiny/{data}/{name}": content for name, content in files_of(folder).items()}
    del wanted[f"tiny/{data}/report.html"]
    sizes = sum(map(len, wanted.values()))
    there = stored(root)
    assert there.pop(PROBE_NAME) == b""
    assert json.loads(there.pop("tiny/1.0.0.json")) == {
        "format": "headrace-published",
        "format_version": 1,
        "corpus": "tiny",
        "version": "1.0.0",
        "folder": data,
        "manifest_digest": manifest.manifest_digest,
        "manifest_sha256": hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest(),
        "content_digest": manifest.content_digest,
        "files": len(wanted),
        "size_bytes": sizes,
    }
    assert there == wanted
    assert made.is_new and made.place == f"{root}/tiny/{data}"
    assert (made.files, made.size_bytes) == (len(wanted), sizes)


def test_the_same_again_writes_nothing(
    folder: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = publish(folder, root)
    make_corpus(tmp_path / "elsewhere", packed=(8,))
    writes = Writes(monkeypatch)
    again = publish(tmp_path / "elsewhere", root + "/")
    assert not again.is_new and again.place == made.place and writes.count == 0


def test_another_content_is_refused(folder: Path, root: str, tmp_path: Path) -> None:
    publish(folder, root)
    before = stored(root)
    make_corpus(tmp_path / "other", seed=1, packed=(8,))
    with pytest.raises(UserError, match=r"tiny@1\.0\.0 is published already, with another tokens") as caught:
        publish(tmp_path / "other", root)
    assert caught.value.hint and "new version" in caught.value.hint
    write_manifest(
        folder / "manifest.json", load_manifest(folder).model_copy(update={"created_by": "headrace 9.9.9"})
    )
    with pytest.raises(UserError, match="with another description"):
        publish(folder, root)
    assert stored(root) == before
    make_corpus(tmp_path / "next", version="1.0.1", seed=1, packed=(8,))
    assert publish(tmp_path / "next", root).is_new
    assert [each.version for each in published(root)] == ["1.0.0", "1.0.1"]


@pytest.mark.parametrize("damage", ["byte", "missing"])
def test_a_damaged_corpus_is_not_published(damage: str, folder: Path, root: str) -> None:
    path = folder / "code/train-00001.bin"
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"\xff" + path.read_bytes()[1:])
    with pytest.raises(UserError, match=r"not published:\ncode/train-00001\.bin"):
        publish(folder, root)
    assert set(stored(root)) == {PROBE_NAME}


# --- what goes wrong on the way ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("fault", [refused, killed_halfway, answer_lost])
def test_stopped_at_every_write(
    fault: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no version, or it is this one, whole; and the next publication ends it."""
    writes = Writes(monkeypatch)
    publish(folder, f"memory://{tmp_path}/counted")
    total = writes.count
    assert total == 2 + len(names(folder)) + 1  # two to try the store, the files, the name
    for number in range(1, total + 1):
        root = f"memory://{tmp_path}/root-{number}"
        writes.count, writes.fail_at, writes.fault = 0, number, fault
        try:
            publish(folder, root)
        except (UserError, KeyboardInterrupt):
            assert published(root) == []
            with pytest.raises(UserError, match=r"no corpus tiny|has no version"):
                fetch("tiny@1.0.0", root, tmp_path / "early")
        else:
            # The name was written, or the probe of the store had been, and only the answer got lost.
            assert fault is answer_lost and number in (2, total)
        writes.fault = None
        publish(folder, root)
        fetch("tiny@1.0.0", root, tmp_path / f"got-{number}")
        assert verify(tmp_path / f"got-{number}").ok
        assert files_of(tmp_path / f"got-{number}") == files_of(folder)


def test_the_next_publication_goes_on(folder: Path, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = Writes(monkeypatch)
    writes.fail_at, writes.fault = 12, refused  # two of them try the store
    with pytest.raises(UserError, match="cannot write: no connection") as caught:
        publish(folder, root)
    assert caught.value.where and caught.value.where.startswith(f"{root}/tiny/1.0.0-")
    done = writes.count - 3
    writes.count, writes.fault = 0, None
    publish(folder, root)
    assert writes.count == 1 + (len(names(folder)) - done) + 1  # the store need not be tried twice


def test_what_is_there_is_not_trusted(folder: Path, root: str) -> None:
    content = (folder / "code/train-00001.bin").read_bytes()
    path = f"{root}/tiny/1.0.0-{hex16(folder)}/code/train-00001.bin"
    MEMORY.pipe_file(path, b"\xff" + content[1:])
    publish(folder, root)
    assert MEMORY.cat_file(path) == content


def test_an_upload_that_changes_bytes_gets_no_name(
    folder: Path, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(files: MemoryFileSystem, path: str, really: Callable[[], None]) -> None:
        really()
        content = files.cat_file(path)
        REAL_PIPE(files, path, content[:-1] + bytes([content[-1] ^ 1]))

    writes = Writes(monkeypatch)
    writes.fail_at, writes.fault = 9, change
    with pytest.raises(UserError, match="is not what was sent"):
        publish(folder, root)
    assert published(root) == []
    assert publish(folder, root).is_new


def test_a_corpus_that_is_replaced_meanwhile(
    folder: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_corpus(tmp_path / "other", seed=1, packed=(8,))

    def replace(files: MemoryFileSystem, path: str, really: Callable[[], None]) -> None:
        write_manifest(folder / "manifest.json", other)
        really()

    writes = Writes(monkeypatch)
    writes.fail_at, writes.fault = 10, replace
    with pytest.raises(UserError, match="replaced while it was read"):
        publish(folder, root)
    assert published(root) == []


# --- two at once -------------------------------------------------------------------------------------------


def during_the_last_upload(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something when all is uploaded and the name is about to be written."""
    acted = []

    def put_file(self: MemoryFileSystem, source: str, path: str, **options: Any) -> None:
        REAL_PUT(self, source, path, **options)
        if path.endswith("/manifest.json") and not acted:
            acted.append(True)
            act()

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)


def test_another_published_the_same(folder: Path, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    firsts: list[store.Release] = []
    during_the_last_upload(monkeypatch, lambda: firsts.append(publish(folder, root)))
    second = publish(folder, root)
    assert firsts[0].is_new and not second.is_new and second.place == firsts[0].place


def test_another_published_something_else(
    folder: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_corpus(tmp_path / "other", seed=1, packed=(8,))
    during_the_last_upload(monkeypatch, lambda: publish(tmp_path / "other", root))
    with pytest.raises(UserError, match="published already, with another tokens"):
        publish(folder, root)
    fetch("tiny@latest", root, tmp_path / "got")
    assert files_of(tmp_path / "got") == files_of(tmp_path / "other")


def test_many_at_once(folder: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_corpus(tmp_path / "other", seed=1, packed=(8,))
    one_at_a_time = threading.Lock()  # as a server answers: readers of an object in memory share its place

    def pipe_file(self: MemoryFileSystem, path: str, value: bytes, **options: Any) -> None:
        with one_at_a_time:
            REAL_PIPE(self, path, value, **options)

    def upload(self: Objects, path: str, source: Path) -> None:
        with one_at_a_time:
            real_upload(self, path, source)

    def read(self: Objects, path: str) -> Iterator[bytes]:
        with one_at_a_time:
            return iter(list(real_read(self, path)))

    real_upload, real_read = Objects.upload, Objects.read
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", pipe_file)
    monkeypatch.setattr(Objects, "upload", upload)
    monkeypatch.setattr(Objects, "read", read)
    start = threading.Barrier(6)

    def run(number: int) -> str:
        start.wait()
        try:
            return publish([folder, tmp_path / "other"][number % 2], root).manifest_digest
        except UserError as error:
            assert "published already, with another tokens" in error.what
            return "refused"

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(run, range(6)))
    assert sorted((found[:2].count("refused"), found.count("refused"))) == [1, 3]
    winner = folder if found[0] != "refused" else tmp_path / "other"
    fetch("tiny@1", root, tmp_path / "got")
    assert files_of(tmp_path / "got") == files_of(winner)


# --- which version -----------------------------------------------------------------------------------------

VERSIONS = ("1.9.0", "1.10.0", "1.10.1", "2.0.0-rc.1", "0.1.0", "2.0.0-rc.1.json", "0.1.0+build.5")


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The same corpora in a folder and in a store."""
    base = tmp_path_factory.mktemp("stocked")
    part = (Part("code", "train", (2, 3)),)
    for corpus, versions in {"tiny": VERSIONS, "draft": ("0.1.0-alpha",)}.items():
        for version in versions:
            out = base / corpus / version
            make_corpus(out, part, corpus=corpus, version=version)
            publish(out, f"memory://{base}/root")
            publish(out, base / "root")
    MEMORY.pipe_file(f"{base}/root/tiny/notes.json", b"{}")
    MEMORY.pipe_file(f"{base}/root/tiny/3.0.0-0123456789abcdef/manifest.json", b"{}")  # has no name
    return base / "root", f"memory://{base}/root"


@pytest.mark.parametrize(
    "reference",
    [
        *(f"tiny@{text}" for text in ("latest", "0", "1", "2", "3", "1.1", "1.9", "1.10", "0.1", "3.0.0")),
        *(f"tiny@{text}" for text in VERSIONS),
        *("draft@latest", "draft@0", "tiny", "@1.0.0", "tiny@", "tny@latest", "zebra@latest"),
        *("tiny@../draft", "..@latest", "tiny@3.0.0-0123456789abcdef"),
    ],
)
def test_references_mean_what_they_do_in_a_folder(
    reference: str, stocked: tuple[Path, str], tmp_path: Path
) -> None:
    folder, url = stocked
    try:
        wanted = resolve(reference, folder)
    except UserError as error:
        with pytest.raises(UserError) as caught:
            fetch(reference, url, tmp_path / "got")
        assert (caught.value.what, caught.value.hint) == (error.what, error.hint)
        return
    made = fetch(reference, url, tmp_path / "got")
    assert made.version == wanted.name and files_of(tmp_path / "got") == files_of(wanted)


def test_published_is_the_same_in_both(stocked: tuple[Path, str]) -> None:
    folder, url = stocked
    local, remote = published(folder), published(url)
    assert [(each.corpus, each.version) for each in remote] == [
        ("draft", "0.1.0-alpha"),
        *(
            ("tiny", version)
            for version in (
                "0.1.0",
                "0.1.0+build.5",
                "1.9.0",
                "1.10.0",
                "1.10.1",
                "2.0.0-rc.1",
                "2.0.0-rc.1.json",
            )
        ),
    ]
    for one, other in zip(local, remote, strict=True):
        assert (one.corpus, one.version, one.manifest_digest, one.files, one.size_bytes) == (
            other.corpus,
            other.version,
            other.manifest_digest,
            other.files,
            other.size_bytes,
        )
    assert published(url, "draft") == remote[:1]
    with pytest.raises(UserError, match="no corpus drift is published") as caught:
        published(url, "drift")
    assert caught.value.hint == "did you mean draft?"
    assert published(f"{url}/nothing") == []


# --- fetching ----------------------------------------------------------------------------------------------


def test_fetch_again(folder: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(folder, root)
    (tmp_path / "got").mkdir()  # empty is as good as new
    assert fetch("tiny@latest", root, tmp_path / "got", workers=4).is_new
    assert names(tmp_path / "got") == names(folder)
    inode = (tmp_path / "got" / "manifest.json").stat().st_ino
    assert not fetch("tiny@latest", root, tmp_path / "got").is_new
    assert (tmp_path / "got" / "manifest.json").stat().st_ino == inode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["got", "out"]


@pytest.mark.parametrize("from_folder", [True, False])
def test_fetch_never_replaces_another(from_folder: bool, folder: Path, root: str, tmp_path: Path) -> None:
    place = str(tmp_path / "store") if from_folder else root
    publish(folder, place)
    make_corpus(tmp_path / "other", seed=1, packed=(8,))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(UserError, match=r"holds another corpus, tiny@1\.0\.0"):
        fetch("tiny@1", place, tmp_path / "other")
    with pytest.raises(UserError, match="no corpus is here already"):
        fetch("tiny@1", place, tmp_path / "notes")
    with pytest.raises(UserError, match="no corpus is here already"):
        fetch("tiny@1", place, tmp_path / "notes" / "a.txt")
    assert (tmp_path / "notes" / "a.txt").read_text() == "mine"


def test_fetch_from_a_folder(folder: Path, tmp_path: Path) -> None:
    publish(folder, f"file://{tmp_path}/store")
    made = fetch("tiny@1", tmp_path / "store", tmp_path / "got")
    assert made.is_new and made.place == str(tmp_path / "got") and verify(tmp_path / "got").ok
    assert files_of(tmp_path / "got") == files_of(folder)
    assert not fetch("tiny@1", tmp_path / "store", tmp_path / "got").is_new


@pytest.mark.parametrize("damage", ["byte", "cut", "missing"])
@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "tokenizer.json",
        "inputs.parquet",
        "shards.parquet",
        "code/train-00001.bin",
        "code/train-00001.idx",
        "code/train-00001.blocks",
        "code/train-00001.documents.parquet",
    ],
)
def test_a_damaged_object_is_named(name: str, damage: str, folder: Path, root: str, tmp_path: Path) -> None:
    made = publish(folder, root)
    path = f"{made.place}/{name}"
    content = MEMORY.cat_file(path)
    if damage == "missing":
        MEMORY.rm_file(path)
    else:
        MEMORY.pipe_file(path, content[:-1] + (b"\x01" if damage == "byte" else b""))
    with pytest.raises(UserError, match=r"tiny@1\.0\.0 is damaged: 1 of its files") as caught:
        fetch("tiny@1", root, tmp_path / "got")
    assert caught.value.where == path and not (tmp_path / "got").exists()
    MEMORY.pipe_file(path, content)
    assert fetch("tiny@1", root, tmp_path / "got").is_new
    assert files_of(tmp_path / "got") == files_of(folder)


def test_all_damaged_objects_are_named(folder: Path, root: str, tmp_path: Path) -> None:
    made = publish(folder, root)
    paths = [f"{made.place}/{name}" for name in ("code/train-00000.bin", "prose/train-00000.idx")]
    for path in paths:
        MEMORY.pipe_file(path, b"")
    with pytest.raises(UserError, match="2 of its files") as caught:
        fetch("tiny@1", root, tmp_path / "got", workers=4)
    assert caught.value.where == "\n".join(paths)


def test_a_stopped_fetch_goes_on(
    folder: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(folder, root)
    reads: list[str] = []
    fail_at = 0

    def cat_file(self: MemoryFileSystem, path: str, *arguments: Any, **options: Any) -> bytes:
        reads.append(path)
        if len(reads) == fail_at:
            raise KeyboardInterrupt
        return REAL_CAT(self, path, *arguments, **options)

    monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)
    fetch("tiny@1", root, tmp_path / "counted")
    total = len(reads)
    for fail_at in range(2, total + 1):
        reads.clear()
        target = tmp_path / f"got-{fail_at}"
        with pytest.raises(KeyboardInterrupt):
            fetch("tiny@1", root, target)
        assert not target.exists()
        reads.clear()
        after, fail_at = fail_at, 0
        assert fetch("tiny@1", root, target).is_new
        # The name is read again, and what had not come; the thread may have got more before it stopped.
        assert len(reads) <= total - (after - 2)
        assert files_of(target) == files_of(folder)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".tmp-")]


def test_one_fetch_at_a_time(folder: Path, root: str, tmp_path: Path) -> None:
    publish(folder, root)
    staging = tmp_path / f".tmp-{hex16(folder)}-got"
    staging.mkdir()
    with open(staging / ".tmp-lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another process is fetching this"):
            fetch("tiny@1", root, tmp_path / "got")
    assert fetch("tiny@1", root, tmp_path / "got").is_new


def test_two_fetched_the_same(
    folder: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is there when it is to get its name."""
    publish(folder, root)
    real = object_store.folder_store.check_whole

    def check(*arguments: Any) -> None:
        real(*arguments)
        make_corpus(tmp_path / "got", packed=(8,))

    monkeypatch.setattr(object_store.folder_store, "check_whole", check)
    assert not fetch("tiny@1", root, tmp_path / "got").is_new
    assert sorted(path.name for path in tmp_path.iterdir()) == ["got", "out"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "this is not the name of a version"),
        (b"{}", "this is not the name of a version"),
        ("version", r"this object says that it is tiny@2\.0\.0"),
        ("folder", "folder: String should match pattern"),
    ],
)
def test_a_name_that_is_none(
    content: bytes | str, what: str, folder: Path, root: str, tmp_path: Path
) -> None:
    publish(folder, root)
    path = f"{root}/tiny/1.0.0.json"
    if isinstance(content, str):
        value = {"version": "2.0.0", "folder": "../other"}[content]
        content = json.dumps({**json.loads(MEMORY.cat_file(path)), content: value}).encode()
    MEMORY.pipe_file(path, content)
    for act in (
        lambda: publish(folder, root),
        lambda: fetch("tiny@1", root, tmp_path / "got"),
        lambda: published(root),
    ):
        with pytest.raises(UserError, match=what) as caught:
            act()
        assert caught.value.where == path


def test_progress(folder: Path, root: str, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    for act in (
        lambda: publish(folder, root, 2, lambda *pair: seen.append(pair)),
        lambda: fetch("tiny@1", root, tmp_path / "got", 2, lambda *pair: seen.append(pair)),
    ):
        seen.clear()
        act()
        shares = [done / total for done, total in seen]
        assert shares == sorted(shares) and shares[-1] == 1


# --- stores and their URLs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "url", "folder"),
    [
        ("out/here", False, "out/here"),
        ("/data/a:b", False, "/data/a:b"),
        ("file:///data/x", True, "/data/x"),
        ("file://localhost/data/x", True, "/data/x"),
        ("local://data", True, "data"),
        ("s3://bucket/x", True, None),
        ("simplecache::s3://bucket/x", True, None),
    ],
)
def test_urls(text: str, url: bool, folder: str | None) -> None:
    assert is_url(text) == url
    assert folder_of(text) == (None if folder is None else Path(folder))


@pytest.mark.parametrize(("root", "hint"), [("", "a folder, or ."), ("file://data/x", "file:///data/x")])
def test_a_root_that_names_no_folder(root: str, hint: str, folder: Path) -> None:
    with pytest.raises(UserError) as caught:
        publish(folder, root)
    assert caught.value.hint and hint in caught.value.hint
    with pytest.raises(UserError):
        published(root)


def test_a_root_that_is_a_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    for call in (
        lambda: publish(folder, tmp_path / "a.txt"),
        lambda: published(tmp_path / "a.txt"),
        lambda: fetch("tiny@1", tmp_path / "a.txt", tmp_path / "got"),
    ):
        with pytest.raises(UserError, match="in a folder, and this is none") as caught:
            call()
        assert caught.value.where == str(tmp_path / "a.txt")


def test_a_corpus_at_a_url_is_not_read_there(folder: Path, root: str) -> None:
    publish(folder, root)
    with pytest.raises(UserError, match="a corpus is read from a disk") as caught:
        resolve("tiny@1", root)
    assert caught.value.where == f"{root}/tiny@1"
    assert caught.value.hint and f"dataprep fetch tiny@1 {root}" in caught.value.hint


def test_an_unknown_protocol(folder: Path) -> None:
    with pytest.raises(UserError, match="no storage has URLs that begin with s4://") as caught:
        publish(folder, "s4://bucket/x")
    assert caught.value.hint and "s3://" in caught.value.hint


def test_a_driver_that_is_not_installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(importlib.import_module("fsspec.registry")._registry, "s3", raising=False)
    with pytest.raises(UserError, match="needs a package that is not installed") as caught:
        publish(folder, "s3://bucket/x")
    assert caught.value.hint == "pip install 'headrace[s3]'"


def test_a_store_that_looks_first_and_then_overwrites(folder: Path, tmp_path: Path) -> None:
    class Plain(LocalFileSystem):  # creates as fsspec does by default
        protocol = "plain"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return path.removeprefix("plain://")

    fsspec.register_implementation("plain", Plain, clobber=True)
    with pytest.raises(UserError, match="cannot create an object only where there is none"):
        publish(folder, f"plain://{tmp_path}/root")
    assert not (tmp_path / "root").exists()


def test_a_store_that_ignores_the_condition(folder: Path, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def pipe_file(self: MemoryFileSystem, path: str, value: bytes, mode: str = "overwrite") -> None:
        REAL_PIPE(self, path, value)

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", pipe_file)
    with pytest.raises(UserError, match="cannot create an object only where there is none"):
        publish(folder, root)
    assert set(stored(root)) == {PROBE_NAME}


def test_what_a_driver_raises_is_explained(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Exception):
        pass

    def fail(*arguments: Any, **options: Any) -> None:
        raise Broken("the line is dead")

    for name in ("ls", "info", "cat_file"):
        monkeypatch.setattr(MemoryFileSystem, name, fail)
    with pytest.raises(UserError, match="cannot list: the line is dead") as caught:
        published(root)
    assert caught.value.where == root and isinstance(caught.value.__cause__, Broken)
    with pytest.raises(UserError, match="cannot look at: the line is dead"):
        Objects(root).size("a/b")


def test_large_objects_come_in_ranges(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "CHUNK_BYTES", 4)
    MEMORY.pipe_file(f"{root}/a", b"0123456789")
    assert list(Objects(root).read("a")) == [b"0123", b"4567", b"89"]
    assert list(Objects(root).read("none")) == []


def test_the_record_is_strict() -> None:
    with pytest.raises(ValueError, match="size_bytes"):
        PublishedName.model_validate_json(b'{"corpus": "a", "version": "1.0.0", "size_bytes": -1}')


def test_what_was_published_in_disagreement_gets_no_folder(
    folder: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every object is what the manifest says, but the corpus is none: another program published it."""
    (folder / "code/train-00001.bin").write_bytes(b"\x01\x00" * 17)
    shards = read_shard_list(folder / "shards.parquet")
    digest = digest_file(folder / "code/train-00001.bin").sha256
    changed = [
        each.model_copy(update={"bin_sha256": digest}) if each.name == "code/train-00001" else each
        for each in shards
    ]
    seal_corpus(folder, load_manifest(folder), changed)
    with monkeypatch.context() as patch:
        patch.setattr(object_store.folder_store, "check_whole", lambda *arguments: None)
        publish(folder, root)
    with pytest.raises(UserError, match="the corpus is damaged and was not fetched") as caught:
        fetch("tiny@1", root, tmp_path / "got")
    assert "code/train-00001.b" in caught.value.what and not (tmp_path / "got").exists()
    assert caught.value.where and not verify(caught.value.where).ok  # what came can be looked at
