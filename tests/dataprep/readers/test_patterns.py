from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.readers.patterns import matches, name_matches, split_base

segments = st.text(alphabet="ab.*?[]!", min_size=1, max_size=4).filter(lambda each: each not in (".", ".."))
PATHS = ["a", "b", "ab", ".a", "a.b/a", "a.b/.b", "a.b/ab/b", ".b/a", "[a]/b", "bb/a.b/ba/a", "bb/a.b/b"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for path in PATHS:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")
    return root


@given(st.lists(st.one_of(segments, st.just("**")), min_size=1, max_size=4))
def test_equals_glob_of_the_standard_library(tree: Path, parts: list[str]) -> None:
    pattern = "/".join([glob.escape(str(tree)), *parts])
    base, rest = split_base(pattern)
    found = {path for path in matches(base, rest) if os.path.isfile(path)}
    expected = {path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)}
    assert found == expected


@given(st.lists(segments, min_size=1, max_size=3), st.sampled_from(PATHS))
def test_a_name_that_is_walked_to_matches(tree: Path, parts: list[str], path: str) -> None:
    pattern = "/".join(parts)
    walked = {os.path.relpath(each, tree) for each in matches(str(tree), parts)}
    # the other way round only without dots: a walk leaves hidden names out, a match does not
    if path in walked:
        assert name_matches(path, pattern)
    elif "." not in path:
        assert not name_matches(path, pattern)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("a/b/c.txt", "a/**", True),
        ("a", "a/**", True),
        ("ba/b", "a/**", False),
        ("a/b/c.txt", "**/c.txt", True),
        ("c.txt", "**/c.txt", True),
        ("a/b/c.txt", "a/**/c.txt", True),
        ("a/c.txt", "a/**/c.txt", True),
        ("a/b/c.txt", "a/*", False),
        ("a/b/c.txt", "*.txt", False),
        ("a/B.txt", "a/b.txt", False),
        ("/x/tests/y", "**/tests/**", True),
        ("a\nb", "a*", True),
    ],
)
def test_name_matches(name: str, pattern: str, expected: bool) -> None:
    assert name_matches(name, pattern) == expected
