from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from dataprep.readers.listing import expand_variables, list_inputs
from manifests.errors import UserError


def test_a_pattern_without_variables_is_itself() -> None:
    assert expand_variables("a/$b/{c}/*.txt") == ["a/$b/{c}/*.txt"]


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST", "/some/*")
    assert expand_variables("${env:HEADRACE_TEST}/x-${env:HEADRACE_TEST}") == ["/some/*/x-/some/*"]
    monkeypatch.delenv("HEADRACE_TEST")
    with pytest.raises(UserError, match="HEADRACE_TEST is not set"):
        expand_variables("${env:HEADRACE_TEST}")


def test_standard_library() -> None:
    files = list_inputs(["${python:stdlib}/json/*.py"])
    assert "decoder.py" in [file.name for file in files]
    assert all(file.path.startswith(sysconfig.get_path("stdlib")) for file in files)


def test_a_special_character_in_the_library_path_is_no_wildcard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "py[3]").mkdir()
    (tmp_path / "py[3]" / "os.py").write_text("")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "py[3]"))
    assert [file.name for file in list_inputs(["${python:stdlib}/*.py"])] == ["os.py"]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "a-1.dist-info/METADATA", "a-1.dist-info/LICENSE", "a-1.dist-info/RECORD", "b-2.dist-info/METADATA",
        "b-2.dist-info/licenses/Licence.txt", "b-2.dist-info/licenses/third/COPYING", "b/LICENSE",
        "b-2.dist-info/NOTICE.md", "c.egg-info/METADATA",
    ):  # fmt: skip
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text(name)
    monkeypatch.setattr(
        sys, "path", ["", str(tmp_path / "site"), str(tmp_path / "site"), str(tmp_path / "none")]
    )
    return tmp_path / "site"


def test_metadata(site: Path) -> None:
    files = list_inputs(["${python:metadata}"])
    assert [file.name for file in files] == ["a-1.dist-info/METADATA", "b-2.dist-info/METADATA"]


def test_licences(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(site.parent))
    expected = [
        "a-1.dist-info/LICENSE", "b-2.dist-info/NOTICE.md", "b-2.dist-info/licenses/Licence.txt",
        "b-2.dist-info/licenses/third/COPYING",
    ]  # fmt: skip
    assert [file.name for file in list_inputs(["${python:licences}"])] == expected
    (site.parent / "LICENSE.txt").write_text("of Python")
    assert [file.name for file in list_inputs(["${python:licences}"])] == ["LICENSE.txt", *expected]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("${python:stdlibs}/x", 'did you mean "python:stdlib"'),
        ("${home}", "no variable"),
        ("${python:metadata}/x", "only stand alone"),
    ],
)
def test_mistakes(pattern: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        expand_variables(pattern)
    assert error.value.where == pattern
