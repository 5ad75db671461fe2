from __future__ import annotations

import errno
import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests import folder_store, store
from manifests.errors import UserError
from manifests.folder_store import published_versions
from manifests.manifest import load_manifest, write_manifest
from manifests.releases import version_key
from manifests.store import open_corpus, resolve, verify
from tests.manifests.corpora import make_corpus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_corpus(tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def publish(folder: Path, root: Path) -> Path:
    return Path(store.publish(folder, root).place)


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_publish(folder: Path, root: Path) -> None:
    (folder / "report.html").write_text("not part of the corpus")
    target = publish(folder, root)
    assert target == root / "tiny" / "1.0.0"
    assert names(target) == [name for name in names(folder) if name != "report.html"]
    assert (target / "code/train-00000.bin").samefile(folder / "code/train-00000.bin")
    assert verify(target).ok
    assert open_corpus(target).manifest == open_corpus(folder).manifest
    assert os.listdir(root / "tiny") == ["1.0.0"]


def test_publish_by_copy(folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", refuse)
    target = publish(folder, root)
    assert names(target) == names(folder)
    assert not (target / "manifest.json").samefile(folder / "manifest.json")


def test_what_is_published_does_not_hang_on_links(folder: Path, root: Path, tmp_path: Path) -> None:
    """A corpus that was imported by symbolic links."""
    path = folder / "code" / "train-00000.bin"
    path.rename(tmp_path / "elsewhere.bin")
    path.symlink_to(tmp_path / "elsewhere.bin")
    target = publish(folder, root)
    (tmp_path / "elsewhere.bin").unlink()
    assert verify(target).ok and not (target / "code" / "train-00000.bin").is_symlink()


def test_publish_is_repeatable(folder: Path, root: Path) -> None:
    target = publish(folder, root)
    before = (target / "manifest.json").stat().st_ino
    assert publish(folder, root) == target
    assert (target / "manifest.json").stat().st_ino == before


def test_publish_refuses_other_tokens(folder: Path, root: Path, tmp_path: Path) -> None:
    target = publish(folder, root)
    content = (target / "manifest.json").read_bytes()
    make_corpus(tmp_path / "other", seed=1)
    with pytest.raises(UserError, match=r"tiny@1\.0\.0 is published already, with another tokens") as caught:
        publish(tmp_path / "other", root)
    assert caught.value.hint and "new version" in caught.value.hint
    assert (target / "manifest.json").read_bytes() == content and verify(target).ok
    make_corpus(tmp_path / "next", version="1.0.1", seed=1)
    assert publish(tmp_path / "next", root) == root / "tiny" / "1.0.1"


def test_publish_refuses_another_description(folder: Path, root: Path) -> None:
    publish(folder, root)
    manifest = load_manifest(folder).model_copy(update={"created_by": "headrace 9.9.9"})
    write_manifest(folder / "manifest.json", manifest)
    with pytest.raises(UserError, match="with another description"):
        publish(folder, root)


@pytest.mark.parametrize("damage", ["byte", "missing"])
def test_a_damaged_corpus_is_not_published(damage: str, folder: Path, root: Path) -> None:
    path = folder / "code/train-00001.bin"
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"\xff" + path.read_bytes()[1:])
    with pytest.raises(UserError, match=r"not published:\ncode/train-00001\.bin") as caught:
        publish(folder, root)
    assert caught.value.where == str(folder)
    assert os.listdir(root / "tiny") == []


def test_two_publish_at_once(folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second finds the version taken when it wants to name it, and looks at what is there."""
    real = folder_store.verify

    def verify_slowly(path: Path, **arguments: object) -> object:
        shutil.copytree(folder, root / "tiny" / "1.0.0")
        return real(path, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(folder_store, "verify", verify_slowly)
    assert publish(folder, root) == root / "tiny" / "1.0.0"
    assert os.listdir(root / "tiny") == ["1.0.0"]


def test_interrupted(folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_store, "verify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        publish(folder, root)
    assert os.listdir(root / "tiny") == []


# --- resolve -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("stocked")
    for version in ("1.9.0", "1.10.0", "1.10.1", "2.0.0-rc.1", "0.1.0"):
        make_corpus(root / "tiny" / version, version=version)
    make_corpus(root / "draft" / "0.1.0-alpha", corpus="draft", version="0.1.0-alpha")
    (root / "tiny" / ".tmp-3.0.0").mkdir()
    (root / "tiny" / "3.0.0").mkdir()  # without a manifest it is nothing
    (root / "tiny" / "notes").mkdir()
    return root


@pytest.mark.parametrize(
    ("reference", "wanted"),
    [
        ("tiny@latest", "tiny/1.10.1"),
        ("tiny@1.9.0", "tiny/1.9.0"),
        ("tiny@2.0.0-rc.1", "tiny/2.0.0-rc.1"),
        ("draft@latest", "draft/0.1.0-alpha"),
        ("tiny@1", "tiny/1.10.1"),
        ("tiny@1.1", None),
        ("tiny@1.9", "tiny/1.9.0"),
        ("tiny@1.10", "tiny/1.10.1"),
        ("tiny@2", "tiny/2.0.0-rc.1"),
        ("tiny@0", "tiny/0.1.0"),
        ("tiny@3", None),
    ],
)
def test_resolve(reference: str, wanted: str | None, stocked: Path) -> None:
    if wanted is None:  # 1.10 does not begin with 1.1
        with pytest.raises(UserError, match="has no version"):
            resolve(reference, stocked)
        return
    assert resolve(reference, stocked) == stocked / wanted
    open_corpus(resolve(reference, stocked))


@pytest.mark.parametrize(
    ("reference", "what", "hint"),
    [
        ("tiny", "not of the form name@version", "tiny@latest"),
        ("@1.0.0", "not of the form name@version", "name@latest"),
        ("tiny@", "not of the form name@version", "tiny@latest"),
        ("tny@latest", "no corpus tny is published", "did you mean tiny?"),
        ("zebra@latest", "no corpus zebra is published", "published are: draft, tiny"),
        ("tiny@3.0.0", "tiny has no version 3.0.0", "0.1.0, 1.9.0, 1.10.0, 1.10.1, 2.0.0-rc.1"),
        ("tiny@../draft", "tiny has no version ../draft", "published are"),
        ("..@latest", "no corpus .. is published", "published are"),
    ],
)
def test_resolve_refuses(reference: str, what: str, hint: str, stocked: Path) -> None:
    with pytest.raises(UserError) as caught:
        resolve(reference, stocked)
    assert what in caught.value.what and hint in (caught.value.hint or "")


def test_resolve_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="published are: none"):
        resolve("tiny@latest", tmp_path / "missing")


def test_published_versions(stocked: Path) -> None:
    assert published_versions("tiny", stocked) == ["0.1.0", "1.9.0", "1.10.0", "1.10.1", "2.0.0-rc.1"]


# The examples of semver.org, sections 10 and 11, ascending.
ASCENDING = [
    "0.9.9",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "2.0.0",
    "2.1.0",
    "2.1.1",
    "10.0.0",
]


def test_semver_order() -> None:
    shuffled = random.Random(1).sample(ASCENDING, len(ASCENDING))
    assert sorted(shuffled, key=version_key) == ASCENDING


NUMBERS = st.integers(0, 30)
VERSIONS = st.builds(
    lambda numbers, prerelease, build: ".".join(map(str, numbers)) + prerelease + build,
    st.tuples(NUMBERS, NUMBERS, NUMBERS),
    st.sampled_from(["", "-alpha", "-1", "-alpha.1", "-alpha.beta"]),
    st.sampled_from(["", "+build.5", "+a-b"]),
)


@given(VERSIONS, VERSIONS)
def test_order_is_total(one: str, other: str) -> None:
    assert (version_key(one) == version_key(other)) == (one == other)
    assert (version_key(one) < version_key(other)) != (version_key(one) >= version_key(other))
