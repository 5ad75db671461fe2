"""Publication to S3, by s3fs, against a server in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from manifests import object_store
from manifests.errors import UserError
from manifests.objects import Objects
from manifests.store import fetch, publish, published, verify
from tests.manifests.corpora import make_corpus
from tests.manifests.test_object_store import VERSIONS, files_of, hex16

needed = ("s3fs", "moto", "flask", "flask_cors")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in needed),
        reason=f"needs {', '.join(needed)}: pip install 'headrace[test]'",
    ),
]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of the server, also for the processes that a test starts."""
    command = [sys.executable, "-m", "tests.manifests.s3_server"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {
                "AWS_ENDPOINT_URL": url,
                "AWS_ACCESS_KEY_ID": "testing",
                "AWS_SECRET_ACCESS_KEY": "testing",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
                "AWS_CONFIG_FILE": os.devnull,
                "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            }.items():
                patch.setenv(name, value)
            yield url
        process.stdin.close()


@pytest.fixture
def root(server: str, request: pytest.FixtureRequest) -> str:
    bucket = request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:60]
    with urllib.request.urlopen(urllib.request.Request(f"{server}/{bucket}", method="PUT")):
        return f"s3://{bucket}/corpora"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_corpus(tmp_path / "out")
    return tmp_path / "out"


def test_publish_and_fetch(folder: Path, root: str, tmp_path: Path) -> None:
    made = publish(folder, root, workers=4)
    assert made.is_new and made.place == f"{root}/tiny/1.0.0-{hex16(folder)}"
    assert not publish(folder, root).is_new
    assert fetch("tiny@latest", root, tmp_path / "got", workers=4).is_new
    assert files_of(tmp_path / "got") == files_of(folder) and verify(tmp_path / "got").ok
    assert not fetch("tiny@1", root, tmp_path / "got").is_new


def test_immutable(folder: Path, root: str, tmp_path: Path) -> None:
    publish(folder, root)
    make_corpus(tmp_path / "other", seed=1)
    with pytest.raises(UserError, match="published already, with another tokens"):
        publish(tmp_path / "other", root)
    # Not even when it was not there at first sight: the server judges.
    with pytest.raises(FileExistsError):
        Objects(root).create("tiny/1.0.0.json", b"{}")
    fetch("tiny@1", root, tmp_path / "got")
    assert files_of(tmp_path / "got") == files_of(folder)


def test_the_first_of_two_has_the_name(
    folder: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_corpus(tmp_path / "other", seed=1)
    real = object_store._upload

    def upload(*arguments: Any) -> None:
        real(*arguments)
        monkeypatch.setattr(object_store, "_upload", real)
        publish(tmp_path / "other", root)

    monkeypatch.setattr(object_store, "_upload", upload)
    with pytest.raises(UserError, match="published already, with another tokens"):
        publish(folder, root)
    fetch("tiny@1", root, tmp_path / "got")
    assert files_of(tmp_path / "got") == files_of(tmp_path / "other")


def test_an_upload_that_stopped(folder: Path, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Objects.upload
    sent: list[str] = []
    stop_after = 7

    def upload(self: Objects, path: str, source: Path) -> None:
        if len(sent) >= stop_after:
            raise KeyboardInterrupt
        sent.append(path)
        real(self, path, source)

    monkeypatch.setattr(Objects, "upload", upload)
    with pytest.raises(KeyboardInterrupt):
        publish(folder, root)
    assert published(root) == [] and len(sent) == stop_after
    stop_after = 1000
    assert publish(folder, root).is_new
    assert len(sent) == len(set(sent)) == len(files_of(folder))


def test_versions(root: str, tmp_path: Path) -> None:
    for version in VERSIONS:
        make_corpus(tmp_path / version, version=version)
        publish(tmp_path / version, root, workers=4)
    found = [each.version for each in published(root, "tiny")]
    assert found == ["0.1.0", "0.1.0+build.5", "1.9.0", "1.10.0", "1.10.1", "2.0.0-rc.1", "2.0.0-rc.1.json"]
    assert fetch("tiny@latest", root, tmp_path / "got", workers=4).version == "1.10.1"
    assert fetch("tiny@0", root, tmp_path / "got0", workers=4).version == "0.1.0+build.5"
    with pytest.raises(UserError, match=r"tiny has no version 3\.0\.0"):
        fetch("tiny@3.0.0", root, tmp_path / "got3")


def test_a_damaged_object_is_named(folder: Path, root: str, tmp_path: Path) -> None:
    made = publish(folder, root)
    (tmp_path / "damage").write_bytes((folder / "code/train-00001.bin").read_bytes()[:-1] + b"\xff")
    Objects(made.place).upload("code/train-00001.bin", tmp_path / "damage")
    with pytest.raises(UserError, match=r"tiny@1\.0\.0 is damaged") as caught:
        fetch("tiny@1", root, tmp_path / "got")
    assert caught.value.where == f"{made.place}/code/train-00001.bin" and not (tmp_path / "got").exists()


def test_no_such_bucket(folder: Path, server: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write: ") as caught:
        publish(folder, "s3://nobody-made-this/corpora")
    assert caught.value.where and caught.value.where.startswith("s3://nobody-made-this/corpora/")
    assert caught.value.hint is None  # again would be no better
    with pytest.raises(UserError, match="no corpus tiny is published"):
        fetch("tiny@1", "s3://nobody-made-this/corpora", tmp_path / "got")


def test_verbs(folder: Path, root: str, tmp_path: Path) -> None:
    def run(*words: str) -> Any:
        command = [sys.executable, "-m", "dataprep", *words, "--json"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    assert run("publish", str(folder), root)["is_new"]
    assert [each["version"] for each in run("published", root)["published"]] == ["1.0.0"]
    assert run("fetch", "tiny@latest", root, str(tmp_path / "got"))["place"] == str(tmp_path / "got")
    assert run("verify", str(tmp_path / "got"))["ok"]
