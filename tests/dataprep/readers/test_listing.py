from __future__ import annotations

import os
from pathlib import Path

import pytest

from dataprep.readers.listing import list_inputs
from manifests.errors import UserError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "a.txt",
        "b.txt",
        "c.md",
        ".hidden.txt",
        "sub/d.txt",
        "sub/deep/e.txt",
        ".dot/f.txt",
        "x[1].txt",
    ):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def names(patterns: list[str], exclude: list[str] | None = None) -> list[str]:
    return [file.name for file in list_inputs(patterns, exclude or [])]


def test_a_file_says_what_it_is(tree: Path) -> None:
    (file,) = list_inputs(["data/a.txt"])
    status = (tree / "a.txt").stat()
    assert (file.path, file.name) == (str(tree / "a.txt"), "a.txt")
    assert (file.size_bytes, file.mtime_ns) == (status.st_size, status.st_mtime_ns)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("data/*.txt", ["a.txt", "b.txt", "x[1].txt"]),
        ("data/**/*.txt", ["a.txt", "b.txt", "sub/d.txt", "sub/deep/e.txt", "x[1].txt"]),
        ("data/**", ["a.txt", "b.txt", "c.md", "sub/d.txt", "sub/deep/e.txt", "x[1].txt"]),
        ("data/**/**/e.txt", ["sub/deep/e.txt"]),
        ("data/.*.txt", [".hidden.txt"]),
        ("data/.dot/*", ["f.txt"]),
        ("data/[ab].txt", ["a.txt", "b.txt"]),
        ("data/[!a]*.txt", ["b.txt", "x[1].txt"]),
        ("data/?.md", ["c.md"]),
        ("data/s*/*", ["sub/d.txt"]),
        ("data/x[[]1].txt", ["x[1].txt"]),
        ("./data/../data/a.txt", ["a.txt"]),
    ],
)
def test_patterns(tree: Path, pattern: str, expected: list[str]) -> None:
    assert names([pattern]) == expected
    assert names([str(tree.parent / pattern)]) == expected


def test_names_are_sorted_and_files_listed_once(tree: Path) -> None:
    assert names(["data/sub/**/*.txt", "data/**/*.txt"]) == [
        "a.txt", "b.txt", "d.txt", "deep/e.txt", "x[1].txt",
    ]  # fmt: skip


def test_equal_names_grow_until_they_differ(tree: Path) -> None:
    for folder in ("p/one/in", "q/two/in", "q/one/in"):
        (tree / folder).mkdir(parents=True)
        (tree / folder / "n.txt").write_text("")
    patterns = [f"data/{folder}/*.txt" for folder in ("p/one/in", "q/two/in", "q/one/in")]
    assert names(patterns) == ["p/one/in/n.txt", "q/one/in/n.txt", "two/in/n.txt"]
    assert names(patterns[:2]) == ["one/in/n.txt", "two/in/n.txt"]
    assert names(patterns[:1]) == ["n.txt"]


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (["sub/**"], ["a.txt", "b.txt", "x[1].txt"]),
        (["**/e.txt", "a*"], ["b.txt", "sub/d.txt", "x[1].txt"]),
        (["e.txt"], ["a.txt", "b.txt", "sub/d.txt", "sub/deep/e.txt", "x[1].txt"]),
        (["data/sub/d.txt"], ["a.txt", "b.txt", "sub/deep/e.txt", "x[1].txt"]),
        (["**/deep/**", "no/such/*"], ["a.txt", "b.txt", "sub/d.txt", "x[1].txt"]),
        (["x[[]1].txt"], ["a.txt", "b.txt", "sub/d.txt", "sub/deep/e.txt"]),
    ],
)
def test_exclude(tree: Path, exclude: list[str], left: list[str]) -> None:
    assert names(["data/**/*.txt"], exclude) == left


def test_exclude_takes_whole_paths(tree: Path) -> None:
    assert names(["data/?.txt"], [str(tree / "a.txt")]) == ["b.txt"]
    assert names(["data/?.txt"], [str(tree.parent / "**" / "b.txt")]) == ["a.txt"]


def test_folders_above_the_pattern_exclude_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a corpus that happens to lie under .../tests/... is not gone because its recipe leaves out tests
    (tmp_path / "tests" / "corpus").mkdir(parents=True)
    (tmp_path / "tests" / "corpus" / "a.txt").write_text("")
    monkeypatch.chdir(tmp_path / "tests" / "corpus")
    assert names(["*.txt"], ["**/tests/**"]) == ["a.txt"]


def test_loops_of_links_end(tree: Path) -> None:
    (tree / "sub" / "loop").symlink_to(tree, target_is_directory=True)
    assert names(["data/**/a.txt"]) == ["a.txt"]
    assert names(["data/sub/loop/a.txt"]) == ["a.txt"]
    assert names(["data/sub/lo*/a.txt"]) == ["loop/a.txt"]


def test_a_linked_file_is_a_file(tree: Path) -> None:
    (tree / "sub" / "link.txt").symlink_to(tree / "a.txt")
    assert names(["data/sub/*.txt"]) == ["d.txt", "link.txt"]


def refusal(patterns: list[str], exclude: list[str] | None = None) -> UserError:
    with pytest.raises(UserError) as error:
        list_inputs(patterns, exclude or [])
    return error.value


def test_no_match(tree: Path) -> None:
    error = refusal(["data/a.txt", "data/*.nothing"])
    assert error.what == "no input matched"
    assert error.where == "data/*.nothing"
    assert refusal(["data/missing.txt"]).what == "no input matched"
    assert refusal(["nowhere/*"]).what == "no input matched"
    assert refusal(["data/a.txt/*"]).what == "no input matched"


def test_nothing_left(tree: Path) -> None:
    assert refusal(["data/a.txt"], ["a.txt"]).what == "exclude leaves no input"


def test_a_folder(tree: Path) -> None:
    for pattern in ("data", "data/", "data/sub"):
        error = refusal([pattern])
        assert "folder" in error.what
        assert error.where == str(tree / "sub" if pattern.endswith("sub") else tree)
        assert error.hint is not None and "/**/" in error.hint


def test_a_link_to_nothing(tree: Path) -> None:
    (tree / "broken.txt").symlink_to(tree / "missing")
    error = refusal(["data/*.txt"])
    assert "cannot read" in error.what and error.where == str(tree / "broken.txt")


def test_no_permission(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # root may read everything, so the answer of the system is put in
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("b.txt"))
    error = refusal(["data/*.txt"])
    assert "permission" in error.what and error.where == str(tree / "b.txt")


def test_a_folder_that_cannot_be_listed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: str) -> None:
        raise PermissionError(13, "Permission denied", folder)

    monkeypatch.setattr(os, "scandir", refuse)
    error = refusal(["data/*.txt"])
    assert "permission" in error.what and error.where == str(tree)


def test_a_pipe(tree: Path) -> None:
    os.mkfifo(tree / "pipe.txt")
    assert refusal(["data/*.txt"]).what == "not a regular file"


def test_a_name_that_is_not_utf8(tree: Path) -> None:
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff.txt")).write_text("")
    assert "not valid UTF-8" in refusal(["data/*.txt"]).what


def test_urls_are_not_read_yet() -> None:
    assert "only local files" in refusal(["s3://bucket/*.jsonl"]).what
